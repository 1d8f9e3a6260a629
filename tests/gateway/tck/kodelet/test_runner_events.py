"""Runners that break the requirements of events and questions, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.runner_events import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, drop, hears, says

MUTANTS: Mutants = (
    ("KODELET-R-311", says('"message":"hi"', '"message":""')),
    ("KODELET-R-312", says('"result":{}', '"result":null')),
    ("KODELET-R-313", says('"structuredResult"', '"structured"')),
    ("KODELET-R-314", says("-32602", "-32603")),
    ("KODELET-R-315", says("-32603", "-32601")),
    ("KODELET-R-316", says('"matched":false', '"matched":true')),
    ("KODELET-R-317", says('"action":"respond"', '"action":"none"')),
    ("KODELET-R-318", says('"title"', '"name"')),
    ("KODELET-R-319", hears('"interactiveUI":false', '"interactiveUI":true')),
    ("KODELET-R-320", Bend(says=drop("operation.cancel"))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_runner_fails(
    runner: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(runner, id, bend)
