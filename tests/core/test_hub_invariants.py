"""I1 to I10 and I12 over anything that may happen: commands, events sent twice, links cut, workers
replaced, the hub restarted on its journal, commits that fail, watchers that come and go. I11 is
the driver's: tests/gateway/test_connection.py.

One world serves I1 to I8: each of them is a `Check` that watches it, and sees nothing but its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.drawing import examples
from fleetgate.core.errors import Conflict, Fenced, Refusal, Unavailable
from fleetgate.core.events import RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    RecordingPort,
    describe,
    hub_on,
    read_until,
    start_run,
    worker_info,
)
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.journal.api import JournalConflict
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.queued import committing
from fleetgate.core.journal.rows import Row
from fleetgate.core.limits import Limits
from fleetgate.core.run import Run
from fleetgate.core.worker import WorkerInfo

RUNS = ("a", "b", "c")


class Disk(MemoryJournal):
    """A journal whose commits take `delay` seconds, so that much is in line meanwhile."""

    delay: float = 0

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        if self.delay:
            await trio.sleep(self.delay)
        return await super().store(groups)


class Check:
    """What one invariant wants to see."""

    watchers = 1
    """Of each run; all but the first take their time."""

    def answered(self, world: World, command: c.Command, key: str | None) -> None:
        """The hub accepted a command, just now."""

    def handed(self, world: World, order: c.Order) -> None:
        """The worker's port is given an order."""

    def confirmed(self, world: World, run: RunId, native_seq: int) -> None:
        """The worker's port is told what is durable."""

    def delivered(self, world: World, watcher: object, batch: Sequence[e.Recorded]) -> None:
        """A watcher gets events."""

    def given_twice(self, run: RunId) -> None:
        """The worker is given a run that it was given before."""

    def stale(self, world: World, run: RunId) -> None:
        """There may be older links, which still talk."""

    async def settled(self, world: World, run: RunId, stored: Sequence[e.Recorded]) -> None:
        """All is quiet, and `stored` is what the journal has of a run."""

    async def ending(self, world: World) -> None:
        """The worker is back, and has taken all that it was given."""

    async def over(self, world: World) -> None:
        """Every run has been ended by its worker."""


@attrs.define
class WatchedPort(RecordingPort):
    """A port that a check looks at."""

    world: World | None = None

    def perform(self, order: c.Order) -> None:
        super().perform(order)
        if self.world is not None:
            self.world.check.handed(self.world, order)

    def committed(self, run: RunId, native_seq: int) -> None:
        super().committed(run, native_seq)
        if self.world is not None:
            self.world.check.confirmed(self.world, run, native_seq)


@attrs.define
class World:
    """The hub under test, a worker that keeps its own log of each run, as rvbox daemons do,
    and what must come of it."""

    journal: Disk
    hub: Hub
    info: WorkerInfo
    worker: HandWorker
    check: Check
    log: dict[RunId, list[e.Event]] = attrs.field(factory=dict)
    begun: set[RunId] = attrs.field(factory=set)
    inputs: dict[RunId, list[bytes]] = attrs.field(factory=dict)
    given: dict[RunId, list[bytes]] = attrs.field(factory=dict)
    keys: int = 0
    free: int | None = None
    fenced: list[HandWorker] = attrs.field(factory=list)
    accepted: list[tuple[c.Command, str | None]] = attrs.field(factory=list)
    opened: dict[RunId, trio.Event] = attrs.field(
        factory=lambda: {name(short): trio.Event() for short in RUNS}
    )

    def kept(self, run: RunId) -> Run | None:
        """The run as it is durable at this very moment."""
        kept = self.journal._runs.get(run)
        return None if kept is None else kept.run()

    def knows(self, run: RunId, key: str) -> bool:
        """Whether a key is durable at this very moment."""
        kept = self.journal._runs.get(run)
        return kept is not None and key in kept.keys

    async def watch(self) -> None:
        """Follow every run from its start, until cancelled."""
        async with trio.open_nursery() as nursery:
            for short in RUNS:
                for which in range(self.check.watchers):
                    nursery.start_soon(self._follow, name(short), which)

    async def _follow(self, run: RunId, which: int) -> None:
        await self.opened[run].wait()
        with self.hub.follow(run, Seq(0)) as follower:
            async for batch in follower:
                self.check.delivered(self, follower, batch)
                await trio.sleep(which)

    async def settle(self) -> None:
        """Let the worker take what it was handed."""
        await wait_all_tasks_blocked()
        self.take_all()

    def take_all(self) -> None:
        for order in self.worker.port.orders:
            self.take(order)
        self.worker.port.orders.clear()

    def take(self, order: c.Order) -> None:
        if isinstance(order.command, c.StartRun):
            if order.run in self.begun:
                self.check.given_twice(order.run)
            self.begun.add(order.run)
            self.log[order.run] = []
        elif isinstance(order.command, c.SendInput):
            assert order.run in self.begun, "an input came before the start of its run"
            got = self.inputs.setdefault(order.run, [])
            if self.info.numbered_input and order.input <= len(got):
                return  # a repeat, which this kind of worker can tell
            got.append(order.command.data)

    async def connect(self) -> None:
        """A new link of the worker: it takes what is held and sends its log again."""
        self.take_all()  # what reached it before the link was cut
        newer = HandWorker(self.hub, self.info)
        newer.port = WatchedPort(world=self)
        admission = await newer.admit()
        self.take_all()
        self.fenced.append(self.worker)
        self.worker = newer
        for held in admission.held:
            if held.run.id not in self.begun:
                self.begun.add(held.run.id)
                self.log[held.run.id] = []
            for order in held.orders:
                self.take(order)
            self.resend(held.run.id, 0)
        self.worker.ready(self.free)
        await self.settle()

    def resend(self, run: RunId, start: int) -> None:
        for seq, event in enumerate(self.log[run][start:], start + 1):
            self.worker.record(run, event, seq=seq)

    def say(self, run: RunId, event: e.Event) -> None:
        log = self.log.get(run)
        if log is None or (log and isinstance(log[-1], e.RunFinished)):
            return
        log.append(event)
        with suppress(Fenced):  # the link is down: the log is sent again at the next connect
            self.worker.record(run, event, seq=len(log))

    def say_late(self, run: RunId) -> None:
        """Something behind the end, which must go nowhere."""
        log = self.log.get(run)
        if log and isinstance(log[-1], e.RunFinished):
            with suppress(Fenced):
                self.worker.record(run, e.TextProduced("late"), seq=len(log) + 1)


def name(run: str) -> RunId:
    return start_run(run).run


ops = st.one_of(
    st.tuples(st.just("start"), st.sampled_from(RUNS)),
    st.tuples(st.just("say"), st.sampled_from(RUNS), st.text(max_size=3)),
    st.tuples(st.just("end"), st.sampled_from(RUNS)),
    st.tuples(st.just("late"), st.sampled_from(RUNS)),
    st.tuples(st.just("again"), st.sampled_from(RUNS)),
    st.tuples(st.just("input"), st.sampled_from(RUNS), st.booleans()),
    st.tuples(st.just("took"), st.sampled_from(RUNS)),
    st.tuples(st.just("cancel"), st.sampled_from(RUNS)),
    st.tuples(st.just("cut")),
    st.tuples(st.just("connect")),
    st.tuples(st.just("stale"), st.sampled_from(RUNS)),
    st.tuples(st.just("restart")),
    st.tuples(st.just("room"), st.sampled_from([0, 1, 2, None])),
    st.tuples(st.just("settle")),
    st.tuples(st.just("fail"), st.booleans()),
    st.tuples(st.just("slow"), st.booleans()),
)


async def apply(world: World, op: tuple[object, ...]) -> bool:
    """Do one thing. True: the hub must be restarted."""
    kind, *rest = op
    run = name(str(rest[0])) if rest and rest[0] in RUNS else RunId("")
    match kind:
        case "start":
            await quietly(world, start_run(str(rest[0])))
        case "say":
            world.say(run, e.TextProduced(str(rest[1])))
        case "end":
            world.say(run, DONE)
            world.say_late(run)
        case "late":
            world.say_late(run)
        case "slow":
            world.journal.delay = 0.05 if rest[0] else 0
        case "again" if run in world.log:
            with suppress(Fenced):
                world.resend(run, 0)
        case "input":
            await send(world, run, bool(rest[1]))
        case "took":
            world.say(run, e.InputAccepted(len(world.inputs.get(run, []))))
        case "cancel":
            await quietly(world, c.CancelRun(run))
        case "room":
            await room(world, rest[0])
        case "fail":
            world.journal.fail("disk full" if rest[0] else None)
        case _:
            await apply_to_links(world, str(kind), run)
    return kind == "restart"


async def room(world: World, free: object) -> None:
    assert free is None or isinstance(free, int)
    world.free = free
    with suppress(Fenced):
        world.hub.report_capacity(world.info.id, world.worker.epoch, free)


async def apply_to_links(world: World, kind: str, run: RunId) -> None:
    match kind:
        case "cut":
            world.worker.leave()
        case "connect":
            with suppress(Unavailable):
                await world.connect()
        case "settle":
            await world.settle()
        case "stale":
            world.check.stale(world, run)
        case _:
            assert kind in ("restart", "again")


async def send(world: World, run: RunId, twice: bool) -> None:
    world.keys += 1
    data = str(world.keys).encode()
    for _ in range(1 + twice):
        if await quietly(world, c.SendInput(run, data), key=data.decode()):
            given_ = world.given.setdefault(run, [])
            if data not in given_:
                given_.append(data)


async def quietly(world: World, command: c.Command, key: str | None = None) -> bool:
    try:
        await world.hub.submit(command, key)
    except Refusal:
        return False
    world.check.answered(world, command, key)
    world.accepted.append((command, key))
    if isinstance(command, c.StartRun):
        world.opened[command.run].set()
    return True


async def settled(world: World) -> None:
    for short in RUNS:
        run = name(short)
        stored = await world.journal.read(run, Seq(0), items=10_000, size=1 << 30)
        await world.check.settled(world, run, stored)


Steps = list[tuple[object, ...]]


def play(check: Check, numbered: bool, steps: Steps) -> None:
    trio.run(_play, check, numbered, steps, clock=MockClock(autojump_threshold=0))


async def _play(check: Check, numbered: bool, steps: Steps) -> None:
    info = worker_info(numbered_input=numbered)
    async with committing(Disk()) as journal:
        world: World | None = None
        remaining = list(steps)
        while True:
            async with hub_on(journal) as hub, trio.open_nursery() as nursery:
                if world is None:
                    world = World(journal, hub, info, HandWorker(hub, info), check)
                    world.worker.port = WatchedPort(world=world)
                    await world.worker.join()
                else:
                    world.hub = hub
                    await world.connect()
                    world.fenced.clear()  # they spoke to the hub that is gone
                nursery.start_soon(world.watch)
                while remaining:
                    if await apply(world, remaining.pop(0)):
                        # A hub and its journal end together: nothing of it is in line after.
                        journal.fail(None)
                        journal.delay = 0
                        await trio.sleep(6)
                        break
                else:
                    await finish(world)
                    nursery.cancel_scope.cancel()
                    return
                nursery.cancel_scope.cancel()


async def finish(world: World) -> None:
    """Bring the worker back, look, and let it end every run."""
    world.journal.fail(None)
    world.journal.delay = 0
    await trio.sleep(6)
    world.free = None
    await world.connect()
    await world.settle()
    await settled(world)
    await world.check.ending(world)
    for run in list(world.log):
        world.say(run, DONE)
        await wait_all_tasks_blocked()
    await settled(world)
    await world.check.over(world)


begun: Steps = [("start", "a"), ("start", "b"), ("settle",)]
anything = st.lists(ops, max_size=40)
busy = st.lists(ops, min_size=10, max_size=40).map(lambda steps: [*begun, *steps])
whatever = given(st.booleans(), st.one_of(busy, busy, anything))


# --- the invariants of the world


class OneSequence(Check):
    watchers = 2

    def __init__(self) -> None:
        self._seen: dict[object, list[e.Recorded]] = {}

    def delivered(self, world: World, watcher: object, batch: Sequence[e.Recorded]) -> None:
        self._seen.setdefault(watcher, []).extend(batch)

    async def settled(self, world: World, run: RunId, stored: Sequence[e.Recorded]) -> None:
        assert [each.seq for each in stored] == list(range(1, len(stored) + 1))
        times = [each.time for each in stored]
        assert times == sorted(times)
        if stored:
            assert list(await read_until(world.hub, run, len(stored))) == list(stored)
        for seen in self._seen.values():
            if seen[0].run == run:
                assert seen == list(stored)[: len(seen)]


@settings(max_examples=examples(50))
@whatever
def test_i1_a_run_has_one_sequence_for_everybody(numbered: bool, steps: Steps) -> None:
    play(OneSequence(), numbered, steps)


class DurableThenVisible(Check):
    def answered(self, world: World, command: c.Command, key: str | None) -> None:
        assert isinstance(command, c.StartRun | c.SendInput | c.CancelRun)
        kept = world.kept(command.run)
        assert kept is not None
        assert kept.canceling or not isinstance(command, c.CancelRun)
        assert key is None or world.knows(command.run, key)
        self._look(world)

    def confirmed(self, world: World, run: RunId, native_seq: int) -> None:
        self._look(world)

    def _look(self, world: World) -> None:
        for run, slot in world.hub._ledger.slots.items():
            kept = world.kept(run)
            assert kept is not None
            assert kept.last_seq >= slot.seen().last_seq

    def handed(self, world: World, order: c.Order) -> None:
        kept = world.kept(order.run)
        assert kept is not None
        assert kept.worker == world.info.id
        assert kept.orders >= order.number

    def delivered(self, world: World, watcher: object, batch: Sequence[e.Recorded]) -> None:
        kept = world.kept(batch[0].run)
        assert kept is not None
        assert kept.last_seq >= batch[-1].seq


@settings(max_examples=examples(50))
@whatever
def test_i2_nothing_is_seen_or_answered_before_it_is_durable(numbered: bool, steps: Steps) -> None:
    play(DurableThenVisible(), numbered, steps)


class DurableThenAcknowledged(Check):
    def confirmed(self, world: World, run: RunId, native_seq: int) -> None:
        kept = world.kept(run)
        assert kept is not None
        assert kept.native_seq >= native_seq

    async def over(self, world: World) -> None:
        for run, log in world.log.items():
            stored = await world.journal.read(run, Seq(0), items=10_000, size=1 << 30)
            assert [each.event for each in stored if each.source is not None] == log


@settings(max_examples=examples(50))
@whatever
def test_i3_what_is_confirmed_to_a_worker_is_durable(numbered: bool, steps: Steps) -> None:
    play(DurableThenAcknowledged(), numbered, steps)


class Once(Check):
    async def settled(self, world: World, run: RunId, stored: Sequence[e.Recorded]) -> None:
        native = [each for each in stored if each.source is not None]
        numbers = [each.source.seq for each in native if each.source is not None]
        assert numbers == list(range(1, len(numbers) + 1))
        assert [each.event for each in native] == world.log.get(run, [])[: len(native)]


@settings(max_examples=examples(50))
@whatever
def test_i4_an_event_that_is_sent_again_is_recorded_once(numbered: bool, steps: Steps) -> None:
    play(Once(), numbered, steps)


class OneEnd(Check):
    async def settled(self, world: World, run: RunId, stored: Sequence[e.Recorded]) -> None:
        ends = [n for n, each in enumerate(stored) if isinstance(each.event, e.RunFinished)]
        assert ends in ([], [len(stored) - 1])

    async def over(self, world: World) -> None:
        started = {command.run for command, _ in world.accepted if isinstance(command, c.StartRun)}
        for run in started:
            assert (await describe(world.hub, run)).state.terminal


@settings(max_examples=examples(50))
@whatever
def test_i5_every_accepted_run_has_one_end_and_nothing_behind_it(
    numbered: bool, steps: Steps
) -> None:
    play(OneEnd(), numbered, steps)


class Idempotent(Check):
    """Every input that was accepted reaches the worker once and in order; at one that cannot tell
    a repeat some may be in doubt. Whatever was accepted is accepted again, and nothing happens."""

    def given_twice(self, run: RunId) -> None:
        raise AssertionError(f"{run} was given out twice")

    async def ending(self, world: World) -> None:
        for run in world.begun:
            taken, sent = world.inputs.get(run, []), world.given.get(run, [])
            log = world.log[run]
            if not world.info.numbered_input:
                left = iter(sent)
                assert all(each in left for each in taken), "out of order, or twice"
            elif log and isinstance(log[-1], e.RunFinished):
                assert taken == sent[: len(taken)]
            else:
                assert taken == sent

    async def over(self, world: World) -> None:
        await self._again(world)
        before = [world.kept(name(short)) for short in RUNS]
        await self._again(world)
        assert [world.kept(name(short)) for short in RUNS] == before

    async def _again(self, world: World) -> None:
        for command, key in world.accepted:
            assert isinstance(await world.hub.submit(command, key), Accepted)
            if isinstance(command, c.StartRun):
                other = attrs.evolve(command.spec, labels={"another": "request"})
                with pytest.raises(Conflict):
                    await world.hub.submit(attrs.evolve(command, spec=other))
        await wait_all_tasks_blocked()


@settings(max_examples=examples(50))
@whatever
def test_i6_what_is_asked_again_is_performed_once(numbered: bool, steps: Steps) -> None:
    play(Idempotent(), numbered, steps)


class OldLinksAreFenced(Check):
    def stale(self, world: World, run: RunId) -> None:
        for old in world.fenced:
            handed = len(old.port.orders)
            for act in self._acts(world, old, run):
                with pytest.raises(Fenced):
                    act()
            old.leave()
            assert world.hub.worker(world.info.id).epoch >= old.epoch
            assert len(old.port.orders) == handed

    def _acts(self, world: World, old: HandWorker, run: RunId) -> list[Callable[[], object]]:
        id, epoch = world.info.id, old.epoch
        return [
            lambda: old.record(run, DONE),
            old.ready,
            lambda: old.settle(run, OrderNumber(1)),
            lambda: world.hub.report_capacity(id, epoch, 5),
        ]

    def handed(self, world: World, order: c.Order) -> None:
        assert not any(order in old.port.orders for old in world.fenced)

    async def settled(self, world: World, run: RunId, stored: Sequence[e.Recorded]) -> None:
        epochs = [each.source.epoch for each in stored if each.source is not None]
        assert epochs == sorted(epochs)
        self.stale(world, run)


@settings(max_examples=examples(50))
@whatever
def test_i7_an_older_link_can_do_nothing(numbered: bool, steps: Steps) -> None:
    play(OldLinksAreFenced(), numbered, steps)


class ACursorNotAQueue(Check):
    async def settled(self, world: World, run: RunId, stored: Sequence[e.Recorded]) -> None:
        for after in {0, len(stored) // 2, len(stored) - 1} if stored else ():
            rest = await read_until(world.hub, run, len(stored), after=after)
            assert list(rest) == list(stored)[after:]
        slot = world.hub._ledger.slots.get(run)
        if slot is not None and slot.followers == 1:
            await wait_all_tasks_blocked()
            assert not slot.tail, "its one watcher has all of it"


@settings(max_examples=examples(50))
@whatever
def test_i8_a_watcher_is_a_cursor_and_leaves_nothing_behind(numbered: bool, steps: Steps) -> None:
    play(ACursorNotAQueue(), numbered, steps)


# --- those that have a world of their own


TIGHT = Limits(open_runs=2, run_orders=3, run_keys=2, workers=2, run_input=6, order_size=4)
pushes = st.one_of(
    st.tuples(st.just("start"), st.sampled_from("abcd")),
    st.tuples(st.just("input"), st.sampled_from("abcd"), st.integers(0, 6)),
    st.tuples(st.just("signal"), st.sampled_from("abcd")),
    st.tuples(st.just("cancel"), st.sampled_from("abcd")),
    st.tuples(st.just("worker"), st.sampled_from("uvwx")),
    st.tuples(st.just("took"), st.sampled_from("abcd")),
)


def command_of(push: tuple[object, ...]) -> c.Command:
    kind, short, *rest = push
    run = name(str(short))
    match kind, rest:
        case "start", _:
            return start_run(str(short))
        case "input", [int(size)]:
            return c.SendInput(run, bytes(size))
        case "signal", _:
            return c.SignalRun(run, c.Signal.INTERRUPT)
        case _:
            return c.CancelRun(run)


async def push_all(drawn: list[tuple[object, ...]]) -> None:
    async with open_memory_journal() as journal, hub_on(journal, TIGHT) as hub:
        workers: dict[str, HandWorker] = {}
        for at, push in enumerate(drawn):
            with suppress(Refusal):
                if push[0] == "worker":
                    worker = HandWorker(hub, worker_info(str(push[1]), numbered_input=True))
                    await worker.join()
                    workers[str(push[1])] = worker
                elif push[0] == "took":
                    for worker in workers.values():
                        with suppress(Fenced):
                            worker.record(name(str(push[1])), e.InputAccepted(1 << 40))
                else:
                    await hub.submit(command_of(push), key=str(at))
            await wait_all_tasks_blocked()
            await within_bounds(hub, journal)


async def within_bounds(hub: Hub, journal: MemoryJournal) -> None:
    slots = hub._ledger.slots.values()
    assert len(slots) <= TIGHT.open_runs
    assert len(hub._roster.workers) <= TIGHT.workers
    for slot in slots:
        assert len(slot.orders) <= TIGHT.run_orders
        assert len(slot.keys) <= TIGHT.run_keys
        orders = [open_.order.command for open_ in slot.orders.values()]
        inputs = [len(each.data) for each in orders if isinstance(each, c.SendInput)]
        assert sum(inputs) <= TIGHT.run_input
        assert max(inputs, default=0) <= TIGHT.order_size
    for known in await journal.open_runs():
        assert len(known.keys) <= TIGHT.run_keys
        assert len(known.orders) <= TIGHT.run_orders


@settings(max_examples=examples(50))
@given(st.lists(pushes, max_size=40))
def test_i9_whoever_pushes_every_table_stays_in_its_bounds(
    drawn: list[tuple[object, ...]],
) -> None:
    trio.run(push_all, drawn, clock=MockClock(autojump_threshold=0))


told = st.one_of(
    st.text(st.characters(categories=["L", "Cs"]), max_size=4).map(e.TextProduced),
    st.just(e.RunStarted()),
    st.sampled_from([RunState.STARTING, RunState.RUNNING]).map(lambda s: e.StateChanged(s, "x")),
    st.integers(0, 1 << 70).map(e.InputAccepted),
    st.sampled_from(["s", "\ud83d"]).map(e.SessionOpened),
)


async def tell(reports: list[list[e.Event]]) -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        await hub.submit(start_run())
        await wait_all_tasks_blocked()
        run = start_run().run
        for seq, report in enumerate(reports, 1):
            worker.record(run, *report, seq=seq)
        await wait_all_tasks_blocked()
        stored = await journal.read(run, Seq(0), items=10_000, size=1 << 30)
        said = [event for report in reports for event in report]
        kept = [each.event for each in stored[1:]]
        assert len(kept) == len(said)
        for event, there in zip(said, kept, strict=True):
            assert there == event or isinstance(there, e.Diagnosed)
            plain = isinstance(event, e.TextProduced) and event.text.isalpha()
            assert there == event or not plain, "what can be recorded is"


@settings(max_examples=examples(50))
@given(st.lists(st.lists(told, min_size=1, max_size=4), max_size=10))
def test_i10_every_event_is_recorded_or_something_in_its_place_says_why_not(
    reports: list[list[e.Event]],
) -> None:
    trio.run(tell, reports)


links = st.sampled_from(["north", "south"])
deeds = st.tuples(links, st.sampled_from("ab"), st.sampled_from(["start", "cancel", "stop"]))


async def two_links(drawn: list[tuple[str, str, str]]) -> None:
    """What each link does has its effect on its own runs, whatever they are called."""
    states: dict[tuple[str, str], RunState] = {}
    stopped: set[str] = set()
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        for link, native, deed in drawn:
            start = start_run(native, link=link)
            with suppress(Refusal):
                if deed == "start":
                    await hub.submit(start)
                elif deed == "cancel":
                    await hub.submit(c.CancelRun(start.run))
                else:
                    await hub.submit(c.StopLink(link, c.StopMode.TERMINATE))
            mine = states.get((link, native))
            if deed == "start" and mine is None and link not in stopped:
                states[link, native] = RunState.QUEUED
            elif deed == "cancel" and mine is not None:
                states[link, native] = RunState.CANCELED
            elif deed == "stop":
                stopped.add(link)
                states |= {key: RunState.CANCELED for key in states if key[0] == link}
        for link in ("north", "south"):
            found = await hub.submit(c.ListRuns(link))
            assert isinstance(found, RunList)
            assert {(run.origin.link, run.origin.native_run): run.state for run in found.runs} == {
                key: state for key, state in states.items() if key[0] == link
            }


@settings(max_examples=examples(50))
@given(st.lists(deeds, max_size=12))
def test_i12_a_native_name_means_another_run_on_another_link(
    drawn: list[tuple[str, str, str]],
) -> None:
    trio.run(two_links, drawn, clock=MockClock(autojump_threshold=0))
