"""Runners that break the requirements of a session, one each."""

from __future__ import annotations

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.runner_session import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, drop, hears, nth, says, swap

NO_BEATS = Bend(says=drop("runner.heartbeat"))

MUTANTS: Mutants = (
    ("KODELET-R-101", Bend(opens=lambda opening: attrs.evolve(opening, subprotocol=None))),
    ("KODELET-R-102", Bend(opens=lambda opening: attrs.evolve(opening, headers={}))),
    ("KODELET-R-103", Bend(opens=lambda opening: attrs.evolve(opening, headers={"origin": "x"}))),
    ("KODELET-R-104", says('"protocolVersions":[1]', '"protocolVersions":[2]')),
    ("KODELET-R-104", says('"instanceId"', '"instance"')),
    ("KODELET-R-104", says("runner.register", "runner.hello")),
    ("KODELET-R-105", says('"runner:1"', '"r1"')),
    ("KODELET-R-106", says('"generation":7', '"generation":1')),
    ("KODELET-R-106", says('"idle"', '"running"')),
    ("KODELET-R-106", NO_BEATS),
    ("KODELET-R-107", NO_BEATS),
    ("KODELET-R-108", says("-32000", "-32603")),
    ("KODELET-R-109", says('"runnerId":"runner_g', '"runnerId":"x')),
    ("KODELET-R-109", Bend(says=nth("instanceId", 2, swap('"instanceId":"', '"instanceId":"x')))),
    (
        "KODELET-R-110",
        Bend(says=nth("runner.register", 3, swap('"params":{', '"params":{"runnerId":"x",'))),
    ),
    ("KODELET-R-111", hears("-32001", "-32002")),
    ("KODELET-R-112", hears('"generation":0', '"generation":1')),
    ("KODELET-R-113", says('"idle"', '"running"')),
    ("KODELET-R-114", says('"activeRunId":', '"activeRun":')),
    ("KODELET-R-114", says('"activeRunIds":', '"runs":')),
    ("KODELET-R-115", says('"stopping"', '"running"')),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, [*MUTANTS, ("KODELET-R-116", Bend())])


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_runner_fails(
    runner: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(runner, id, bend)


async def test_a_runner_that_tries_again_though_it_was_refused_for_good_fails(
    runner: Runner, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetgate.transports.memory.is_final", lambda _status: False)
    await check_fails(runner, "KODELET-R-116", Bend())
