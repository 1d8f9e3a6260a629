"""Runners that break the requirements of runs, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.runner_runs import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, drop, hears, nth, says, swap

MUTANTS: Mutants = (
    ("KODELET-R-201", says('"protocolVersion":1,"runnerId"', '"protocolVersion":2,"runnerId"')),
    ("KODELET-R-201", says('"commands":[', '"command":[')),
    ("KODELET-R-202", says('"workingDirectory":"/srv', '"workingDirectory":"/x')),
    ("KODELET-R-203", says('"placement":"environment"', '"placement":"x"')),
    ("KODELET-R-204", says('"skills":null', '"skills":[]')),
    ("KODELET-R-205", says("-32602", "-32603")),
    ("KODELET-R-206", says("-32003", "-32001")),
    ("KODELET-R-206", says("-32001", "-32003")),
    ("KODELET-R-207", Bend(leaves=lambda frame: b"run_not_active" in frame)),
    ("KODELET-R-207", says("run_not_active", "gone")),
    ("KODELET-R-207", says('"result":null', '"result":{}')),
    ("KODELET-R-208", Bend(hears=nth("run.open", 2, swap('"conversationId"', '"x"')))),
    ("KODELET-R-209", hears("run.cancel", "run.close")),
    ("KODELET-R-210", says('"reason":"run_not_active"', '"reason":""')),
    ("KODELET-R-211", says("-32603", "-32602")),
    ("KODELET-R-212", hears('"reservedToolNames":["echo"]', '"reservedToolNames":[]')),
    ("KODELET-R-213", says("-32003", "-32001")),
    ("KODELET-R-213", Bend(says=drop("runner.heartbeat"))),
    ("KODELET-R-214", says("-32000", "-32603")),
    ("KODELET-R-215", hears("operation.cancel", "operation.x")),
    (
        "KODELET-R-216",
        Bend(
            says=nth(
                '"result":null', 2, swap('"result":null', '"error":{"code":-32002,"message":"m"}')
            )
        ),
    ),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_runner_fails(
    runner: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(runner, id, bend)
