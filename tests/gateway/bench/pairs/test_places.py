"""Where the two links of a pair are."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench.pairs.places import PROTOCOLS, carriage_of, places_of
from fleetgate.gateway.fidelity.bridge import configs_of
from fleetgate.transports.open import check_address


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_entry_of_every_protocol_has_an_address_that_its_transport_takes(
    protocol: str, tmp_path: Path
) -> None:
    upper, lower = places_of(protocol, protocol, tmp_path)
    assert upper != lower
    for config in configs_of(protocol, protocol, (upper, lower)):
        for entry in (*config.south, *config.north):
            assert entry.address in (upper, lower)
            assert check_address(entry.address, carriage_of(entry), listener=entry.listens)
