"""Hosts that dial where they must not, or do not where they must."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import change
from fleetgate.gateway.tck.rvbox.client_dialling import TOPIC
from fleetgate.gateway.tck.testing import Bend, Mutants
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code


def takes_for(code: Code) -> Bend:
    """A host that takes each error for this one."""
    return Bend(hears=change(w.AgentError, error=w.ControlError(code, "x")))


MUTANTS: Mutants = (
    ("RVBOX-C-049", takes_for(Code.UNAUTHENTICATED)),
    ("RVBOX-C-050", takes_for(Code.UNAUTHENTICATED)),
    *((f"RVBOX-C-{id:03}", takes_for(Code.INTERNAL)) for id in range(51, 55)),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)
