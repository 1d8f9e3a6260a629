"""Which kits there are."""

from __future__ import annotations

import pytest

from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import NoSuchKit, all_kits, kit_of, protocols


def test_kits_are_named_by_their_protocol_and_side() -> None:
    assert set(protocols()) <= set(adapters(()))
    for kit in all_kits():
        assert kit_of(kit.protocol, kit.side) is kit


def test_a_name_that_is_none_is_told_the_nearest() -> None:
    with pytest.raises(NoSuchKit, match="agency"):
        kit_of("agncy", "daemon")
    with pytest.raises(NoSuchKit, match="daemon"):
        kit_of("agency", "demon")
