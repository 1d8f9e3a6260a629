"""The load of a pair's trial: both ends of it, in this process."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import OPERATOR
from fleetgate.core.times import SECOND
from fleetgate.core.worker import InputKind
from fleetgate.gateway.bench.pairs.dam import Basin, Dam, mark_of
from fleetgate.gateway.bench.pairs.saying import AT_ONCE, Work, fill_dam
from fleetgate.gateway.bench.pairs.subject import have_link
from fleetgate.gateway.bench.process import cpu_seconds
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fidelity.bridge import LOCAL, Bridge, until
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.transports.api import Link

AROUND: Final = 100
"""Bytes that a frame has around its body: rvbox and agency have 110 and 92."""

FIRST: Final = b"\x00first"
"""What the controller's end of a relay sends before anything comes, and what its other end waits
for."""


@attrs.frozen(slots=True)
class PairSample:
    """`seconds` are from when the first frame left the worker to when the last text was at the
    controller, `cpu_seconds` the subject's processor time meanwhile. `arrived` is how many bytes
    of texts the controller was given: all, unless a protocol of the pair shows a run's latest
    output from time to time in place of each piece of it."""

    events: int
    seconds: float
    cpu_seconds: float
    arrived: int

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds

    @property
    def cpu_micros(self) -> float:
        """The subject's processor time for an event, in microseconds."""
        return self.cpu_seconds / self.events * 1e6


class Meter:
    """Measures from `begin` to `end`. `subject` is a process."""

    def __init__(self, subject: int, events: int) -> None:
        self.done = trio.Event()
        self.arrived = 0
        """Bytes of texts so far."""
        self._subject = subject
        self._events = events
        self._begun = 0
        self._seconds = 0.0
        self._spent = 0.0

    def begin(self) -> None:
        """The first one goes out now."""
        self._begun = time.monotonic_ns()
        self._spent = cpu_seconds(self._subject)

    def end(self) -> None:
        """The last one is here."""
        self._seconds = (time.monotonic_ns() - self._begun) / SECOND
        self._spent = cpu_seconds(self._subject) - self._spent
        self.done.set()

    async def sample(self) -> PairSample:
        """Wait for the end."""
        await self.done.wait()
        return PairSample(self._events, self._seconds, self._spent, self.arrived)


# --- through a gateway


@attrs.define
class Ends:
    """Controller and worker of a pair, and their links, by the names of their entries."""

    bridge: Bridge
    dams: list[Dam] = attrs.field(factory=list[Dam])
    basins: list[Basin] = attrs.field(factory=list[Basin])

    def wrap(self, entry: Entry, link: Link) -> Link:
        """Put around each link of the two."""
        if entry.facing == "south":
            self.basins.append(Basin(link))
            return self.basins[-1]
        self.dams.append(Dam(link))
        return self.dams[-1]

    async def stop(self) -> None:
        """Be gone."""
        for member in (self.bridge.controller, self.bridge.host):
            await member.stop()


@asynccontextmanager
async def open_ends(
    controller: Config, host: Config, nursery: trio.Nursery
) -> AsyncGenerator[tuple[Ends, Callable[[], Awaitable[None]]]]:
    """Both ends; those that listen are up, and what comes beside them has the others dial."""
    async with open_memory_journal() as upper, open_memory_journal() as lower:
        near = Member(controller, staying(upper))
        far = Member(host, staying(lower), {LOCAL: frozenset(InputKind)})
        ends = Ends(Bridge(near, far, far, nursery))
        near.wrap = far.wrap = ends.wrap

        async def start(*, listening: bool) -> None:
            for member, entry in ((near, controller.south[0]), (far, host.north[0])):
                if entry.listens is listening:
                    await nursery.start(member.run)

        await start(listening=True)
        yield ends, partial(start, listening=False)


async def pass_through(
    ends: Ends,
    subject: int,
    work: Work,
    before: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint,
    behind: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint,
) -> PairSample:
    """Have the worker say all of it, pour that out, and wait until it is at the controller. What is
    measured ends there; the controller then reads it. `before` is done once it can be poured out,
    and `behind` once it was measured."""
    bridge = ends.bridge
    await bridge.join()
    runs = await _start(bridge, work.runs)
    for run in runs:
        bridge.say(run, e.RunStarted())
    await fill_dam(bridge, ends.dams[-1], runs, work)
    meter = Meter(subject, work.runs * work.each)
    ends.basins[-1].fill(work.runs, meter.end)
    await before()
    meter.begin()
    await ends.dams[-1].pour(AT_ONCE)
    sample = await meter.sample()
    await behind()
    async with trio.open_nursery() as nursery:
        for nth in range(work.runs):
            nursery.start_soon(_read, bridge, nth, meter)
    return attrs.evolve(sample, arrived=meter.arrived)


async def _start(bridge: Bridge, count: int) -> list[RunId]:
    """Start so many runs; the worker's ids of them, once it has all."""
    names = [f"run-{nth}" for nth in range(count)]
    for name in names:
        spec = c.RunSpec(c.Prompt(name, provider="claude"))
        start = c.StartRun(RunId(name), spec, c.Origin(OPERATOR, name))
        await bridge.controller.hub.submit(start)
    for name in names:
        await until(partial(_began, bridge, name))
    return [bridge.starts(name)[0].run for name in names]


def _began(bridge: Bridge, name: str) -> bool:
    return bool(bridge.starts(name))


async def _read(bridge: Bridge, nth: int, meter: Meter) -> None:
    """Read a run at the controller, up to its last text."""
    mark, tail = mark_of(nth).decode(), ""
    with bridge.controller.hub.follow(RunId(f"run-{nth}"), Seq(0)) as follower:
        async for batch in follower:
            text = "".join(map(_body, batch))
            meter.arrived += len(text)
            tail = tail[-len(mark) :] + text
            if mark in tail:
                return


def _body(recorded: e.Recorded) -> str:
    match recorded.event:
        case e.TextProduced(text=text) | e.ToolProgressed(text=text):
            return text
        case e.OutputProduced(data=data):
            return data.decode()
        case _:
            return ""


# --- through a relay


async def push_through(controller: Config, host: Config, subject: int, work: Work) -> PairSample:
    """Send as many frames at the lower end, and wait until they are at the upper one."""
    meter = Meter(subject, work.events)

    async def send(link: Link) -> None:
        await link.receive()
        frames = [b"." * (work.size + AROUND)] * AT_ONCE
        meter.begin()
        for at in range(0, work.events, AT_ONCE):
            await link.send_some(frames[: work.events - at])
        await meter.done.wait()

    async def hear(link: Link) -> None:
        await link.send(FIRST)
        left = work.events
        while left:
            frames = await link.receive_some()
            left -= len(frames)
            meter.arrived += len(frames) * work.size
        meter.end()

    async with trio.open_nursery() as nursery:
        await nursery.start(have_link, controller.south[0], hear)
        await nursery.start(have_link, host.north[0], send)
        sample = await meter.sample()
        nursery.cancel_scope.cancel()
    return sample
