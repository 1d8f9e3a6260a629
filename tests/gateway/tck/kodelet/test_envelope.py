"""Peers that break the requirements of an envelope, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.envelope import envelope_of
from fleetgate.gateway.tck.peer import Patience
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner, Verdict
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, hears, says
from fleetgate.transports.api import LinkBroken

MUTANTS: Mutants = (
    ("KODELET-R-001", says("-32601", "-32600")),
    ("KODELET-R-002", says('"2.0","id"', '"2.0", "id"')),
    ("KODELET-R-003", hears('"extra":{"a":1}', '"result":1')),
    ("KODELET-R-004", says('" a "', '"a"')),
    ("KODELET-R-005", hears('"JSONRPC"', '"JSON"')),
    ("KODELET-R-006", hears('"id":null', '"id":"n"')),
    ("KODELET-R-007", hears('"id":"zzz"', '"id":""')),
    ("KODELET-R-008", hears('"requestId":"zzz"}', '"requestId":"zzz"},"id":"q"')),
    ("KODELET-R-009", hears('"params":"x', '"id":1,"p":"x')),
    ("KODELET-R-010", STAYS),
    ("KODELET-R-011", STAYS),
    ("KODELET-R-012", STAYS),
    ("KODELET-R-013", STAYS),
    ("KODELET-R-014", STAYS),
    ("KODELET-R-015", STAYS),
    ("KODELET-R-016", STAYS),
    ("KODELET-R-017", Bend(ends=LinkBroken("the peer closed with code 1002", 1002))),
    ("KODELET-R-018", Bend(hears=lambda frame: (frame.replace(b"\xff", b'"'),))),
)
BINARY = "KODELET-R-019"
"""It needs a WebSocket."""


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(envelope_of("KODELET-R"), [*MUTANTS, (BINARY, STAYS)])


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_runner_fails(
    runner: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(runner, id, bend)


async def test_a_runner_that_takes_binary_messages_fails(web_runner: Runner) -> None:
    """In real time, for only a real WebSocket has kinds of messages."""
    (requirement,) = (each for each in web_runner.kit.requirements if each.id == BINARY)
    result = await web_runner.attempt(requirement)
    assert result.verdict is Verdict.PASS, result.reason
    web_runner.patience = Patience(within=0.2)
    await check_fails(web_runner, BINARY, STAYS)
