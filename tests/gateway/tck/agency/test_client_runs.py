"""Clients that break the requirements about runs, one each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.client_runs import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, drop, hears, nth, says


def from_start(frame: bytes) -> Sequence[bytes]:
    return (re.sub(rb'"after_sequence":\d+', b'"after_sequence":0', frame),)


MUTANTS: Mutants = (
    ("AGENCY-C-040", says('"approvals":true', '"approvals":1')),
    ("AGENCY-C-040", says('"idempotency_key"', '"idempotencyKey"')),
    ("AGENCY-C-041", says('"isCommand":false,', "")),
    ("AGENCY-C-042", says('"after_sequence":0', '"after_sequence":1')),
    ("AGENCY-C-043", Bend(says=drop('"attach_run"'))),
    ("AGENCY-C-044", says('"through_sequence":', '"through_sequence":9')),
    ("AGENCY-C-045", says('"through_sequence":', '"through_sequence":9')),
    ("AGENCY-C-046", Bend(says=nth('"attach_run"', 2, from_start))),
    ("AGENCY-C-047", says('"cancel_run"', '"detach_run"')),
    ("AGENCY-C-047", hears('"conflict"', '"mood"')),
    ("AGENCY-C-048", says("also this", "something else")),
    ("AGENCY-C-049", says('"allow_once"', '"deny"')),
    ("AGENCY-C-049", says('"approval_id":"ap-1"', '"approval_id":"ap-2"')),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_client_fails(
    client: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(client, id, bend)
