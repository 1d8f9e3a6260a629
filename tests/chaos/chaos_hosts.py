"""The workers of the kill loop: four processes, which are killed and begin anew, and what came of
them by the books that they keep."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio
from chaos_book import Line, read_book
from chaos_lives import Blow, Ended
from chaos_site import GRACE, Site

from fleetgate.core.times import SECOND
from fleetgate.gateway.demo.every.speakers import SPEAKERS

PROTOCOLS = tuple(speaker.protocol for speaker in SPEAKERS)
LOOK_EVERY = 0.1
NEVER = 1 << 62
HARDLY = 0.6
"""How much of a grace a peer must have been there, or it may have been given up: it is noticed late
that it went, its link is there before it has said who it is, and it takes a moment to speak of its
runs. On a machine that has much else to do each of these takes seconds."""


def missed(ups: Sequence[int], downs: Sequence[int], now: int) -> bool:
    """Whether a peer was hardly there within the grace before an instant. Its links are one at a
    time; `downs` may have one fewer than `ups`."""
    since = now - round(GRACE * SECOND)
    spans = zip(ups, [*downs, now], strict=False)
    there = sum(max(0, min(down, now) - max(up, since)) for up, down in spans)
    return there < HARDLY * GRACE * SECOND


@attrs.define
class Hosts:
    """Starts and kills them. `blows` are kills by protocol: the first ended the first life."""

    site: Site
    blows: dict[str, list[Blow]] = attrs.field(factory=lambda: defaultdict[str, list[Blow]](list))
    _processes: dict[str, trio.Process] = attrs.field(factory=dict[str, trio.Process])

    async def start(self, protocol: str) -> None:
        """Begin a life of a worker, and wait until it takes runs."""
        life = len(self.blows[protocol])
        with self.log(protocol).open("ab") as log:
            self._processes[protocol] = await trio.lowlevel.open_process(
                [
                    *(sys.executable, "-P", str(Path(__file__).with_name("chaos_host.py"))),
                    *(str(self.site.stage.root), protocol, str(life)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.site.environment},
                start_new_session=True,
            )

    async def kill(self, protocol: str) -> Blow:
        """Kill a worker by SIGKILL; the next life begins at once.

        Raises: `Ended`, where it had ended by itself.
        """
        process = self._processes[protocol]
        self.look()
        before = time.time_ns()
        process.kill()
        await process.wait()
        blow = Blow(before, time.time_ns(), f"worker {protocol}")
        self.blows[protocol].append(blow)
        await self.start(protocol)
        return blow

    async def wait_at_work(self, protocol: str, seconds: float) -> None:
        """Wait until a worker is at a run, but no longer than so."""
        with trio.move_on_after(seconds):
            while not under_way(read_book(self._book(protocol)), len(self.blows[protocol])):  # noqa: ASYNC110 - as `until`
                await trio.sleep(LOOK_EVERY)

    def look(self) -> None:
        """Raises: `Ended`, where one has ended by itself."""
        for protocol, process in self._processes.items():
            if process.returncode is not None:
                last = self.log(protocol).read_text(errors="replace")[-2000:]
                raise Ended(f"the worker of {protocol} ended by itself\n{last}")

    def log(self, protocol: str) -> Path:
        """What a worker's lives had to say; it should be nothing."""
        return self.site.stage.root / f"{protocol}.log"

    def books(self) -> dict[str, Shelf]:
        """What they wrote down."""
        return {
            protocol: shelf_of(read_book(self._book(protocol)), self.blows[protocol])
            for protocol in PROTOCOLS
        }

    def _book(self, protocol: str) -> Path:
        return self.site.stage.root / f"{protocol}.book"

    def faults(self) -> list[str]:
        """What they said that they should not."""
        logs = {each: self.log(each) for each in PROTOCOLS}
        return [
            f"the worker of {protocol} said: {text[-500:]}"
            for protocol, log in logs.items()
            if log.exists() and (text := log.read_text(errors="replace").strip())
        ]

    async def end(self) -> None:
        """All of them go."""
        with trio.CancelScope(shield=True):
            for process in self._processes.values():
                if process.returncode is None:
                    process.kill()
                await process.wait()


@asynccontextmanager
async def open_hosts(site: Site) -> AsyncGenerator[Hosts]:
    """All four, at work."""
    hosts = Hosts(site)
    try:
        for protocol in PROTOCOLS:
            await hosts.start(protocol)
        yield hosts
    finally:
        await hosts.end()


@attrs.frozen
class Work:
    """What a worker did for one task: the lives in which it began it, when (Unix nanoseconds), and
    those in which it came to an end."""

    began: tuple[tuple[int, int], ...] = ()
    over: frozenset[int] = frozenset()

    @property
    def executed(self) -> int:
        """How often it was begun."""
        return len(self.began)

    def cut(self, lives: int) -> bool:
        """Whether it was under way as the worker was killed, the last time that it was begun.
        `lives` are those that were ended so."""
        return bool(self.began) and self.began[-1][0] < lives and self.began[-1][0] not in self.over


@attrs.define
class Shelf:
    """One worker's book, read. `said`: when each marked line went out; `ups` and `downs`: of its
    links, which end with its lives."""

    work: dict[str, Work] = attrs.field(factory=lambda: defaultdict[str, Work](Work))
    got: dict[str, list[bytes]] = attrs.field(factory=lambda: defaultdict[str, list[bytes]](list))
    said: dict[str, list[int]] = attrs.field(factory=lambda: defaultdict[str, list[int]](list))
    ups: list[int] = attrs.field(factory=list[int])
    downs: list[int] = attrs.field(factory=list[int])
    faults: list[str] = attrs.field(factory=list[str])

    def missed(self, now: int) -> bool:
        """See `missed`."""
        return missed(self.ups, self.downs, now)

    def falls(self, blows: Iterable[Blow]) -> list[Blow]:
        """Its kills, each until its next link was there: until then the gateway may not have
        noticed, and what it gave out meanwhile went nowhere."""
        return [attrs.evolve(each, after=self._back(each.after)) for each in blows]

    def _back(self, after: int) -> int:
        return next((up for up in self.ups if up > after), NEVER)

    def take(self, line: Line) -> None:
        """One more."""
        work = self.work[line.of] if line.what in ("began", "over") else Work()
        match line.what:
            case "began":
                began = (*work.began, (line.life, line.at))
                self.work[line.of] = attrs.evolve(work, began=began)
            case "over":
                self.work[line.of] = attrs.evolve(work, over=work.over | {line.life})
            case "got":
                self.got[line.of].append(line.data.encode())
            case "said":
                self.said[line.of].append(line.at)
            case "up":
                self.ups.append(line.at)
            case "down":
                self.downs.append(line.at)
            case "fault":
                self.faults.append(line.of)


def shelf_of(lines: Iterable[Line], blows: Sequence[Blow]) -> Shelf:
    """Read a book. Where a life was killed, its link ended then."""
    shelf, life = Shelf(), 0
    for line in lines:
        while life < line.life:
            shelf.downs += [blows[life].before] * (len(shelf.ups) - len(shelf.downs))
            life += 1
        shelf.take(line)
    return shelf


def under_way(lines: Iterable[Line], life: int) -> bool:
    """Whether a worker is at a run in this life."""
    begun = Counter[str]()
    for line in lines:
        if line.life == life and line.what in ("began", "over"):
            begun[line.of] += 1 if line.what == "began" else -1
    return any(begun.values())


def repeats(shelves: Iterable[Shelf], stored: dict[str, int]) -> int:
    """How many lines workers said again that the gateway had recorded by then."""
    return sum(
        sum(at > stored.get(line, 1 << 63) for at in times[1:])
        for shelf in shelves
        for line, times in shelf.said.items()
    )


def executions(work: Work) -> Counter[int]:
    """How often it was begun in each life."""
    return Counter(life for life, _ in work.began)
