"""The messages: members in the protocol's own order."""

from typing import get_args

import attrs
import pytest

from fleetgate.protocols.agency import wire
from fleetgate.protocols.strict import camel

ORDER = {
    wire.RunRequest: "provider model prompt isCommand system permission effort extraThinking "
    "approvals interactive workspaceRoots resumeSessionId binary environment uncheckedArgs "
    "metadata",
    wire.RunSnapshot: "runId state provider model providerSessionId latestSequence "
    "acknowledgedSequence workspaceRoots metadata",
    wire.ProviderStatus: "provider installed version outdated authState detail authMethod account "
    "plan loginHint",
    wire.ProviderAccountUsage: "provider supported usage error",
    wire.ProtocolVersion: "major minor",
}


@pytest.mark.parametrize("kind", ORDER)
def test_members_stand_in_the_order_of_the_wire(kind: type) -> None:
    assert " ".join(camel(member.name) for member in attrs.fields(kind)) == ORDER[kind]


def test_messages_are_values() -> None:
    for kind in (*get_args(wire.ClientMessage), *get_args(wire.ServerResponse)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            object.__new__(kind).anything = 1


def test_what_people_type_is_in_no_log() -> None:
    assert "hush" not in repr(wire.InjectMessage("r", "hush", "k"))
    request = wire.RunRequest("p", "", "", "", False, False, (), environment={"KEY": "hush"})
    assert "hush" not in repr(request)


def test_the_limits() -> None:
    assert wire.MAX_TEXT == 1024 * 1024
    assert wire.MAX_FRAME == 1_048_577
    assert wire.MAX_SEQUENCE == 18_446_744_073_709_551_615


def test_terminal_states() -> None:
    assert {state.value for state in wire.TERMINAL} == {
        "completed",
        "failed",
        "canceled",
        "interrupted",
    }
