"""Inputs that are drawn from seeds and run through targets, each under watch.

An input is a function of the target, the seed and its number, and of nothing else: a finding comes
again by these three, in any process, and without those before it.
"""

from __future__ import annotations

import resource
import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Final, TypeAlias

import attrs

Mutate: TypeAlias = Callable[[Random, bytes, Sequence[bytes]], bytes]
"""Makes another input of one; the seeds are there to take parts of."""

MOST: Final = 96 * 1024
"""Bytes of an input: above 64 KiB, where bodies are split."""

CPU_SECONDS: Final = 20.0
"""For one input. The slowest sound ones, arrays in arrays of 78 KiB that are shown three times
over, take one, four where memory is watched, and twice as long on a machine that has other things
to do."""

TRACED_EVERY: Final = 200
"""Which inputs are watched for what they make of memory: watching takes several times as long."""

LARGE: Final = 16 * 1024
LARGE_EVERY: Final = 4
"""And which of those that have so many bytes."""

PER_BYTE: Final = 100
"""Bytes of memory for a byte of input. `{}` is two, with its comma three, and takes 72 as a dict;
a value made of it stands beside it."""

AT_REST: Final = 1 << 20
"""Bytes of memory whatever the input: a connection, its tables, what was made lazily."""

GROWTH: Final = 512 << 20
"""Bytes by which a process may grow over a round: what C code takes is not traced."""


class Hang(BaseException):
    """An input took too long. No `except Exception` of the code under test may keep it."""


class Broken(AssertionError):
    """An invariant does not hold."""


def demand(holds: object, text: str) -> None:
    """Raises: `Broken`."""
    if not holds:
        raise Broken(text)


def room_for(size: int) -> int:
    """Bytes of memory that an input may have made at one time."""
    return AT_REST + PER_BYTE * size


@attrs.frozen
class Target:
    """`run` takes an input, lets the typed exceptions of its room pass and nothing else, and says
    whether the input was one that its codec takes. `room` bounds its memory."""

    name: str
    seeds: tuple[bytes, ...]
    run: Callable[[bytes], bool]
    mutate: Mutate
    most: int = MOST
    prepare: Callable[[], object] = int
    """Makes what is made once and outlives an input, so that no input pays for it."""
    share: float = 1.0
    """Of its group's inputs, beside the other targets: less where one takes long."""
    scale: float = 1.0
    """Of the inputs that are asked for: less where one is a whole trial."""
    room: Callable[[int], int] = room_for

    @property
    def group(self) -> str:
        """What comes before the dot."""
        return self.name.partition(".")[0]


@attrs.frozen
class Finding:
    """What an input did."""

    target: str
    seed: str
    number: int
    data: bytes
    what: str

    @property
    def again(self) -> str:
        """The command that runs it again."""
        return f"just fuzz {self.target} --seed {self.seed} --at {self.number}"


@attrs.define
class Tally:
    """What was run: inputs, those that a codec took, and those that were watched for memory."""

    inputs: int = 0
    taken: int = 0
    traced: int = 0
    largest: int = 0
    findings: list[Finding] = attrs.field(factory=list[Finding])

    def add(self, other: Tally) -> None:
        """Count another one in."""
        self.inputs += other.inputs
        self.taken += other.taken
        self.traced += other.traced
        self.largest = max(self.largest, other.largest)
        self.findings += other.findings


def input_of(target: Target, seed: str, number: int) -> bytes:
    """The input of this number. The first ones are the seeds themselves."""
    if number < len(target.seeds):
        return target.seeds[number]
    draw = Random(f"{target.name} {seed} {number}")
    return target.mutate(draw, draw.choice(target.seeds), target.seeds)[: target.most]


def play(target: Target, seed: str, numbers: Iterable[int]) -> Tally:
    """Run the inputs of these numbers, whatever becomes of one of them."""
    tally = Tally()
    target.prepare()
    before = _resident()
    data = b""
    number = -1
    with _alarm():
        for number in numbers:
            data = input_of(target, seed, number)
            traced = number % (LARGE_EVERY if len(data) >= LARGE else TRACED_EVERY) == 0
            what, taken = try_input(target, data, traced=traced)
            tally.inputs += 1
            tally.taken += taken
            tally.traced += traced
            tally.largest = max(tally.largest, len(data))
            if what:
                tally.findings.append(Finding(target.name, seed, number, data, what))
    grown = _resident() - before
    if grown > GROWTH:
        text = f"the process grew by {grown} bytes up to this one"
        tally.findings.append(Finding(target.name, seed, number, data, text))
    return tally


def try_input(target: Target, data: bytes, *, traced: bool = False) -> tuple[str, bool]:
    """Run one input: what is wrong with what it did, and whether it was taken."""
    if not traced:
        return _watched(target, data)
    tracemalloc.start()
    try:
        what, taken = _watched(target, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    room = target.room(len(data))
    if not what and peak > room:
        what = f"Broken: {len(data)} bytes took {peak} of memory; {room} are allowed"
    return what, taken


def _watched(target: Target, data: bytes) -> tuple[str, bool]:
    # Again and again: what runs while memory is collected swallows whatever is raised in it.
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS, CPU_SECONDS / 10)
    try:
        try:
            return "", target.run(data)
        except Exception as error:
            return _told(error), False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except Hang as hang:
        return f"Hang: more than {CPU_SECONDS} CPU seconds{_where(hang)}", False


def _told(error: BaseException) -> str:
    inner = ""
    if isinstance(error, BaseExceptionGroup):
        inner = "".join(f"; {_told(each)}" for each in error.exceptions)
    return f"{type(error).__name__}: {error}{_where(error)}{inner}"


def _where(error: BaseException) -> str:
    """The line that raised it; of a hang, the innermost one that is not of this file."""
    at = error.__traceback__
    found = ""
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        found = found if file == __file__ else f" ({file}:{at.tb_lineno})"
        at = at.tb_next
    return found


@contextmanager
def _alarm() -> Iterator[None]:
    """While it lasts, CPU time that runs out raises `Hang`."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, ring)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _resident() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def shrunk(target: Target, data: bytes, what: str) -> bytes:
    """A shorter input that does the same kind of thing, found by leaving out parts."""
    kind = what.partition(":")[0]
    size = len(data) // 2
    with _alarm():
        while size:
            at = 0
            while at < len(data):
                less = data[:at] + data[at + size :]
                if try_input(target, less, traced="of memory" in what)[0].partition(":")[0] == kind:
                    data = less
                else:
                    at += size
            size //= 2
    return data
