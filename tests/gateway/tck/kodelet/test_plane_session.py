"""Control planes that break the requirements of a session, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.plane_session import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, drop, hears, says
from fleetgate.transports.api import LinkBroken

MUTANTS: Mutants = (
    ("KODELET-C-201", says('"protocolVersion":1', '"protocolVersion":2')),
    ("KODELET-C-201", says("heartbeatIntervalMs", "heartbeat")),
    ("KODELET-C-202", says("conn_", "c_")),
    ("KODELET-C-203", says("-32600", "-32601")),
    ("KODELET-C-204", says("-32600", "-32601")),
    ("KODELET-C-205", says("-32602", "-32600")),
    ("KODELET-C-206", says("-32602", "-32603")),
    ("KODELET-C-207", STAYS),
    ("KODELET-C-207", Bend(ends=LinkBroken("the peer closed with code 1001", 1001))),
    ("KODELET-C-207", says('"generation":2', '"generation":1')),
    ("KODELET-C-208", says('"generation":3', '"generation":2')),
    ("KODELET-C-209", says("runner_not_found", "run_not_active")),
    ("KODELET-C-210", says("-32001", "-32002")),
    ("KODELET-C-211", says("-32601", "-32600")),
    ("KODELET-C-212", hears('"state":"future"}}', '"state":"future"},"id":"q"}')),
    ("KODELET-C-213", hears('"runner.goodbye"}', '"runner.goodbye","id":"q"}')),
    ("KODELET-C-214", hears("runner.goodbye", "\\x")),
    ("KODELET-C-215", STAYS),
    (
        "KODELET-C-215",
        Bend(says=drop("no"), ends=LinkBroken("the peer closed with code 1001", 1001)),
    ),
    ("KODELET-C-216", says("-32002", "-32003")),
    ("KODELET-C-216", says('inactive run"}', 'inactive run","data":{"reason":"x"}}')),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_control_plane_fails(
    plane: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(plane, id, bend)
