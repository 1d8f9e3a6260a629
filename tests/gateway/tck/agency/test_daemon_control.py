"""Daemons that break the requirements about control, one each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.daemon_control import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, before, hears, nth, says


def unheard(frame: bytes) -> Sequence[bytes]:
    """A daemon that honours keys: the message is accepted, and goes nowhere."""
    name = re.search(rb'"requestId":(\d+).*"run_id":"([^"]*)"', frame)
    assert name is not None
    id, run = name[1].decode(), name[2].decode()
    text = f'{{"requestId":{id},"type":"ack_events","run_id":"{run}","through_sequence":0}}'
    return (b"\0" + text.encode(),)


def from_start(frame: bytes) -> Sequence[bytes]:
    return (re.sub(rb'"after_sequence":\d+', b'"after_sequence":0', frame),)


END = b'\0{"kind":"event","run_id":"r","sequence":1,"event":{"type":"failed","payload":"x"}}'
CONFLICT = says('"code":"conflict"', '"code":"internal"')


MUTANTS: Mutants = (
    ("AGENCY-D-060", says("the run was canceled", "canceled")),
    ("AGENCY-D-060", Bend(says=before('"accepted"', END))),
    ("AGENCY-D-060", says('"state":"canceled"', '"state":"failed"')),
    ("AGENCY-D-061", CONFLICT),
    ("AGENCY-D-062", CONFLICT),
    ("AGENCY-D-063", says('"internal"', '"conflict"')),
    ("AGENCY-D-064", Bend(hears=nth('"inject_message"', 2, unheard))),
    ("AGENCY-D-065", says('"internal"', '"conflict"')),
    ("AGENCY-D-066", says('"state":"waiting_approval"', '"state":"running"')),
    ("AGENCY-D-066", says('"title"', '"name"')),
    ("AGENCY-D-067", says('"internal"', '"not_found"')),
    ("AGENCY-D-068", hears('"type":"detach_run"', '"through_sequence":0,"type":"ack_events"')),
    ("AGENCY-D-069", Bend(hears=nth('"attach_run"', 2, from_start))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_daemon_fails(
    daemon: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(daemon, id, bend)
