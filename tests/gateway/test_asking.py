"""The questions of one link: in turn, bounded, and nobody waits for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, Admission, Answer
from fleetgate.core.errors import NoRoute, Unavailable
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    RecordingPort,
    describe,
    hub_on,
    read_until,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import JournalConflict
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.queued import committing
from fleetgate.core.journal.rows import Row
from fleetgate.core.limits import Limits
from fleetgate.core.times import SECOND
from fleetgate.gateway.asking import MAX_ASKED, MAX_ASKED_SIZE, Asking
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


class Hung(MemoryJournal):
    """A journal on a disk that says nothing from now on, until it does again."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = trio.Event()
        self.answers.set()

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        await self.answers.wait()
        return await super().store(groups)


@pytest.mark.parametrize(
    "kind", ["starts", "the same start", "commands of a run", "of an ended one"]
)
async def test_of_questions_in_turn_only_the_first_waits_for_a_disk_that_hangs(
    kind: str, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    async with committing(Hung()) as journal, hub_on(journal) as hub:
        rig = Rig(hub)
        worker = HandWorker(hub, worker_info())
        await worker.join()
        open_, over = await started(hub, "open"), await started(hub, "over")
        worker.record(over, DONE)
        await read_until(hub, over, 2)
        await wait_all_tasks_blocked()
        journal.answers = trio.Event()
        rig.asking.start(nursery)
        for number in range(MAX_ASKED):
            command: c.Command
            match kind:
                case "starts":
                    command = start_run(f"new{number}")
                case "the same start":
                    command = start_run("new")
                case "commands of a run":
                    command = c.SendInput(open_, b"x")
                case _:
                    command = c.AcknowledgeRun(over, 1)
            rig.asking.submit(api.Submit(command, number))
        began = trio.current_time()
        while not rig.asking.idle:
            await rig.asking.wait_answer()
        assert trio.current_time() - began == Limits().answer_within / SECOND
        assert [reply_to for reply_to, _ in rig.asker.answers] == list(range(MAX_ASKED))
        assert all(isinstance(answer, Unavailable) for _, answer in rig.asker.answers)
        # What may be in line already may yet be; of new runs all but the first are not.
        open = [answer.open for _, answer in rig.asker.answers if isinstance(answer, Unavailable)]
        assert open == [True, *([kind != "starts"] * (MAX_ASKED - 1))]
        rig.asker.answers.clear()
        rig.asking.submit(api.Submit(start_run("later"), "later"))
        rig.asking.submit(api.Submit(c.DescribeRun(open_), "a look"))
        await wait_all_tasks_blocked()
        (_, refused), (_, seen) = rig.asker.answers
        assert isinstance(refused, Unavailable)
        assert "no commit has ended for 10 s" in refused.message
        assert isinstance(seen, Accepted)
        journal.answers.set()
        await wait_all_tasks_blocked()
        rig.asking.submit(api.Submit(start_run("later"), "again"))
        await wait_all_tasks_blocked()
        assert isinstance(rig.asker.answers[-1][1], Accepted)


async def test_who_asks_again_waits_for_a_disk_that_hangs_and_holds_nobody_up(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    """An adapter asks again in the instant of an open refusal: were that answered at once, the two
    would never come to an end."""
    async with committing(Hung()) as journal, hub_on(journal) as hub:
        rig = Rig(hub)
        await wait_all_tasks_blocked()
        journal.answers = trio.Event()
        rig.asking.start(nursery)
        rig.asking.submit(api.Submit(start_run("new"), "first"))
        await rig.asking.wait_answer()
        began = trio.current_time()
        rig.asking.submit(api.Submit(start_run("new"), "again", again=True))
        rig.asking.submit(api.Submit(start_run("other"), "other"))
        while not rig.asking.idle:
            await rig.asking.wait_answer()
        assert trio.current_time() - began == Limits().answer_within / SECOND
        (_, first), (_, other), (_, again) = rig.asker.answers
        assert [to for to, _ in rig.asker.answers] == ["first", "other", "again"]
        assert isinstance(first, Unavailable)
        assert isinstance(other, Unavailable)
        assert isinstance(again, Unavailable)
        assert (first.open, other.open, again.open) == (True, False, True)
        rig.asking.submit(api.Submit(start_run("new"), "once more", again=True))
        await wait_all_tasks_blocked()
        assert not rig.asking.idle
        journal.answers.set()
        await rig.asking.wait_answer()
        assert isinstance(rig.asker.answers[-1][1], Accepted)


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


@pytest.mark.limit("gateway/asking.MAX_ASKED")
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


@pytest.mark.limit("gateway/asking.MAX_ASKED_SIZE")
async def test_i9_it_is_full_at_so_many_bytes_and_an_answer_makes_room(
    rig: Rig, nursery: trio.Nursery
) -> None:
    rig.asking.start(nursery)
    rig.asking.size = MAX_ASKED_SIZE // 4
    for number in range(4):
        assert not rig.asking.full
        rig.asking.submit(api.Submit(start_run(str(number)), number))
    rig.asking.size = 0
    rig.asking.submit(api.Submit(start_run("small"), "small"))
    assert rig.asking.full
    await rig.asking.wait_answer()
    assert not rig.asking.full
    await wait_all_tasks_blocked()
    assert rig.asking.idle
    rig.asking.size = MAX_ASKED_SIZE - 1
    rig.asking.submit(api.Submit(start_run("last"), "last"))
    assert not rig.asking.full


async def test_nothing_is_asked_for_a_link_that_is_over(rig: Rig, nursery: trio.Nursery) -> None:
    rig.asking.start(nursery)
    rig.asking.stop()
    rig.asking.submit(api.Submit(start_run(), "start"))
    await wait_all_tasks_blocked()
    assert rig.asking.idle
    assert rig.asker.answers == []
