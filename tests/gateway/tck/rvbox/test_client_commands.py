"""Hosts that break the requirements about commands, one each."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import change, lifecycle, repeat
from fleetgate.gateway.tck.rvbox.client_commands import TOPIC
from fleetgate.gateway.tck.testing import Bend, Change, Mutants
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

OTHER_CODE = Bend(says=change(w.AgentError, error=w.ControlError(Code.INTERNAL, "x")))
OPEN = Bend(says=change(w.AgentError, close_session=False))


def rejected(code: Code) -> Bend:
    return Bend(says=change(w.CommandAccepted, rejection=w.ControlError(code, "x")))


def executed_again() -> Change:
    """Behind the second answer to a dispatch, the command runs again."""
    answers = 0

    def bend(frame: bytes) -> Sequence[bytes]:
        nonlocal answers
        envelope = codec.decode(frame)
        if not isinstance(envelope.payload, w.CommandAccepted):
            return (frame,)
        answers += 1
        uuid, running = envelope.payload.issue_uuid, w.LifecycleChanged(w.CommandLifecycle.RUNNING)
        event = attrs.evolve(envelope, payload=w.CommandEvent(uuid, 1, 9, None, running))
        return (frame,) if answers == 1 else (frame, codec.encode(event))

    return bend


MUTANTS: Mutants = (
    ("RVBOX-C-020", Bend(says=change(w.CommandExit, exit_code=1))),
    ("RVBOX-C-020", Bend(says=repeat(w.CommandExit))),
    ("RVBOX-C-020", Bend(says=lifecycle(2, 3))),
    ("RVBOX-C-021", Bend(says=change(w.OutputChunk, offset=5))),
    ("RVBOX-C-022", Bend(says=executed_again())),
    ("RVBOX-C-023", rejected(Code.INTERNAL)),
    *((f"RVBOX-C-{id:03}", rejected(Code.INTERNAL)) for id in range(24, 33)),
    ("RVBOX-C-024", Bend(says=change(w.CommandAccepted, accepted=True))),
    ("RVBOX-C-033", OPEN),
    ("RVBOX-C-034", Bend(hears=change(w.EventAck, through_event_seq=99))),
    ("RVBOX-C-035", Bend(says=change(w.CommandExit, lifecycle=4))),
    ("RVBOX-C-036", OTHER_CODE),
    ("RVBOX-C-036", Bend(says=change(w.AgentError, close_session=True))),
    ("RVBOX-C-037", Bend(hears=change(w.SignalCommand, command_revision=2))),
    ("RVBOX-C-038", OTHER_CODE),
    ("RVBOX-C-039", Bend(says=change(w.StdinAck, through_write_seq=2))),
    ("RVBOX-C-039", OTHER_CODE),
    ("RVBOX-C-040", OTHER_CODE),
    ("RVBOX-C-041", Bend(says=change(w.ReconcileSnapshot, retained_commands=()))),
    ("RVBOX-C-042", Bend(hears=change(w.ReconcileResult, terminate_local_issue_uuids=()))),
    ("RVBOX-C-043", Bend(hears=change(w.ReconcileResult, discard_local_terminal_issue_uuids=()))),
    ("RVBOX-C-044", Bend(says=change(w.ReconcileSnapshot, retained_commands=()))),
    ("RVBOX-C-045", OTHER_CODE),
    ("RVBOX-C-045", Bend(says=lifecycle(1, 2))),
    ("RVBOX-C-046", Bend(says=change(w.CommandExit, lifecycle=10))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)
