"""Hosts that break the requirements about signals and input, one each."""

from __future__ import annotations

from itertools import count

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import (
    LEAVES,
    OTHER_CODE,
    change,
    is_a,
    leave_out,
    lifecycle,
    repeat,
)
from fleetgate.gateway.tck.rvbox.client_control import TOPIC
from fleetgate.gateway.tck.testing import Bend, Mutants
from fleetgate.protocols.rvbox import wire as w

Lifecycle = w.CommandLifecycle

OPEN = Bend(says=change(w.AgentError, close_session=False))


def leaves_after(number: int) -> Bend:
    """It ends the link behind its report of this number."""
    reports = count(1)
    error = is_a(w.AgentError)
    return Bend(leaves=lambda frame: error(frame) and next(reports) == number)


MUTANTS: Mutants = (
    ("RVBOX-C-033", OPEN),
    ("RVBOX-C-034", Bend(hears=change(w.EventAck, through_event_seq=99))),
    ("RVBOX-C-035", Bend(says=change(w.CommandExit, lifecycle=4))),
    ("RVBOX-C-036", OTHER_CODE),
    ("RVBOX-C-036", Bend(says=change(w.AgentError, close_session=True))),
    ("RVBOX-C-036", leaves_after(2)),
    ("RVBOX-C-037", LEAVES),
    ("RVBOX-C-037", Bend(hears=change(w.SignalCommand, command_revision=2))),
    ("RVBOX-C-038", OTHER_CODE),
    ("RVBOX-C-038", leaves_after(2)),
    ("RVBOX-C-039", LEAVES),
    ("RVBOX-C-039", Bend(says=repeat(w.StdinAck))),
    ("RVBOX-C-039", Bend(says=change(w.StdinAck, through_write_seq=2))),
    ("RVBOX-C-039", OTHER_CODE),
    ("RVBOX-C-040", OTHER_CODE),
    ("RVBOX-C-040", LEAVES),
    ("RVBOX-C-055", OTHER_CODE),
    ("RVBOX-C-055", LEAVES),
    ("RVBOX-C-055", Bend(hears=change(w.CloseStdin, write_seq=2))),
    ("RVBOX-C-056", Bend(says=change(w.CommandExit, lifecycle=Lifecycle.LOST))),
    ("RVBOX-C-056", Bend(says=lifecycle(Lifecycle.AWAITING_SCRIPT, Lifecycle.RUNNING))),
    ("RVBOX-C-057", Bend(says=change(w.CommandExit, lifecycle=Lifecycle.EXITED))),
    ("RVBOX-C-057", Bend(hears=leave_out(w.SignalCommand))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)
