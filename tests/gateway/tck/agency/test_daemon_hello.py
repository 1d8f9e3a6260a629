"""Daemons that break the requirements about hello, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.daemon_hello import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, drop, says

MUTANTS: Mutants = (
    ("AGENCY-D-020", says('"kind":"response","request_id":1', '"request_id":1,"kind":"response"')),
    ("AGENCY-D-020", says('"minor":3', '"minor": 3')),
    ("AGENCY-D-021", says('"approvals"', '"session_interruption"')),
    ("AGENCY-D-022", says('"approvals",', "")),
    ("AGENCY-D-023", says('"minor":0', '"minor":3')),
    ("AGENCY-D-023", says('"minor":3', '"minor":9')),
    ("AGENCY-D-024", says("incompatible_version", "internal")),
    ("AGENCY-D-024", STAYS),
    ("AGENCY-D-025", says('"request_id":7', '"request_id":0')),
    ("AGENCY-D-025", STAYS),
    ("AGENCY-D-026", STAYS),
    ("AGENCY-D-027", says("protocol_violation", "conflict")),
    ("AGENCY-D-027", Bend(says=drop('"runs"'))),
    ("AGENCY-D-028", says("18446744073709551615", "0")),
    ("AGENCY-D-029", says("the first frame must be hello", "say hello")),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_daemon_fails(
    daemon: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(daemon, id, bend)
