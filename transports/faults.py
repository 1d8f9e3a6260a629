"""Links that do wrong on purpose, for tests of what stands on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import attrs
import trio

from fleetgate.transports.api import FrameRefused, Link, LinkBroken, LinkError, LinkStatistics
from fleetgate.transports.backlog import BatchedLink

Way: TypeAlias = Literal["in", "out"]
"""`in` is from the peer, `out` is to it."""
Direction: TypeAlias = Literal["in", "out", "both"]

REORDER_HOLD: Final = 0.05
"""Seconds that a frame is held back for another to overtake it. If none comes it goes on its way: a
lone frame held for ever would be a loss, which is another fault."""

MAX_DELAY: Final = 86_400_000
"""Milliseconds that a batch may be late: a day, which no test waits for."""


def _probability(_instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{attribute.name} is a probability from 0 to 1, not {value}")


def _above_zero(_instance: object, attribute: attrs.Attribute[int], value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"{attribute.name} is at least 1, not {value}")


def _a_delay(_instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    if not 0 <= value <= MAX_DELAY:
        raise ValueError(f"{attribute.name} is 0 to {MAX_DELAY}")


@attrs.frozen(slots=True)
class Faults:
    """What goes wrong. The default is nothing. Probabilities are per frame.

    `drop_after`: the link is cut without a word once so many frames have passed. `delay_ms`: each
    batch is late by so much. `duplicate`: a frame comes twice. `reorder`: a frame comes behind its
    successor. `corrupt`: one bit is turned. `truncate`: the end of a frame is missing. `lose_ack`:
    a frame that answers another is lost: what was asked for has happened, and nobody says so.
    `half_open`: nothing is read, written or closed, as when the far machine has lost its power.
    `slow_read`: bytes a second. `byte_at_a_time`: on carriages of bytes, each read and each write
    is of one byte. `direction`: which way (seen from the wrapped end); `byte_at_a_time` is always
    both ways, `slow_read` always in.
    """

    drop_after: int | None = attrs.field(default=None, validator=_above_zero)
    delay_ms: int = attrs.field(default=0, validator=_a_delay)
    duplicate: float = attrs.field(default=0.0, validator=_probability)
    reorder: float = attrs.field(default=0.0, validator=_probability)
    corrupt: float = attrs.field(default=0.0, validator=_probability)
    truncate: float = attrs.field(default=0.0, validator=_probability)
    lose_ack: float = attrs.field(default=0.0, validator=_probability)
    half_open: bool = False
    slow_read: int | None = attrs.field(default=None, validator=_above_zero)
    byte_at_a_time: bool = False
    direction: Direction = "both"

    def covers(self, direction: Way) -> bool:
        """Whether frames going that way are affected."""
        return self.direction in (direction, "both")


NONE: Final = Faults()
_NEITHER_WAY: Final = frozenset({"slow_read", "byte_at_a_time", "direction"})


def combined(faults: Sequence[Faults], way: Way) -> Faults:
    """What several sets of faults come to for frames that go one way: each adds to those before it,
    and of the same fault the last holds. `direction` is that of the `drop_after` among them."""
    made: dict[str, Any] = {}
    for each in faults:
        given = {name: value for name, value in _given(each).items() if name not in _NEITHER_WAY}
        if each.covers(way):
            made |= given
            if "drop_after" in given:
                made["direction"] = each.direction
        if each.slow_read is not None and way == "in":
            made["slow_read"] = each.slow_read
    return Faults(**made)


def _given(faults: Faults) -> dict[str, Any]:
    members = attrs.asdict(faults)
    return {name: value for name, value in members.items() if value != getattr(NONE, name)}


IsAnswer: TypeAlias = Callable[[Way, bytes], bool]
"""Whether a frame answers another, which a protocol knows and no link does."""


def never(way: Way, frame: bytes) -> bool:
    """No frame does."""
    return False


@runtime_checkable
class Trickling(Protocol):
    """A link over bytes that can be told to move them in small pieces."""

    def trickle(self, piece: int | None) -> None:
        """At most `piece` bytes at a time; None: as usual."""
        ...


class _Lane:
    """What happens to the frames of one direction. The same seed and frames give the same faults,
    whatever the other direction does, and however long each frame takes: which frames are to be
    overtaken is drawn by their number alone. Only whether another came in time is up to time."""

    def __init__(self, seed: int | str, way: Way, is_answer: IsAnswer) -> None:
        self._random = random.Random(f"{seed}:{way}")
        self._way: Way = way
        self._is_answer = is_answer
        self._chosen = False
        self.held: list[bytes] = []

    def mangle(self, frames: Sequence[bytes], faults: Faults) -> list[bytes]:
        if faults == NONE and frames:  # it draws nothing, be a frame held or not
            return [frames[0], *self.release(), *frames[1:]]
        passed: list[bytes] = []
        for frame in frames:
            came, drawn = self._copies(frame, faults)
            # The one behind a frame that was chosen overtakes it, or would have: it never waits.
            self._chosen = drawn and not self._chosen
            if self._chosen:
                passed += self.release()
                self.held = came
            else:
                passed += came + self.release()
        return passed

    def renew(self) -> None:
        """Other faults hold from now on, and no frame of before has a say in them."""
        self._chosen = False

    def release(self) -> list[bytes]:
        held, self.held = self.held, []
        return held

    def _copies(self, frame: bytes, faults: Faults) -> tuple[list[bytes], bool]:
        # Every probability takes its draw, so that changing one leaves the others' faults alone.
        draw = self._random
        corrupt, truncate, duplicate, reorder, where, lose = (draw.random() for _ in range(6))
        if lose < faults.lose_ack and self._is_answer(self._way, frame):
            return [], False
        if frame and corrupt < faults.corrupt:
            at = int(where * len(frame) * 8)
            turned = frame[at // 8] ^ (1 << at % 8)
            frame = frame[: at // 8] + bytes((turned,)) + frame[at // 8 + 1 :]
        if frame and truncate < faults.truncate:
            frame = frame[: int(where * len(frame))]
        copies = [frame, frame] if duplicate < faults.duplicate else [frame]
        return copies, reorder < faults.reorder


class FaultyLink(BatchedLink):
    """A link with faults, which may be changed while it is in use.

    `seed` decides where they strike. A frame held back to be overtaken goes with the next one,
    after `REORDER_HOLD`, or when the link is closed.
    """

    def __init__(
        self,
        link: Link,
        faults: Faults | None = None,
        seed: int | str = 0,
        is_answer: IsAnswer = never,
    ) -> None:
        super().__init__()
        self.opening = link.opening
        self.speaks_status = link.speaks_status
        self.link = link
        self._in, self._out = _Lane(seed, "in", is_answer), _Lane(seed, "out", is_answer)
        self._passed = {"in": 0, "out": 0, "both": 0}
        self._cut = False
        self._due = 0.0
        self._late: list[bytes] = []
        self._changed = trio.Event()
        self._reading = trio.CancelScope()
        self._incoming = self._outgoing = NONE
        self._trickles = False
        self._sending = trio.Lock()
        self._lets_go = False
        if faults is not None:
            self.suffer(faults)

    def suffer(self, *faults: Faults) -> None:
        """What goes wrong from now on, all of it together; nothing without any. Frames are counted
        anew."""
        self._incoming, self._outgoing = combined(faults, "in"), combined(faults, "out")
        self._passed = {"in": 0, "out": 0, "both": 0}
        self._in.renew()
        self._out.renew()
        trickles = any(each.byte_at_a_time for each in faults)
        if trickles != self._trickles and isinstance(self.link, Trickling):
            self._trickles = trickles
            self.link.trickle(1 if trickles else None)
        self._wake()

    @property
    def half_open(self) -> bool:
        """Whether it neither reads, nor writes, nor closes, one way or both."""
        return self._incoming.half_open or self._outgoing.half_open

    async def wait_changed(self) -> None:
        """Wait until it suffers otherwise, or is closed."""
        await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _fetch(self) -> Sequence[bytes]:
        while True:
            self._check_open()
            if self._hushed("in"):
                await self._changed.wait()
            elif self._late:
                await trio.sleep_until(self._due)
                if not self._hushed("in") and not self._closing:
                    frames, self._late = self._late, []
                    return frames
            elif self._cut:
                await self.link.close(None)
                raise self._cut_off()
            else:
                await self._pull()

    async def _pull(self) -> None:
        """Move what has come to `_late`, faults and all."""
        frames: Sequence[bytes] = ()
        self._reading = trio.CancelScope()
        if self._in.held:
            self._reading.deadline = trio.current_time() + REORDER_HOLD
        try:
            with self._reading:
                frames = await self.link.receive_some()
        except (trio.EndOfChannel, LinkError):
            if self._hushed("in"):
                return
            if self._cut:
                raise self._cut_off() from None
            if not self._in.held:
                raise
        faults = self._incoming
        if not frames:
            self._late = self._in.release()
        elif faults == NONE and not self._in.held:
            self._late = list(frames)
        else:
            self._late = self._count(self._in.mangle(frames, faults), faults)
        self._due = trio.current_time() + self._delay(self._late)

    def _delay(self, frames: Sequence[bytes]) -> float:
        faults = self._incoming
        delay = faults.delay_ms / 1000
        if faults.slow_read is not None:
            delay += sum(map(len, frames)) / faults.slow_read
        return delay

    def _count(self, frames: list[bytes], faults: Faults) -> list[bytes]:
        """Let pass what `drop_after` still lets pass."""
        if faults.drop_after is not None:
            passed = self._passed[faults.direction]
            if passed + len(frames) >= faults.drop_after:
                frames = frames[: max(0, faults.drop_after - passed)]
                self._cut = True
            self._passed[faults.direction] += len(frames)
        return frames

    def _cut_off(self) -> LinkBroken:
        return LinkBroken(f"fault: the link was cut after {max(self._passed.values())} frames")

    def _hushed(self, way: Way) -> bool:
        return (self._incoming if way == "in" else self._outgoing).half_open

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint()
        self._check_open()
        if self._hushed("out"):
            return
        if self._cut:
            raise self._cut_off()
        faults = self._outgoing
        if faults == NONE and not self._out.held and not self._lets_go:
            await self.link.send_some(frames)
            return
        if faults.delay_ms:
            await trio.sleep(faults.delay_ms / 1000)
        async with self._sending:
            for frame in self._count(self._out.mangle(frames, faults), faults):
                with suppress(FrameRefused):  # what the carriage has no form for is lost
                    await self.link.send(frame)
        if self._cut:
            await self.link.close(None)
        elif self._out.held and not self._lets_go:
            self._lets_go = True
            # Whoever sends must not be kept waiting, and a link has no nursery of its own.
            trio.lowlevel.spawn_system_task(self._let_go)

    async def _let_go(self) -> None:
        """Send what is held back, though nothing has overtaken it."""
        await trio.sleep(REORDER_HOLD)
        async with self._sending:
            if not self._closing and not self._cut and not self._hushed("out"):
                with suppress(LinkError):  # whoever uses the link hears of that, too
                    for frame in self._count(self._out.release(), self._outgoing):
                        await self.link.send(frame)
                    if self._cut:
                        await self.link.close(None)
            self._lets_go = False

    async def close(self, code: int | None, reason: str = "") -> None:
        """As the link's own, but for `half_open`: then the link underneath stays open, until
        `release`."""
        first, self._closing = not self._closing, True
        self._wake()
        self._reading.cancel()
        if self.half_open:
            await trio.lowlevel.checkpoint()
            return
        held = self._out.release()
        try:
            if first and held and code is not None and not self._cut:
                await self.link.send_some(held)
        except LinkError:
            # The link has ended before us; what was held back is lost with it.
            held.clear()
        finally:
            await self.link.close(code, reason)

    async def wait_over(self) -> None:
        await self.link.wait_over()

    async def release(self) -> None:
        """Drop the link underneath, whatever the faults say."""
        self._closing = True
        self._wake()
        self._reading.cancel()
        await self.link.close(None)

    def statistics(self) -> LinkStatistics:
        return self.link.statistics()
