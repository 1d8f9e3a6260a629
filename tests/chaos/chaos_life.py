"""A gateway that can be killed in one process: a journal whose disk outlives it, and links that
fall silent in the instant of its death, whatever its code still does on its way out."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from fleetgate.core.journal.api import Journal, JournalConflict, JournalFailing
from fleetgate.core.journal.memory import MemoryJournal
from fleetgate.core.journal.queued import committing
from fleetgate.core.journal.rows import Row
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.recording.witness import Witness, our_part
from fleetgate.gateway.registry import adapters
from fleetgate.transports.api import Link
from fleetgate.transports.faults import Faults, FaultyLink

MARK = re.compile(rb"(t\d+-[0-9a-f]{10})\.(\d+)\.")
COMMITS_TAKE = (0.002, 0.02, 0.3)
"""Seconds at most before, and behind, the instant at which a commit is durable: of a disk that is
idle, busy, or at its end."""
SLOWEST = COMMITS_TAKE[-1]
OPENING = 12
"""Frames of a link within which it counts as one that has just come up."""


@attrs.define
class Life:
    """One life of the gateway. `phase` says what it is at, for whoever wants to strike then."""

    dead: bool = False
    storing: str = ""
    links: list[ChaosLink] = attrs.field(factory=list)

    @property
    def phase(self) -> str:
        """The most telling of what it is at."""
        if self.storing:
            return f"commit, {self.storing} it is durable"
        for link in self.links:
            if not link.over and link.passed < OPENING:
                return "reconcile" if link.entry.facing == "south" else "replay"
        return "steady"

    def die(self) -> None:
        """In this instant: nothing that its code does from now on is seen by anybody."""
        self.dead = True
        for link in self.links:
            link.wake()


@attrs.define
class Disk:
    """What is durable, and how many commits."""

    runs: dict[Any, Any] = attrs.field(factory=dict)
    notes: dict[str, dict[str, bytes]] = attrs.field(factory=dict)
    commits: int = 0


class MortalJournal(MemoryJournal):
    """A journal on a disk that stays. What was in line when its gateway died is gone."""

    def __init__(self, disk: Disk, life: Life, draw: random.Random) -> None:
        super().__init__()
        self._runs, self._notes = disk.runs, disk.notes
        self._disk, self._life, self._draw = disk, life, draw
        self._takes = draw.choice(COMMITS_TAKE)

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        await self._pass("before")
        refused = await super().store(groups)
        self._disk.commits += 1
        await self._pass("after")
        return refused

    async def _pass(self, where: str) -> None:
        self._life.storing = where
        try:
            await trio.sleep(self._draw.random() * self._takes)
        finally:
            self._life.storing = ""
        if self._life.dead:
            raise JournalFailing("the gateway is dead")


def open_mortal(disk: Disk, life: Callable[[], Life], draw: random.Random) -> Callable[[], Any]:
    """Opens the journal of each life."""

    @asynccontextmanager
    async def open() -> AsyncGenerator[Journal]:
        async with committing(MortalJournal(disk, life(), draw)) as journal:
            yield journal

    return open


@attrs.define
class Wires:
    """All links of the gateway, of all its lives, and what goes wrong on them. `told` counts how
    often each marked line came in from the worker, and went out to the controller."""

    seed: str
    life: Life
    told: dict[str, Counter[bytes]] = attrs.field(
        factory=lambda: {"south": Counter(), "north": Counter()}
    )
    suffering: dict[str, tuple[Faults, ...]] = attrs.field(factory=dict)
    up: list[ChaosLink] = attrs.field(factory=list)
    _count: int = 0

    def wrap(self, entry: Entry, link: Link) -> Link:
        """A link of the gateway, as it is driven."""
        self._count += 1
        showing = adapters(())[entry.protocol].showing
        eyes = Witness(0, showing, our_part(entry, link, showing), link.opening.path)
        made = ChaosLink(link, f"{self.seed}:{self._count}", eyes.is_answer(), entry, self)
        made.suffer(*self.suffering.get(entry.name, ()))
        self.life.links.append(made)
        self.up.append(made)
        return made

    def suffer(self, entry: str, *faults: Faults) -> None:
        """What goes wrong from now on, on all links of an entry, those to come as well."""
        self.suffering[entry] = faults
        for link in self._living(entry):
            link.suffer(*faults)

    async def cut(self, entry: str) -> None:
        """Every link of the entry ends, whatever was under way."""
        for link in self._living(entry):
            await link.release()

    def _living(self, entry: str) -> list[ChaosLink]:
        self.up = [link for link in self.up if not link.over]
        return [link for link in self.up if link.entry.name == entry]


class ChaosLink(FaultyLink):
    """A link of a gateway that may die. `passed`: frames both ways."""

    def __init__(self, link: Link, seed: str, is_answer: Any, entry: Entry, wires: Wires) -> None:
        super().__init__(link, None, seed, is_answer)
        self.entry = entry
        self.passed = 0
        self.over = False
        self._life, self._wires = wires.life, wires

    def wake(self) -> None:
        """Its gateway is dead: whoever reads here reads no more."""
        self._wake()
        self._reading.cancel()

    async def send_some(self, frames: Sequence[bytes]) -> None:
        if self._life.dead:
            await trio.sleep_forever()
        self._look("north", frames)
        await super().send_some(frames)

    async def _fetch(self) -> Sequence[bytes]:
        frames = await super()._fetch()
        if self._life.dead:
            await trio.sleep_forever()
        self._look("south", frames)
        return frames

    def _look(self, facing: str, frames: Sequence[bytes]) -> None:
        self.passed += len(frames)
        if self.entry.facing == facing:
            for frame in frames:
                self._wires.told[facing].update(set(MARK.findall(frame)))

    async def close(self, code: int | None, reason: str = "") -> None:
        await super().close(None if self._life.dead else code, reason)
        self.over = not self.half_open

    async def release(self) -> None:
        self.over = True
        await super().release()
