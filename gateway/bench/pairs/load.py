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
from fleetgate.core.hub_testing import DONE
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import OPERATOR
from fleetgate.core.times import SECOND
from fleetgate.core.worker import InputKind
from fleetgate.gateway.bench.pairs.subject import have_link
from fleetgate.gateway.bench.process import cpu_seconds
from fleetgate.gateway.config import Config
from fleetgate.gateway.fidelity.bridge import LOCAL, Bridge, until
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.transports.api import Link

AT_ONCE: Final = 64
"""Texts that a worker says together, and frames of one write of a relay's load."""

AROUND: Final = 100
"""Bytes that a frame has around its body: rvbox and agency have 110 and 92."""

FIRST: Final = b"\x00first"
"""What the controller's end of a relay sends before anything comes, and what its other end waits
for."""


@attrs.frozen(slots=True)
class Work:
    """So many runs at the same time, and events in all, with texts of `size` bytes of ASCII."""

    runs: int
    events: int
    size: int = 256

    @property
    def each(self) -> int:
        """Events of one run: all alike, so that the last one ends when the others do."""
        return max(1, self.events // max(1, self.runs))


@attrs.frozen(slots=True)
class PairSample:
    """`seconds` are from when the worker began to speak to when the last run's end was at the
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
    """Measures from `begin` until so many ends have come. `subject` is a process."""

    def __init__(self, subject: int, events: int, ends: int) -> None:
        self.done = trio.Event()
        self.arrived = 0
        """Bytes of texts so far."""
        self._subject = subject
        self._events = events
        self._ends = ends
        self._begun = 0
        self._spent = 0.0

    def begin(self) -> None:
        """The first one goes out now."""
        self._begun = time.monotonic_ns()
        self._spent = cpu_seconds(self._subject)

    def end(self) -> None:
        """One of the ends is here."""
        self._ends -= 1
        if not self._ends:
            self._seconds = (time.monotonic_ns() - self._begun) / SECOND
            self.done.set()

    async def sample(self) -> PairSample:
        """Wait for the last end."""
        await self.done.wait()
        spent = cpu_seconds(self._subject) - self._spent
        return PairSample(self._events, self._seconds, spent, self.arrived)


# --- through a gateway


@asynccontextmanager
async def open_ends(
    controller: Config, host: Config, nursery: trio.Nursery
) -> AsyncGenerator[tuple[Bridge, Callable[[], Awaitable[None]]]]:
    """Both ends; those that listen are up, and what comes beside them has the others dial."""
    async with open_memory_journal() as upper, open_memory_journal() as lower:
        near = Member(controller, staying(upper))
        far = Member(host, staying(lower), {LOCAL: frozenset(InputKind)})
        ends = ((near, controller.south[0].listens), (far, host.north[0].listens))

        async def start(*, listening: bool) -> None:
            for member, listens in ends:
                if listens is listening:
                    await nursery.start(member.run)

        await start(listening=True)
        yield Bridge(near, far, far, nursery), partial(start, listening=False)


async def pass_through(bridge: Bridge, subject: int, work: Work) -> PairSample:
    """Have the worker say all of it, and wait until it is at the controller."""
    await bridge.join()
    meter = Meter(subject, work.runs * work.each, work.runs)
    async with trio.open_nursery() as nursery:
        given = [await _start(bridge, nth) for nth in range(work.runs)]
        for nth in range(work.runs):
            nursery.start_soon(_hear, bridge, RunId(f"run-{nth}"), meter)
        nursery.start_soon(_say, bridge, given, work, meter)
        sample = await meter.sample()
        nursery.cancel_scope.cancel()
    return sample


async def _start(bridge: Bridge, nth: int) -> RunId:
    name = f"run-{nth}"
    spec = c.RunSpec(c.Prompt(name, provider="claude"))
    await bridge.controller.hub.submit(c.StartRun(RunId(name), spec, c.Origin(OPERATOR, name)))
    await until(lambda: bool(bridge.starts(name)))
    return bridge.starts(name)[0].run


async def _say(bridge: Bridge, runs: list[RunId], work: Work, meter: Meter) -> None:
    body = e.TextProduced("." * work.size)
    for run in runs:
        bridge.say(run, e.RunStarted())
    meter.begin()
    for at in range(0, work.each, AT_ONCE):
        for run in runs:
            bridge.say(run, *[body] * min(AT_ONCE, work.each - at))
            await bridge.host.hub.wait_room()
    for run in runs:
        bridge.say(run, DONE)


async def _hear(bridge: Bridge, run: RunId, meter: Meter) -> None:
    with bridge.controller.hub.follow(run, Seq(0)) as follower:
        async for batch in follower:
            meter.arrived += sum(map(_body, batch))
            if isinstance(batch[-1].event, e.RunFinished):
                meter.end()
                return


def _body(recorded: e.Recorded) -> int:
    match recorded.event:
        case e.TextProduced(text=text) | e.ToolProgressed(text=text):
            return len(text)
        case e.OutputProduced(data=data):
            return len(data)
        case _:
            return 0


# --- through a relay


async def push_through(controller: Config, host: Config, subject: int, work: Work) -> PairSample:
    """Send as many frames at the lower end, and wait until they are at the upper one."""
    meter = Meter(subject, work.events, 1)

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
