"""The questions of one link: in turn, bounded, and nobody waits for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, Admission, Answer
from fleetgate.core.errors import NoRoute
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    RecordingPort,
    describe,
    hub_on,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.asking import MAX_ASKED, Asking
from fleetgate.gateway.speaking import Speaker
from fleetgate.protocols import api


class Asker(RecordingPort):
    """Whose questions they are, and what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[tuple[Any, Answer]] = []
        self.reasons: list[str] = []
        self.faults: list[Exception] = []
        self.reports: list[str] = []

    def answered(self, reply_to: Any, answer: Answer) -> None:
        self.answers.append((reply_to, answer))

    def broken(self, reason: str) -> None:
        self.reasons.append(reason)

    def fault(self, error: Exception) -> None:
        self.faults.append(error)

    def report(self, what: str, detail: str, run: str | None) -> None:
        self.reports.append(what)


class Rig:
    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.asker = Asker()
        self.speaker = Speaker(hub, self.asker)
        self.asking = Asking(hub, self.asker, self.speaker, self.asker)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        yield Rig(hub)


async def test_an_answer_goes_to_who_asked_be_it_a_refusal(rig: Rig, nursery: trio.Nursery) -> None:
    rig.asking.start(nursery)
    rig.asking.submit(api.Submit(start_run("a"), "first"))
    rig.asking.submit(api.Submit(start_run("b", link="nowhere"), "second"))
    await wait_all_tasks_blocked()
    (one, accepted), (two, refused) = rig.asker.answers
    assert (one, two) == ("first", "second")
    assert isinstance(accepted, Accepted)
    assert isinstance(refused, NoRoute)
    assert rig.asking.idle


async def test_what_changes_something_is_asked_in_turn(rig: Rig, nursery: trio.Nursery) -> None:
    run = await started(rig.hub)
    rig.asking.start(nursery)
    notes = [rig.asking.annotate(api.Annotate(run, "n", number)) for number in range(9)]
    assert not any(note.is_set() for note in notes)
    await wait_all_tasks_blocked()
    assert all(note.is_set() for note in notes)
    assert (await describe(rig.hub, run)).notes == {"n": 8}


async def test_who_only_asks_workers_holds_nothing_up(rig: Rig, nursery: trio.Nursery) -> None:
    answer = await rig.hub.admit(worker_info(asks=True), rig.asker)
    rig.hub.ready(worker_info().id, answer.epoch, None)
    rig.asking.start(nursery)
    rig.asking.submit(api.Submit(c.ProbeWorkers("north"), "probe"))
    rig.asking.submit(api.Submit(start_run(), "start"))
    await wait_all_tasks_blocked()
    assert [reply_to for reply_to, _ in rig.asker.answers] == ["start"]
    assert len(rig.asker.questions) == 1
    assert not rig.asking.idle


async def test_a_worker_is_admitted_and_spoken_for(rig: Rig, nursery: trio.Nursery) -> None:
    rig.asking.start(nursery)
    rig.asking.announce(api.AnnounceWorker(worker_info(), "hello"))
    await wait_all_tasks_blocked()
    ((reply_to, answer),) = rig.asker.answers
    assert reply_to == "hello"
    assert isinstance(answer, Admission)
    assert rig.speaker.worker == worker_info().id


async def test_a_note_that_is_refused_is_never_durable(rig: Rig, nursery: trio.Nursery) -> None:
    rig.asking.start(nursery)
    durable = rig.asking.annotate(api.Annotate(RunId("none"), "n", 1))
    await wait_all_tasks_blocked()
    assert not durable.is_set()
    (reason,) = rig.asker.reasons
    assert "none" in reason


async def test_an_acknowledgement_of_nothing_is_reported(rig: Rig, nursery: trio.Nursery) -> None:
    rig.asking.start(nursery)
    rig.asking.acknowledge(api.Ack(RunId("none"), 3))
    await wait_all_tasks_blocked()
    assert rig.asker.reports == ["not_acknowledged"]


async def test_a_fault_is_told_and_the_next_question_is_asked(
    rig: Rig, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(rig.hub, "acknowledge", fail)
    rig.asking.start(nursery)
    rig.asking.acknowledge(api.Ack(RunId("a"), 3))
    rig.asking.submit(api.Submit(start_run(), "start"))
    await wait_all_tasks_blocked()
    (fault,) = rig.asker.faults
    assert str(fault) == "ours"
    assert [reply_to for reply_to, _ in rig.asker.answers] == ["start"]


async def test_it_is_full_at_its_bound_and_an_answer_makes_room(
    rig: Rig, nursery: trio.Nursery
) -> None:
    rig.asking.start(nursery)
    for number in range(MAX_ASKED):
        assert not rig.asking.full
        rig.asking.submit(api.Submit(start_run(str(number)), number))
    assert rig.asking.full
    await rig.asking.wait_answer()
    assert not rig.asking.full


async def test_nothing_is_asked_for_a_link_that_is_over(rig: Rig, nursery: trio.Nursery) -> None:
    rig.asking.start(nursery)
    rig.asking.stop()
    rig.asking.submit(api.Submit(start_run(), "start"))
    await wait_all_tasks_blocked()
    assert rig.asking.idle
    assert rig.asker.answers == []
