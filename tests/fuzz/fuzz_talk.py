"""Conversations of adapters: the two sides of a protocol on one link that changes, drops, repeats
and invents frames, before a core that works meanwhile.

An input is a script of entries, six bytes each: what is done, and four bytes that all its chances
come from. So an entry means the same wherever it stands, and leaving some out shortens a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, Final, TypeAlias

import attrs
from fuzz_engine import Broken, Mutate, Target, demand
from fuzz_host import Host
from fuzz_same import same

ENTRY: Final = 6
LONGEST: Final = 80
"""Entries of a script."""

Ends: TypeAlias = tuple[Host, Host | None]


@attrs.frozen
class Talk:
    """A protocol's two sides, or one of them with nobody there. `make` opens them; `spoken` are
    frames that the first may be sent, and the second; `mutate` changes one."""

    make: Callable[[], Ends]
    spoken: tuple[tuple[bytes, ...], tuple[bytes, ...]]
    mutate: tuple[Mutate, Mutate]

    def prepare(self) -> None:
        """Draw what cores are asked for, once."""
        for end in self.make():
            if end is not None:
                end.prepare()

    def run(self, script: bytes) -> bool:
        """Play a script by the short ways of both ends and, where one was gone, once more by the
        long ones: the same must come of it."""
        quick = self._play(script, quick=True)
        if any(end.short for end in quick):
            slow = self._play(script, quick=False)
            for one, other in zip(quick, slow, strict=True):
                demand(same(one.trace, other.trace), f"{one.name}: the short way leads elsewhere")
        return any(end.ready or end.said >= len(quick) for end in quick)

    def _play(self, script: bytes, *, quick: bool) -> list[Host]:
        """Play a script, then let what is under way arrive, and end."""
        stage = Stage(self, self.make())
        for end in stage.ends:
            end.quick = quick
            end.begin()
        for at in range(0, min(len(script), ENTRY * LONGEST) - ENTRY + 1, ENTRY):
            entry = script[at : at + ENTRY]
            stage.play(entry[0], entry[1], Random(int.from_bytes(entry[2:])))
        stage.carry(1000)
        stage.check()
        for end in stage.ends:
            end.end()
        return stage.ends


class Stage:
    """A conversation under way."""

    def __init__(self, talk: Talk, ends: Ends) -> None:
        self._talk = talk
        self.ends = [end for end in ends if end is not None]
        self.damaged = len(self.ends) < 2
        """Whether anything was done to the link: else nobody may find fault with a frame."""

    def play(self, what: int, which: int, draw: Random) -> None:
        """One entry."""
        end = self.ends[which % len(self.ends)]
        _DOINGS[what % len(_DOINGS)](self, end, draw)

    def check(self) -> None:
        """An honest link leaves no side with a fault to find."""
        for end in self.ends:
            if end.broke is not None and not self.damaged:
                raise Broken(f"{end.name} refuses what its own other side says: {end.broke}")

    def other(self, end: Host) -> Host | None:
        """Who is at the other end."""
        return next((each for each in self.ends if each is not end), None)

    # --- doings

    def carry(self, most: int = 4) -> None:
        """Frames arrive, in order, on both ways: some at once."""
        for _ in range(most):
            moved = [self._carry_some(end) for end in self.ends]
            if not any(moved):
                return

    def _carry_some(self, end: Host, most: int = 16) -> int:
        other = self.other(end)
        if other is None:
            end.out.clear()
            return 0
        frames = tuple(islice(end.out, most))
        taken = other.receive(*frames) if frames else 0
        for _ in range(taken):
            end.out.popleft()
        return taken

    def arrive(self, end: Host, draw: Random) -> None:
        """What was sent arrives; where nobody is there to send, what was once said."""
        if self.other(end) is None:
            end.receive(draw.choice(self._talk.spoken[0]))
        self.carry(draw.choice((1, 2, 8)))

    def bend(self, end: Host, draw: Random) -> None:
        """A frame on its way to this end is changed."""
        self._arrive_as(end, draw, lambda frame: [self._bent(end, draw, frame)])

    def repeat(self, end: Host, draw: Random) -> None:
        self._arrive_as(end, draw, lambda frame: [frame] * draw.choice((2, 2, 40)))

    def lose(self, end: Host, draw: Random) -> None:
        self._arrive_as(end, draw, lambda frame: [])

    def swap(self, end: Host, draw: Random) -> None:
        other = self.other(end)
        if other is not None and len(other.out) > 1:
            self.damaged = True
            other.out.rotate(draw.randrange(1, len(other.out)))

    def invent(self, end: Host, draw: Random) -> None:
        """A frame comes that nobody has sent; as it was once said, or changed."""
        self.damaged = True
        spoken = self._talk.spoken[self.ends.index(end)]
        frame = draw.choice(spoken)
        end.receive(frame if draw.random() < 0.4 else self._bent(end, draw, frame))

    def _bent(self, end: Host, draw: Random, frame: bytes) -> bytes:
        at = self.ends.index(end)
        made = self._talk.mutate[at](draw, frame, self._talk.spoken[at])
        return made[: end.carriage.limit]

    def _arrive_as(self, end: Host, draw: Random, change: Callable[[bytes], list[bytes]]) -> None:
        other = self.other(end)
        if other is None:
            self.invent(end, draw)
        elif other.out:
            self.damaged = True
            for frame in change(other.out.popleft()):
                end.receive(frame)

    def tick(self, end: Host, draw: Random) -> None:
        """The time that it waits for comes, whatever is on its way to it."""
        self.damaged = True
        end.tick()

    def later(self, end: Host, draw: Random) -> None:
        """Time passes, for both; who wants to be woken is."""
        seconds = draw.choice((0.001, 1, 20, 3600))
        self.damaged = True
        for each in self.ends:
            each.now += int(seconds * 1e9)
            if each.wake is not None and each.wake <= each.now:
                each.tick()

    def work(self, end: Host, draw: Random) -> None:
        end.work(draw)
        end.deliver(draw)

    def order(self, end: Host, draw: Random) -> None:
        end.order(draw)

    def ask(self, end: Host, draw: Random) -> None:
        end.ask(draw)
        end.notice(draw)

    def refuse(self, end: Host, draw: Random) -> None:
        end.unkind = not end.unkind

    def drain(self, end: Host, draw: Random) -> None:
        if draw.random() < 0.2:
            end.tell(lambda it: it.drain(end.now))

    def fence(self, end: Host, draw: Random) -> None:
        if draw.random() < 0.1 and end.worker is not None:
            end.ready, end.worker = False, None
            end.tell(lambda it: it.fenced("a newer link took over", end.now))


_DOINGS: Final[tuple[Callable[[Stage, Host, Random], None], ...]] = (
    *(Stage.arrive, Stage.arrive, Stage.arrive, Stage.arrive, Stage.arrive, Stage.arrive),
    *(Stage.order, Stage.order, Stage.order, Stage.work, Stage.work, Stage.work),
    *(Stage.bend, Stage.bend, Stage.bend, Stage.bend, Stage.invent, Stage.invent),
    *(Stage.repeat, Stage.lose, Stage.swap, Stage.tick, Stage.later, Stage.ask),
    *(Stage.refuse, Stage.drain, Stage.fence),
)
_KIND: Final = tuple(
    at
    for at, doing in enumerate(_DOINGS)
    if doing in (Stage.arrive, Stage.order, Stage.work, Stage.ask)
)
"""Doings that leave the link as it is."""


def _entries(draw: Random, count: int, among: Sequence[int]) -> Iterator[bytes]:
    for _ in range(count):
        yield bytes([draw.choice(among), draw.randrange(2)]) + draw.randbytes(4)


def _script(draw: Random) -> bytes:
    """A new one: an honest beginning, then anything, or nothing but honest doings."""
    begin = draw.randrange(LONGEST // 2)
    rest = draw.randrange(LONGEST - begin)
    among = _KIND if draw.random() < 0.2 else range(len(_DOINGS))
    return b"".join((*_entries(draw, begin, _KIND), *_entries(draw, rest, among)))


def mutate_script(draw: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Another script, mostly a new one."""
    if draw.random() < 0.7:
        return _script(draw)
    entries = [data[at : at + ENTRY] for at in range(0, len(data), ENTRY)]
    at = draw.randrange(len(entries) + 1)
    entries[at : at + draw.choice((0, 1, 4))] = _entries(draw, 3, range(len(_DOINGS)))
    return b"".join(entries)


def talk_target(name: str, talk: Talk, **given: Any) -> Target:
    """A target of it."""
    seeds = tuple(_script(Random(f"{name} {number}")) for number in range(20))
    return Target(name, seeds, talk.run, mutate_script, room=_room, prepare=talk.prepare, **given)


def _room(size: int) -> int:
    """What two connections may hold whatever they are told: a quarter of what one may be sent."""
    return 32 << 20
