"""Daemons that break the requirements about whole, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.daemon_whole import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, says

CONFLICT = says('"code":"conflict"', '"code":"internal"')


MUTANTS: Mutants = (
    ("AGENCY-D-080", says('"loginHint"', '"login_hint"')),
    ("AGENCY-D-081", says('"supported"', '"known"')),
    ("AGENCY-D-082", CONFLICT),
    ("AGENCY-D-090", STAYS),
    ("AGENCY-D-091", CONFLICT),
    ("AGENCY-D-092", STAYS),
    ("AGENCY-D-093", says("the run was canceled", "gone")),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_daemon_fails(
    daemon: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(daemon, id, bend)
