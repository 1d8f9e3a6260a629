"""Daemons that break the requirements about framing, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.daemon_framing import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import STAYS, Bend, Change, Mutants, drop, says


def longer_than(size: int) -> Change:
    return lambda frame: () if len(frame) > size else (frame,)


def of_kind(kind: int) -> Change:
    return lambda data: () if data[4:5] == bytes([kind]) else (data,)


TALKS = Bend(stray=b"\0\0\0\1\0")
"""Says something before it ends a byte stream."""


MUTANTS: Mutants = (
    ("AGENCY-D-001", Bend(says=drop('"runs"'))),
    ("AGENCY-D-002", says('"request_id":3', '"request_id":2')),
    ("AGENCY-D-003", Bend(hears=of_kind(1))),
    ("AGENCY-D-004", Bend(hears=longer_than(1_000_000))),
    ("AGENCY-D-005", STAYS),
    ("AGENCY-D-005", TALKS),
    ("AGENCY-D-006", TALKS),
    ("AGENCY-D-007", STAYS),
    ("AGENCY-D-008", TALKS),
    ("AGENCY-D-009", STAYS),
    ("AGENCY-D-010", TALKS),
    ("AGENCY-D-011", STAYS),
    ("AGENCY-D-011", TALKS),
    ("AGENCY-D-012", says('"request_id":3', '"request_id":9')),
    ("AGENCY-D-012", TALKS),
    ("AGENCY-D-013", Bend()),
    ("AGENCY-D-014", Bend(says=drop('"runs"'))),
    ("AGENCY-D-015", says('control"]}', 'contro"]}\n')),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_daemon_fails(
    daemon: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(daemon, id, bend)
