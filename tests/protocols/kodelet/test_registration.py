"""What a control plane makes of a runner's registration before anybody is asked."""

from __future__ import annotations

import attrs
import pytest

from fleetgate.protocols.kodelet import errors, wire
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.registration import anonymous, wrong_with
from fleetgate.protocols.kodelet.structs import read

WHOLE = read(wire.Register, t.REGISTER)


def without(member: str) -> wire.Register:
    of, _, name = member.partition(".")
    part = attrs.evolve(getattr(WHOLE, of), **{name: " "})
    return attrs.evolve(WHOLE, **{of: part})


def test_a_whole_one_is_as_it_should_be() -> None:
    assert (wrong_with(WHOLE), anonymous(WHOLE)) == (None, "")


@pytest.mark.parametrize(
    ("member", "name"),
    [
        ("host.instance_id", "host.instanceId"),
        ("workspace.path", "workspace.path"),
        ("workspace.name", "workspace.name"),
    ],
)
def test_a_blank_member_of_the_identity_is_named(member: str, name: str) -> None:
    wrong = wrong_with(without(member))
    assert wrong is not None
    assert (wrong.code, wrong.message) == (-32602, f"{name} is required")
    assert anonymous(without(member)) == name


@pytest.mark.parametrize("versions", [None, (), (2,)])
def test_the_version_is_looked_at_first(versions: tuple[int, ...] | None) -> None:
    asked = attrs.evolve(without("workspace.path"), protocol_versions=versions)
    assert wrong_with(asked) is errors.NO_VERSION
