"""Hosts that break the requirements about commands, one each."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import change, lifecycle, rejected, repeat
from fleetgate.gateway.tck.rvbox.client_commands import TOPIC
from fleetgate.gateway.tck.testing import Bend, Change, Mutants
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code


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
    ("RVBOX-C-048", rejected(Code.CONFLICT)),
    ("RVBOX-C-048", Bend(says=change(w.CommandAccepted, accepted=True))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)
