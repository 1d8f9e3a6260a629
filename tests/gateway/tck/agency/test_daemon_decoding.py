"""Daemons that break the requirements about decoding, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.daemon_decoding import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, drop, hears

MUTANTS: Mutants = (
    ("AGENCY-D-030", hears('"requestId":1.0,', '"requestId":1,')),
    ("AGENCY-D-030", STAYS),
    ("AGENCY-D-031", hears('"run_id":"r"}', '"run_id":"r","after_sequence":0}')),
    ("AGENCY-D-032", hears('"approvals":1', '"approvals":true')),
    ("AGENCY-D-033", hears('"type":"fly"', '"type":"list_runs"')),
    ("AGENCY-D-034", hears('"requestId":2,"requestId":2', '"requestId":2')),
    ("AGENCY-D-035", hears('"x":1,"x":2', '"x":1,,')),
    ("AGENCY-D-036", hears("NaN", "null")),
    ("AGENCY-D-037", Bend(hears=drop("[[[["))),
    ("AGENCY-D-038", hears("[[]]", "[]")),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_daemon_fails(
    daemon: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(daemon, id, bend)
