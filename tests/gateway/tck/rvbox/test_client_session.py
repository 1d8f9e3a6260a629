"""Hosts that break the requirements of a session, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import change, leave_out, repeat
from fleetgate.gateway.tck.rvbox.client_session import TOPIC
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, nth
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

OTHER_CODE = Bend(says=change(w.AgentError, error=w.ControlError(Code.INTERNAL, "x")))
OPEN = Bend(says=change(w.AgentError, close_session=False))


def rejected(code: Code) -> Bend:
    return Bend(says=change(w.CommandAccepted, rejection=w.ControlError(code, "x")))


MUTANTS: Mutants = (
    ("RVBOX-C-001", Bend(says=change(w.ClientHello, session="s"))),
    ("RVBOX-C-002", Bend(says=change(w.ClientHello, client_id="a b"))),
    ("RVBOX-C-002", Bend(says=change(w.ClientHello, supported_shells=()))),
    ("RVBOX-C-002", Bend(says=change(w.ClientHello, client_instance_id=""))),
    ("RVBOX-C-003", Bend(says=repeat(w.ClientHello))),
    ("RVBOX-C-004", Bend(says=change(w.ReconcileSnapshot, generation=1))),
    ("RVBOX-C-004", Bend(says=repeat(w.ReconcileSnapshot))),
    ("RVBOX-C-005", Bend(says=leave_out(w.ClientCapacity))),
    ("RVBOX-C-006", Bend(says=nth("host-1", 2, change(w.ClientHello, client_instance_id="b")))),
    ("RVBOX-C-007", OTHER_CODE),
    ("RVBOX-C-007", OPEN),
    ("RVBOX-C-007", STAYS),
    ("RVBOX-C-008", OTHER_CODE),
    ("RVBOX-C-009", OTHER_CODE),
    ("RVBOX-C-010", OPEN),
    ("RVBOX-C-011", STAYS),
    ("RVBOX-C-012", Bend(says=nth("", 4, leave_out(w.ReconcileSnapshot)))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)
