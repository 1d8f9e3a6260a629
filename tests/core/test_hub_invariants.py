"""I1–I8 over anything that may happen: commands, events sent twice, links cut, workers
replaced, the hub restarted on its journal, watchers that come and go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.drawing import examples
from fleetgate.core.errors import Fenced, Refusal, Unavailable
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    describe,
    hub_on,
    read_until,
    start_run,
    worker_info,
)
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.worker import WorkerInfo

RUNS = ("a", "b", "c")


@attrs.define
class World:
    """The hub under test, a worker that keeps its own log of each run, as rvbox daemons do,
    and what must come of it."""

    journal: MemoryJournal
    hub: Hub
    info: WorkerInfo
    worker: HandWorker
    log: dict[RunId, list[e.Event]] = attrs.field(factory=dict)
    begun: set[RunId] = attrs.field(factory=set)
    inputs: dict[RunId, list[bytes]] = attrs.field(factory=dict)
    given: dict[RunId, list[bytes]] = attrs.field(factory=dict)
    keys: int = 0
    free: int | None = None
    fenced: list[HandWorker] = attrs.field(factory=list)

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
            assert order.run not in self.begun, "a run was given out twice"
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


def name(run: str) -> RunId:
    return start_run(run).run


ops = st.one_of(
    st.tuples(st.just("start"), st.sampled_from(RUNS)),
    st.tuples(st.just("say"), st.sampled_from(RUNS), st.text(max_size=3)),
    st.tuples(st.just("end"), st.sampled_from(RUNS)),
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
            stale(world, run)
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
    return True


def stale(world: World, run: RunId) -> None:
    """I7: whatever an older link tries, it is fenced."""
    for old in world.fenced:
        for act in older_acts(old, run):
            with pytest.raises(Fenced):
                act()


def older_acts(old: HandWorker, run: RunId) -> list[Callable[[], object]]:
    return [lambda: old.record(run, DONE), old.ready]


async def check(world: World) -> None:
    for short in RUNS:
        run = name(short)
        stored = await world.journal.read(run, Seq(0), items=10_000, size=1 << 30)
        assert [each.seq for each in stored] == list(range(1, len(stored) + 1)), "I1"
        times = [each.time for each in stored]
        assert times == sorted(times)
        ends = [n for n, each in enumerate(stored) if isinstance(each.event, e.RunFinished)]
        assert ends in ([], [len(stored) - 1]), "I5"
        native = [each.event for each in stored if each.source is not None]
        assert native == world.log.get(run, [])[: len(native)], "I4"
        if stored:
            followed = await read_until(world.hub, run, len(stored))
            assert list(followed) == list(stored), "I1: one sequence for every watcher"
            half = len(stored) // 2
            rest = await read_until(world.hub, run, len(stored), after=half)
            assert list(rest) == list(stored)[half:], "I8"


async def play(numbered: bool, steps: list[tuple[object, ...]]) -> None:
    info = worker_info(numbered_input=numbered)
    async with open_memory_journal() as journal:
        world: World | None = None
        remaining = list(steps)
        while True:
            async with hub_on(journal) as hub:
                if world is None:
                    world = World(journal, hub, info, HandWorker(hub, info))
                    await world.worker.join()
                else:
                    world.hub = hub
                    await world.connect()
                    world.fenced.clear()  # they spoke to the hub that is gone
                while remaining:
                    if await apply(world, remaining.pop(0)):
                        # A hub and its journal end together: nothing of it is in line after.
                        journal.fail(None)
                        await trio.sleep(6)
                        break
                else:
                    await finish(world)
                    return


async def finish(world: World) -> None:
    """Bring the worker back: then everything it knows must be journaled, each input there
    once and in order, and every run able to end."""
    world.journal.fail(None)
    await trio.sleep(6)
    world.free = None
    await world.connect()
    await world.settle()
    await check(world)
    for run in world.begun:
        check_inputs(world, run)
    for run, log in world.log.items():
        world.say(run, DONE)
        await wait_all_tasks_blocked()
        seen = await describe(world.hub, run)
        assert seen.state.terminal
        stored = await world.journal.read(run, Seq(0), items=10_000, size=1 << 30)
        native = [each.event for each in stored if each.source is not None]
        assert native == log, "I3: what was confirmed is what the worker sent"
        assert (
            world.inputs.get(run, []) == world.given.get(run, [])[: len(world.inputs.get(run, []))]
        )
    await check(world)


def check_inputs(world: World, run: RunId) -> None:
    """I6: every accepted input once and in order; at a worker that cannot tell a repeat some
    may be in doubt, and then the run says so."""
    taken, given_ = world.inputs.get(run, []), world.given.get(run, [])
    log = world.log.get(run, [])
    if log and isinstance(log[-1], e.RunFinished):
        assert taken == given_[: len(taken)] or not world.info.numbered_input
    elif world.info.numbered_input:
        assert taken == given_
    else:
        left = iter(given_)
        assert all(each in left for each in taken), "out of order, or twice"


@settings(max_examples=examples(300))
@given(st.booleans(), st.lists(ops, max_size=40))
def test_I1_to_I8_hold_whatever_happens(numbered: bool, steps: list[tuple[object, ...]]) -> None:
    trio.run(play, numbered, steps, clock=MockClock(autojump_threshold=0))
