"""Clients that break the requirements about hello, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.client_hello import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, behind, drop, hears, nth, says

LIST = b'\0{"requestId":2,"type":"list_runs"}'


MUTANTS: Mutants = (
    ("AGENCY-C-001", says('"requestId":1', '"requestId":2')),
    ("AGENCY-C-001", says('"major":0', '"major":1')),
    ("AGENCY-C-002", says('"type":"hello","client_name"', '"type":"hello", "client_name"')),
    ("AGENCY-C-002", says('"requestId":1,"type":"hello"', '"type":"hello","requestId":1')),
    ("AGENCY-C-003", Bend(says=behind('"hello"', LIST))),
    ("AGENCY-C-004", STAYS),
    ("AGENCY-C-004", Bend(hears=behind("incompatible", b"\2"), says=behind('"hello"', LIST))),
    ("AGENCY-C-005", hears('"major":1', '"major":0')),
    ("AGENCY-C-006", STAYS),
    ("AGENCY-C-007", says('"type":"list_runs"', '"type":"shutdown_if_idle"')),
    ("AGENCY-C-008", says('"requestId":2', '"requestId":1')),
    ("AGENCY-C-009", hears("telepathy", "tele\x01pathy")),
    ("AGENCY-C-010", Bend(says=nth('"hello"', 2, drop("hello")))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_client_fails(
    client: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(client, id, bend)
