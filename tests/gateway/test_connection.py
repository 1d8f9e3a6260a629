"""The driver: steps performed in order, and every way in which a link ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, Admission
from fleetgate.core.drawing import examples
from fleetgate.core.errors import RunNotFound, Unavailable
from fleetgate.core.events import Recorded, RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    TrioClock,
    describe,
    hub_on,
    read_until,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, SessionId, WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.passages import Sent
from fleetgate.core.times import SECOND
from fleetgate.core.watchers import Happening, WorkerNotice
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.last_words import Ended
from fleetgate.gateway.outbox import HIGH_FRAMES
from fleetgate.protocols import api
from fleetgate.protocols.api import Connection, RemoteProtocolError, Steps
from fleetgate.transports.api import LinkBroken
from fleetgate.transports.memory import memory_link_pair

OPENING = api.Opening("north")


@attrs.define
class Seen:
    """What the driver told the operator."""

    reports: list[tuple[str, str]] = attrs.field(factory=list)
    faults: list[BaseException] = attrs.field(factory=list)

    def report(self, what: str, detail: str, run: str | None) -> None:
        self.reports.append((what, detail))

    def fault(self, error: BaseException) -> None:
        self.faults.append(error)


class Puppet(Connection):
    """A connection that does what the test tells it, by the name of the call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.on: dict[str, Callable[..., Steps]] = {}

    def _called(self, name: str, *arguments: Any) -> Steps:
        self.calls.append((name, arguments))
        return self.on.get(name, lambda *_: ())(*arguments)

    def opened(self, opening: api.Opening, now: int) -> Steps:
        return self._called("opened")

    def receive(self, frame: bytes, now: int) -> Steps:
        return self._called("receive", frame)

    def tick(self, now: int) -> Steps:
        return self._called("tick", now)

    def drain(self, now: int) -> Steps:
        return self._called("drain")

    def dismissed(self, reason: str, now: int) -> Steps:
        return self._called("dismissed", reason)

    def closed(self, reason: str, now: int) -> Steps:
        return self._called("closed", reason)

    def reply(self, reply_to: Any, answer: Any, now: int) -> Steps:
        return self._called("reply", reply_to, answer)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        return self._called("deliver", tuple(batch))

    def perform(self, order: c.Order, now: int) -> Steps:
        return self._called("perform", order)

    def committed(self, run: RunId, native_seq: int, now: int) -> Steps:
        return self._called("committed", run, native_seq)

    def noticed(self, notice: WorkerNotice, now: int) -> Steps:
        return self._called("noticed", notice)

    def end_session(self, session: str, now: int) -> Steps:
        return self._called("end_session", session)

    def fenced(self, reason: str, now: int) -> Steps:
        return self._called("fenced", reason)

    def named(self, name: str) -> list[Any]:
        return [arguments for called, arguments in self.calls if called == name]


class Rig:
    """A driver on one end of a link in memory; the test is the peer on the other."""

    def __init__(self, hub: Hub, nursery: trio.Nursery, limit: int = 1 << 20) -> None:
        ours, self.peer = memory_link_pair(limit=limit)
        self.hub = hub
        self.puppet = Puppet()
        self.seen = Seen()
        self.ended: Ended | None = None
        self.driver = Driver(ours, self.puppet, hub, TrioClock(), self.seen)
        self._nursery = nursery

    async def go(self) -> None:
        self._nursery.start_soon(self._run)
        await wait_all_tasks_blocked()

    async def _run(self) -> None:
        self.ended = await self.driver.run(OPENING)

    async def end(self) -> Ended:
        await wait_all_tasks_blocked()
        assert self.ended is not None
        return self.ended


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


@pytest.fixture
async def rig(hub: Hub) -> AsyncIterator[Rig]:
    async with trio.open_nursery() as nursery:
        yield Rig(hub, nursery)
        nursery.cancel_scope.cancel()


async def test_frames_in_and_steps_out_in_order(rig: Rig) -> None:
    rig.puppet.on["opened"] = lambda: (api.Send(b"hello"),)
    rig.puppet.on["receive"] = lambda frame: (api.Send(frame + b"1"), api.Send(frame + b"2"))
    await rig.go()
    await rig.peer.send(b"a")
    await rig.peer.send(b"b")
    got = [await rig.peer.receive() for _ in range(5)]
    assert got == [b"hello", b"a1", b"a2", b"b1", b"b2"]


async def test_a_question_is_answered_with_its_tag(rig: Rig) -> None:
    rig.puppet.on["receive"] = lambda _: (
        api.Submit(start_run(), "one"),
        api.Submit(c.DescribeRun(RunId("none")), "two"),
    )
    await rig.go()
    await rig.peer.send(b"x")
    await wait_all_tasks_blocked()
    answers = dict(rig.puppet.named("reply"))
    assert isinstance(answers["one"], Accepted)
    assert isinstance(answers["two"], RunNotFound)


async def test_a_paused_connection_is_not_given_frames(rig: Rig) -> None:
    rig.puppet.on["receive"] = lambda _: (api.Pause(), api.Pause(), api.Wake(0))
    await rig.go()
    await rig.peer.send_some([b"a", b"b"])
    await wait_all_tasks_blocked()
    assert rig.puppet.named("receive") == [(b"a",)]
    rig.puppet.on["tick"] = lambda _: (api.Resume(),)
    rig.driver._call(lambda now: (api.Resume(),))  # as an answer would
    await wait_all_tasks_blocked()
    assert rig.puppet.named("receive") == [(b"a",), (b"b",)]


async def test_calls_that_steps_bring_about_come_after_those_steps(rig: Rig) -> None:
    """`WorkerReady` makes the hub give out a run at once: that order must not reach the
    connection before the steps behind `WorkerReady` are performed."""
    await started(rig.hub)
    rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info(), "w"),)
    rig.puppet.on["reply"] = lambda *_: (api.WorkerReady(), api.Send(b"ready"))
    rig.puppet.on["perform"] = lambda order: (api.Send(b"start"),)
    await rig.go()
    assert [await rig.peer.receive(), await rig.peer.receive()] == [b"ready", b"start"]


async def test_a_worker_is_announced_records_and_is_told_what_is_durable(rig: Rig) -> None:
    run = await started(rig.hub)
    rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info(), "w"),)
    rig.puppet.on["reply"] = lambda *_: (api.WorkerReady(),)
    rig.puppet.on["perform"] = lambda order: (
        api.Record(run, (e.RunStarted(),), 1),
        api.Record(run, (DONE,), 2),
        api.Record(RunId("other"), (DONE,), 1),
        api.Settle(run, OrderNumber(0)),
        api.ReportCapacity(3),
    )
    await rig.go()
    assert isinstance(rig.puppet.named("reply")[0][1], Admission)
    assert rig.puppet.named("committed")[-1] == (run, 2)
    assert (await describe(rig.hub, run)).state is RunState.SUCCEEDED
    assert [what for what, _ in rig.seen.reports] == ["foreign_run"]
    assert rig.driver.worker == worker_info().id
    link = rig.hub.ladders.passages.link(worker_info().id, Epoch(1))
    assert link == (OPENING.link, OPENING.peer)


async def test_what_frames_that_come_together_report_is_one_entry_in_the_journals_line(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await started(rig.hub)
    rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info(), "w"),)
    rig.puppet.on["reply"] = lambda *_: (api.WorkerReady(),)
    await rig.go()
    entries: list[list[int | None]] = []
    record = rig.hub.record_all

    def record_all(*args: Any) -> Sequence[RunId]:
        entries.append([seq for _, heard in args[2] for _, seq, _ in heard])
        return record(*args)

    monkeypatch.setattr(rig.hub, "record_all", record_all)
    rig.puppet.on["receive"] = lambda frame: (
        api.Record(run, (e.TextProduced("x"),), frame[0]),
        *((api.Settle(run, OrderNumber(0)),) if frame == b"\x03" else ()),
        *((api.Pause(),) if frame == b"\x05" else ()),
    )
    await rig.peer.send_some([bytes([seq]) for seq in range(1, 8)])
    await wait_all_tasks_blocked()
    assert entries == [[1, 2, 3], [4, 5]], "before any other step for the hub, and before a wait"
    rig.driver._call(lambda now: (api.Record(run, (DONE,), 9), api.Resume()))
    await wait_all_tasks_blocked()
    assert entries == [[1, 2, 3], [4, 5], [9], [6, 7]]
    assert (await describe(rig.hub, run)).last_seq == 7


async def test_records_without_a_worker_are_reported_and_not_taken(rig: Rig) -> None:
    rig.puppet.on["opened"] = lambda: (
        api.Record(RunId("r"), (DONE,)),
        api.WorkerReady(),
    )
    await rig.go()
    assert [what for what, _ in rig.seen.reports] == ["no_worker", "no_worker"]


async def test_I7_a_fenced_link_records_nothing_more(rig: Rig) -> None:
    run = await started(rig.hub)
    rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info(), "w"),)
    rig.puppet.on["reply"] = lambda *_: (api.WorkerReady(),)
    rig.puppet.on["fenced"] = lambda _: (
        api.Record(run, (DONE,), 1),
        api.Close(4002, "superseded", retry=False),
    )
    await rig.go()
    await HandWorker(rig.hub, worker_info()).join()
    ended = await rig.end()
    assert (ended.reason, ended.retry) == ("superseded", False)
    assert not (await describe(rig.hub, run)).state.terminal


async def test_a_followed_run_is_delivered_and_unfollowed_at_once(rig: Rig) -> None:
    worker = HandWorker(rig.hub, worker_info())
    await worker.join()
    run = await started(rig.hub)
    frames = {b"f": api.Follow(run, Seq(0)), b"u": api.Unfollow(run)}
    rig.puppet.on["receive"] = lambda frame: (frames[frame],)
    await rig.go()
    await rig.peer.send(b"f")
    worker.record(run, e.TextProduced("a"))
    await wait_all_tasks_blocked()
    delivered = [r.seq for (batch,) in rig.puppet.named("deliver") for r in batch]
    assert delivered == [1, 2]
    told = Sent(OPENING.link, OPENING.peer, 0, 2, now=True)
    assert rig.hub.ladders.passages.sent(run) == [told]
    await rig.peer.send(b"f")
    await wait_all_tasks_blocked()
    assert len([r for (batch,) in rig.puppet.named("deliver") for r in batch]) == 4
    await rig.peer.send(b"u")
    await wait_all_tasks_blocked()
    worker.record(run, e.TextProduced("b"))
    await wait_all_tasks_blocked()
    assert len([r for (batch,) in rig.puppet.named("deliver") for r in batch]) == 4


async def test_acknowledgements_and_notes_reach_the_run(rig: Rig) -> None:
    worker = HandWorker(rig.hub, worker_info())
    await worker.join()
    run = await started(rig.hub)
    await read_until(rig.hub, run, 1)
    rig.puppet.on["receive"] = lambda _: (
        api.Ack(run, 1),
        api.Ack(RunId("none"), 1),
        api.Annotate(run, "p", {"a": 1}),
        api.Send(b"behind the note"),
    )
    await rig.go()
    await rig.peer.send(b"x")
    assert await rig.peer.receive() == b"behind the note"
    seen = await describe(rig.hub, run)
    assert seen.notes == {"p": {"a": 1}}
    await wait_all_tasks_blocked()
    assert (await describe(rig.hub, run)).acknowledged == 1
    assert rig.seen.reports[0][0] == "not_acknowledged"


async def test_the_clock_ticks_once_for_the_newest_wake(
    rig: Rig, autojump_clock: trio.testing.MockClock
) -> None:
    clock = TrioClock()
    start = clock()
    rig.puppet.on["opened"] = lambda: (
        api.Wake(start + 50 * SECOND),
        api.Wake(start + 10 * SECOND),
    )
    await rig.go()
    await trio.sleep(9)
    assert rig.puppet.named("tick") == []
    await trio.sleep(100)
    assert len(rig.puppet.named("tick")) == 1


async def test_questions_about_one_run_are_asked_in_order(rig: Rig) -> None:
    worker = HandWorker(rig.hub, worker_info(numbered_input=True))
    await worker.join()
    runs = [await started(rig.hub, str(number)) for number in range(20)]
    await wait_all_tasks_blocked()
    rig.puppet.on["opened"] = lambda: [
        step
        for run in runs
        for text in (b"1", b"2", b"3")
        for step in (api.Submit(c.SendInput(run, text)), api.Annotate(run, "n", text.decode()))
    ]
    await rig.go()
    await wait_all_tasks_blocked()
    for run in runs:
        commands = [order.command for order in worker.port.orders if order.run == run]
        assert [each.data for each in commands if isinstance(each, c.SendInput)] == [
            b"1",
            b"2",
            b"3",
        ]
        assert (await describe(rig.hub, run)).notes == {"n": "3"}


async def test_what_stands_behind_a_note_that_is_refused_never_leaves(
    rig: Rig, autojump_clock: trio.testing.MockClock
) -> None:
    rig.puppet.on["opened"] = lambda: (
        api.Annotate(RunId("none"), "n", 1),
        api.Send(b"behind it"),
    )
    await rig.go()
    with pytest.raises((trio.EndOfChannel, LinkBroken)):
        await rig.peer.receive()
    assert "none" in (await rig.end()).reason


async def test_a_journal_that_fails_is_an_answer_and_no_fault(
    hub: Hub, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_memory_journal() as journal, hub_on(journal) as failing:
        run = await started(failing)
        await failing.submit(c.CancelRun(run))
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            rig = Rig(failing, nursery)
            rig.puppet.on["receive"] = lambda _: (
                api.Ack(run, 1),
                api.Submit(start_run("two"), "start"),
                api.Submit(c.DescribeRun(run), "describe"),
            )
            await rig.go()
            journal.fail("disk full")
            await rig.peer.send(b"x")
            await trio.sleep(60)
            answers = dict(rig.puppet.named("reply"))
            assert isinstance(answers["start"], Unavailable)
            assert isinstance(answers["describe"], Accepted)
            assert rig.seen.faults == []
            assert rig.seen.reports[0][0] == "not_acknowledged"
            nursery.cancel_scope.cancel()


# --- endings


async def test_a_close_comes_after_what_was_sent_before_it(rig: Rig) -> None:
    rig.puppet.on["receive"] = lambda _: (
        api.Send(b"last"),
        api.Close(4001, "stale"),
        api.Send(b"never"),
    )
    await rig.go()
    await rig.peer.send_some([b"x", b"y"])
    assert await rig.peer.receive() == b"last"
    with pytest.raises((trio.EndOfChannel, LinkBroken)):
        await rig.peer.receive()
    assert (await rig.end()).reason == "stale"
    assert rig.puppet.named("receive") == [(b"x",)]
    assert rig.puppet.named("closed") == [("stale",)]


async def test_I11_a_peer_that_breaks_the_rules_ends_its_link_with_the_answer(rig: Rig) -> None:
    def refuse(frame: bytes) -> Steps:
        raise RemoteProtocolError("no", (api.Send(b"error"), api.Close(1002, "no")))

    rig.puppet.on["receive"] = refuse
    await rig.go()
    await rig.peer.send(b"x")
    assert await rig.peer.receive() == b"error"
    assert (await rig.end()).reason == "no"
    assert rig.seen.faults == []


async def test_I11_a_rule_broken_without_an_answer_drops_the_link(rig: Rig) -> None:
    def refuse(frame: bytes) -> Steps:
        raise RemoteProtocolError("silent")

    rig.puppet.on["receive"] = refuse
    await rig.go()
    await rig.peer.send(b"x")
    with pytest.raises((trio.EndOfChannel, LinkBroken)):
        await rig.peer.receive()
    assert (await rig.end()).reason == "silent"


@pytest.mark.parametrize("call", ["opened", "receive", "closed"])
async def test_I11_a_raising_adapter_ends_its_link_only(rig: Rig, call: str) -> None:
    def fail(*_: Any) -> Steps:
        raise ValueError("a mistake of ours")

    rig.puppet.on[call] = fail
    await rig.go()
    if call == "receive":
        await rig.peer.send(b"x")
    if call == "closed":
        await rig.peer.aclose()
    await rig.end()
    assert len(rig.seen.faults) == 1
    await started(rig.hub)


EVILS = ("raise", "break", "leave", "foreign", "close", "refuse")
evils = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(EVILS)), max_size=6)


def evil(frame: bytes) -> Steps:
    """What an adapter makes of a frame; most of it ends its link."""
    match frame.decode():
        case "raise":
            raise ValueError("a mistake of ours")
        case "break":
            raise RemoteProtocolError("not a word of this protocol")
        case "foreign":
            return (api.Record(RunId("somebody/else"), (DONE,), 1), api.WorkerReady(3))
        case "close":
            return (api.Close(1000, "enough"), api.Send(b"never"))
        case "refuse":
            return (api.Submit(c.CancelRun(RunId("none")), None),)
        case _:
            return (api.Send(frame),)


async def several_links(drawn: list[tuple[int, str]]) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        good, *bad = (Rig(hub, nursery) for _ in range(4))
        worker = HandWorker(hub, worker_info())
        await worker.join()
        for rig in (good, *bad):
            rig.puppet.on["receive"] = evil
            await rig.go()
        for at, (which, deed) in enumerate(drawn):
            if bad[which].ended is None:
                await hurt(bad[which], deed)
            await good.peer.send(str(at).encode())
            assert await good.peer.receive() == str(at).encode()
            run = await started(hub, str(at))
            await read_until(hub, run, 1)
            assert worker.port.numbers(run) == [0]
        assert good.ended is None
        assert good.seen == Seen()
        ended = {which for which, deed in drawn if deed in ("raise", "break", "leave", "close")}
        assert {which for which in range(3) if bad[which].ended is not None} == ended
        nursery.cancel_scope.cancel()


async def hurt(rig: Rig, deed: str) -> None:
    if deed == "leave":
        await rig.peer.aclose()
    else:
        await rig.peer.send(deed.encode())
    await wait_all_tasks_blocked()


@settings(max_examples=examples(100))
@given(evils)
def test_i11_fault_27_whatever_becomes_of_a_link_the_others_and_the_runs_go_on(
    drawn: list[tuple[int, str]],
) -> None:
    trio.run(several_links, drawn)


async def test_what_was_asked_before_the_peer_left_is_still_performed(rig: Rig) -> None:
    rig.puppet.on["receive"] = lambda _: (api.Submit(start_run(), None),)
    rig.puppet.on["reply"] = lambda *_: (api.Send(b"answer"),)
    await rig.go()
    await rig.peer.send(b"x")
    await rig.peer.aclose()
    await rig.end()
    assert len(rig.puppet.named("reply")) == 1


async def test_what_came_before_the_link_broke_is_taken_although_nothing_can_be_sent(
    rig: Rig,
) -> None:
    rig.puppet.on["receive"] = lambda frame: (api.Send(b"answer to " + frame),)
    await rig.go()
    frames = [str(number).encode() for number in range(50)]
    await rig.peer.send_some(frames[:1])
    await rig.peer.send_some(frames[1:])
    await rig.peer.close(None)
    await rig.end()
    assert [frame for (frame,) in rig.puppet.named("receive")] == frames


async def test_a_lost_link_withdraws_its_worker_after_its_last_records(rig: Rig) -> None:
    run = await started(rig.hub)
    rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info(grace=0), "w"),)
    rig.puppet.on["reply"] = lambda *_: (api.WorkerReady(),)
    rig.puppet.on["closed"] = lambda _: (
        api.Record(run, (e.TextProduced("last words"),), 1),
        api.Send(b"to nobody"),
    )
    await rig.go()
    await rig.peer.aclose()
    await rig.end()
    events = await read_until(rig.hub, run, 3)
    assert [type(each.event) for each in events] == [
        e.RunAssigned,
        e.TextProduced,
        e.RunFinished,
    ]


async def test_a_worker_may_leave_of_its_own_accord(rig: Rig) -> None:
    run = await started(rig.hub)
    rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info(), "w"),)
    rig.puppet.on["reply"] = lambda *_: (api.WorkerReady(),)
    rig.puppet.on["receive"] = lambda _: (api.WithdrawWorker("bye", gone=True),)
    await rig.go()
    await rig.peer.send(b"x")
    await read_until(rig.hub, run, 2)
    assert (await describe(rig.hub, run)).state is RunState.LOST
    assert rig.driver.worker is None


async def test_draining_tells_the_peer_and_ends_in_order(rig: Rig) -> None:
    rig.puppet.on["drain"] = lambda: (api.Send(b"stopping"),)
    await rig.go()
    rig.driver.drain()
    await rig.driver.finish()
    assert await rig.peer.receive() == b"stopping"
    assert (await rig.end()).reason == "this side stops"


async def test_a_link_is_established_when_its_adapter_says_so(rig: Rig) -> None:
    rig.puppet.on["opened"] = lambda: (api.Established(),)
    await rig.go()
    await rig.peer.aclose()
    assert (await rig.end()).ready


async def test_a_cut_link_says_nothing(rig: Rig) -> None:
    await rig.go()
    rig.driver.send_raw(b"raw")
    assert await rig.peer.receive() == b"raw"
    rig.driver.drop()
    with pytest.raises((trio.EndOfChannel, LinkBroken)):
        await rig.peer.receive()
    await rig.end()


async def test_cancelling_the_driver_leaves_nothing_behind(hub: Hub) -> None:
    async with trio.open_nursery() as nursery:
        rig = Rig(hub, nursery)
        rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info(), "w"),)
        await rig.go()
        nursery.cancel_scope.cancel()
    assert rig.puppet.named("closed")
    with pytest.raises((trio.EndOfChannel, LinkBroken)):
        await rig.peer.receive()
    newer = HandWorker(hub, worker_info())
    await newer.join()
    assert newer.epoch == 2


# --- bounds


class Turns(trio.abc.Instrument):
    """Counts how often any task is given a turn."""

    def __init__(self) -> None:
        self.turns = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.turns += 1


async def test_fault_28_a_cancelled_link_leaves_nothing_that_spins(
    hub: Hub, autojump_clock: trio.testing.MockClock
) -> None:
    worker = HandWorker(hub, worker_info())
    await worker.join()
    run = await started(hub)
    async with trio.open_nursery() as nursery:
        rig = Rig(hub, nursery)
        rig.puppet.on["opened"] = lambda: (api.Follow(run, Seq(0)), api.Wake(SECOND))
        rig.puppet.on["deliver"] = lambda batch: tuple(api.Send(b"event") for _ in batch)
        await rig.go()
        nursery.cancel_scope.cancel()
    worker.record(run, e.TextProduced("x"))
    await wait_all_tasks_blocked()
    counted = Turns()
    trio.lowlevel.add_instrument(counted)
    await trio.sleep(3600)
    trio.lowlevel.remove_instrument(counted)
    assert counted.turns < 50


async def test_I9_fault_29_a_peer_that_never_reads_holds_up_itself_only(
    rig: Rig, autojump_clock: trio.testing.MockClock
) -> None:
    worker = HandWorker(rig.hub, worker_info())
    await worker.join()
    run = await started(rig.hub)
    rig.puppet.on["opened"] = lambda: (api.Follow(run, Seq(0)),)
    rig.puppet.on["deliver"] = lambda batch: tuple(api.Send(b"event") for _ in batch)
    await rig.go()
    for seq in range(1, 8 * HIGH_FRAMES):
        worker.record(run, e.TextProduced("x"), seq=seq)
        if not seq % 256:
            await rig.hub.wait_room()
    await read_until(rig.hub, run, 8 * HIGH_FRAMES)
    delivered = sum(len(batch) for (batch,) in rig.puppet.named("deliver"))
    assert delivered < 4 * HIGH_FRAMES
    await trio.sleep(61)
    assert (await rig.end()).reason == "the peer took nothing for 60 s"


async def _for_ever(_: Hub) -> None:
    await trio.sleep_forever()


async def test_i9_while_the_journal_has_no_room_workers_wait_and_whoever_asks_is_heard(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked waits for room by itself, and is refused in time; what a worker says cannot be
    refused."""
    await rig.go()
    monkeypatch.setattr(Hub, "has_room", property(lambda _: False))
    monkeypatch.setattr(Hub, "wait_room", _for_ever)
    await rig.peer.send(b"hello?")
    await wait_all_tasks_blocked()
    assert rig.puppet.named("receive") == [(b"hello?",)]
    monkeypatch.setattr(Driver, "worker", WorkerId("south/w"))
    await rig.peer.send(b"an event")
    await wait_all_tasks_blocked()
    assert rig.puppet.named("receive") == [(b"hello?",)]
    rig.driver.drop()
    await rig.end()


async def test_a_call_that_nothing_brought_about_is_made_and_its_steps_performed(rig: Rig) -> None:
    await rig.go()
    assert rig.driver.connection is rig.puppet
    rig.driver.act(lambda now: (api.Send(b"by hand"),))
    assert await rig.peer.receive() == b"by hand"
    rig.driver.drop()
    await rig.end()
    made: list[int] = []
    rig.driver.act(lambda now: made.append(now) or ())
    assert made == []


async def test_who_is_dismissed_hears_the_last_words_and_then_the_end(rig: Rig) -> None:
    await rig.go()
    rig.puppet.on["dismissed"] = lambda reason: (api.Send(reason.encode()),)
    rig.driver.dismiss(api.Close(1008, "revoked", retry=False, status=16))
    assert await rig.peer.receive() == b"revoked"
    with pytest.raises((trio.EndOfChannel, LinkBroken)):
        await rig.peer.receive()
    await rig.end()


async def test_what_is_remembered_leaves_after_it_is_kept(hub: Hub) -> None:
    kept: list[tuple[str, Any]] = []
    async with trio.open_nursery() as nursery:
        ours, peer = memory_link_pair(limit=100)
        puppet = Puppet()
        puppet.on["opened"] = lambda: (api.Send(b"a"), api.Remember("id"), api.Send(b"b"))
        driver = Driver(
            ours, puppet, hub, TrioClock(), Seen(), remember=lambda *each: kept.append(each)
        )
        nursery.start_soon(driver.run, OPENING)
        assert await peer.receive() == b"a"
        await wait_all_tasks_blocked()
        ((text, done),) = kept
        assert text == "id"
        done(None)
        assert await peer.receive() == b"b"
        driver.drop()


async def test_a_frame_above_the_limit_ends_the_link(hub: Hub) -> None:
    async with trio.open_nursery() as nursery:
        rig = Rig(hub, nursery, limit=10)
        rig.puppet.on["opened"] = lambda: (api.Send(b"x" * 11),)
        await rig.go()
        assert "11" in (await rig.end()).reason


async def test_a_watch_is_told_and_ends_with_its_link(rig: Rig) -> None:
    rig.puppet.on["opened"] = lambda: (api.WatchWorkers(), api.WatchWorkers())
    await rig.go()
    worker = HandWorker(rig.hub, worker_info())
    await worker.join()
    await wait_all_tasks_blocked()
    await rig.peer.close(1000)
    await rig.end()
    worker.leave()
    told = [notice.happening for (notice,) in rig.puppet.named("noticed")]
    assert told == [Happening.CONNECTED]


async def test_what_is_told_reaches_those_who_watch(rig: Rig) -> None:
    seen: list[WorkerNotice] = []
    rig.hub.watch("north", seen.append)
    rig.puppet.on["receive"] = lambda frame: (api.Notify({"said": frame.decode()}),)
    rig.puppet.on["closed"] = lambda reason: (api.Notify({"said": "bye"}),)
    await rig.go()
    await rig.peer.send(b"hello")
    await rig.peer.close(1000)
    await rig.end()
    assert [(notice.worker, notice.body) for notice in seen] == [
        (None, {"said": "hello"}),
        (None, {"said": "bye"}),
    ]


async def test_I9_a_watcher_that_never_reads_is_dropped(
    rig: Rig, autojump_clock: trio.testing.MockClock
) -> None:
    rig.puppet.on["opened"] = lambda: (api.WatchWorkers(),)
    rig.puppet.on["noticed"] = lambda _: tuple(api.Send(b"x") for _ in range(2 * HIGH_FRAMES))
    await rig.go()
    await wait_all_tasks_blocked()
    for name in ("a", "b", "c"):
        await HandWorker(rig.hub, worker_info(name)).join()
    assert len(rig.puppet.named("noticed")) < 3
    await trio.sleep(60)
    assert rig.ended is not None
    assert "too slow" in rig.ended.reason


async def test_a_command_at_the_end_is_performed_and_its_refusal_reported(rig: Rig) -> None:
    run = await started(rig.hub)
    rig.puppet.on["closed"] = lambda reason: (
        api.Submit(c.CancelRun(run)),
        api.Submit(c.CancelRun(RunId("north/none"))),
    )
    await rig.go()
    await rig.peer.close(1000)
    await rig.end()
    assert (await describe(rig.hub, run)).state is RunState.CANCELED
    assert ("refused_at_the_end", "not_found") in rig.seen.reports


async def test_a_session_that_ends_is_told_to_its_worker(rig: Rig) -> None:
    rig.puppet.on["opened"] = lambda: (api.AnnounceWorker(worker_info()),)
    rig.puppet.on["reply"] = lambda *_: (api.WorkerReady(),)
    await rig.go()
    await wait_all_tasks_blocked()
    run = await started(rig.hub, "a", c.RunSpec(c.Prompt("x"), session=SessionId("s")))
    await wait_all_tasks_blocked()
    rig.puppet.on["receive"] = lambda frame: (api.Record(run, (e.SessionOpened("native"),)),)
    await rig.peer.send(b"x")
    await wait_all_tasks_blocked()
    await rig.hub.submit(c.EndSession(SessionId("s")))
    assert rig.puppet.named("end_session") == [("native",)]


async def test_I11_an_order_for_a_link_that_is_just_over_is_no_fault_of_the_hub(hub: Hub) -> None:
    """Between the end of a link's last task and its worker's withdrawal the hub may still give
    orders, in whatever turn: nothing that such an order asks for may be begun, or raise."""
    order = c.Order(RunId("north/r"), OrderNumber(1), start_run("r"))
    for _ in range(20):  # tasks take their turns by chance
        async with trio.open_nursery() as nursery:
            rig = Rig(hub, nursery)
            rig.puppet.on["perform"] = lambda order: (api.Annotate(order.run, "note", "v"),)
            await rig.go()
            await rig.peer.close(None)
            while rig.ended is None:
                rig.driver.perform(order)
                await trio.lowlevel.checkpoint()
            assert rig.seen.faults == []


async def test_a_link_that_broke_for_good_is_not_dialled_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken() -> list[bytes]:
        raise LinkBroken("the peer ended it with UNAUTHENTICATED", 16, final=True)

    monkeypatch.setattr(rig.driver.link, "receive_some", broken)
    await rig.go()
    ended = await rig.end()
    assert (ended.reason, ended.retry) == ("the peer ended it with UNAUTHENTICATED", False)
