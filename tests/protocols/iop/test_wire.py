"""The messages as values."""

from __future__ import annotations

from typing import Any, get_args

import attrs
import pytest

from fleetgate.protocols.iop import wire as w

KINDS = [*get_args(w.NodePayload), *get_args(w.EdgePayload), *get_args(w.ControlMessage)]


@pytest.mark.parametrize("kind", sorted(set(KINDS), key=lambda kind: kind.__name__))
def test_every_member_has_the_default_of_the_wire(kind: Any) -> None:
    made = kind()
    for member in attrs.fields(kind):
        assert not getattr(made, member.name)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.anything = 1


def test_secrets_stay_out_of_a_repr() -> None:
    assert "hush" not in repr(w.RegisterRequest("hush"))
    assert "hush" not in repr(w.CLIProfileConfig(env=("TOKEN=hush",)))
    assert "hush" not in repr(w.AdapterConfig(settings={"token": "hush"}))
