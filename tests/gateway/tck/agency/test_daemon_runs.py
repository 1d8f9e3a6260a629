"""Daemons that break the requirements about runs, one each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.daemon_runs import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import (
    Bend,
    Change,
    Mutants,
    behind,
    hears,
    nth,
    says,
    swap,
    twice,
)

EVENT = b'\0{"kind":"event","run_id":"r","sequence":1,"event":{"type":"text","payload":"t"}}'
CONFLICT = says('"code":"conflict"', '"code":"internal"')


RUN = '"type":"run"'


def attaching(member: str, number: int) -> Change:
    """In an attachment's snapshot, and in no list, a member is always this number."""

    def bend(frame: bytes) -> Sequence[bytes]:
        if RUN.encode() not in frame:
            return (frame,)
        return (
            re.sub(rb'"%s":\d+' % member.encode(), b'"%s":%d' % (member.encode(), number), frame),
        )

    return bend


MUTANTS: Mutants = (
    ("AGENCY-D-040", Bend(says=behind('"accepted"', EVENT))),
    ("AGENCY-D-040", says('"sequence":2', '"sequence":3')),
    ("AGENCY-D-041", says('"acknowledgedSequence":0,', "")),
    ("AGENCY-D-041", says('"projectId":"p1"', '"projectId":"p2"')),
    ("AGENCY-D-042", Bend(says=twice('"finished"'))),
    ("AGENCY-D-042", says('"state":"completed"', '"state":"running"')),
    ("AGENCY-D-043", CONFLICT),
    ("AGENCY-D-043", Bend(leaves=lambda frame: b'"code":"conflict"' in frame)),
    ("AGENCY-D-044", says("protocol_violation", "internal")),
    ("AGENCY-D-045", says('"type":"accepted"', '"type":"error","code":"conflict","message":"m"')),
    ("AGENCY-D-046", says("not_found", "internal")),
    ("AGENCY-D-047", hears('"after_sequence":1', '"after_sequence":0')),
    ("AGENCY-D-048", says('-Z"', '-z"')),
    ("AGENCY-D-049", Bend(says=nth('"type":"text"', 2, swap("short", "long")))),
    ("AGENCY-D-050", Bend(says=behind('"type":"hello"', EVENT))),
    ("AGENCY-D-051", says('"sequence":1,', '"sequence":2,')),
    ("AGENCY-D-052", says('"acknowledgedSequence":1', '"acknowledgedSequence":0')),
    ("AGENCY-D-053", Bend()),
    ("AGENCY-D-054", says("is older than retained", "is gone, try")),
    ("AGENCY-D-055", Bend(says=attaching("latestSequence", 0))),
    ("AGENCY-D-055", Bend(says=nth(RUN, 2, swap('"completed"', '"running"')))),
    ("AGENCY-D-056", Bend(says=attaching("acknowledgedSequence", 0))),
    ("AGENCY-D-056", Bend(says=nth(RUN, 4, attaching("acknowledgedSequence", 1)))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_daemon_fails(
    daemon: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(daemon, id, bend)
