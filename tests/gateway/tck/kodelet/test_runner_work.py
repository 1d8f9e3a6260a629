"""Runners that break the requirements of their work, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.runner_work import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, behind, drop, says

MUTANTS: Mutants = (
    ("KODELET-R-301", says('"success":true', '"success":false')),
    (
        "KODELET-R-301",
        Bend(says=behind('"structured"', b'{"jsonrpc":"2.0","method":"tool.update"}')),
    ),
    (
        "KODELET-R-302",
        says('"result":{"input"', '"error":{"code":-32603,"message":"m"},"was":{"input"'),
    ),
    ("KODELET-R-303", says("-32602", "-32002")),
    ("KODELET-R-304", says('"sequence":4', '"sequence":1')),
    ("KODELET-R-304", says('"requestId":"server:', '"requestId":"s:')),
    ("KODELET-R-305", says("-32000", "-32603")),
    ("KODELET-R-306", says("context canceled", "stopped")),
    ("KODELET-R-307", says("-32000", "-32603")),
    ("KODELET-R-308", says("-32600", "-32603")),
    ("KODELET-R-309", Bend(hears=drop("run.cancel"))),
    ("KODELET-R-310", says("result_too_large", "x")),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_runner_fails(
    runner: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(runner, id, bend)
