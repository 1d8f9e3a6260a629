"""What a load host is asked to emit, and what every event of it carries."""

from __future__ import annotations

from typing import Final

import attrs
from attrs import validators

from fleetgate.core.events import MAX_BODY

STAMP: Final = 20
"""Bytes at the start of each body: when it was due, in nanoseconds of the machine's monotonic
clock, which its processes share."""

SMALLEST: Final = 64
"""Bytes of the smallest body: a stamp, and something to carry."""

MOST_EVENTS: Final = 2_000_000
"""Events of one task, whatever its time: some minutes of the fastest relay."""


class BenchFailed(Exception):
    """A trial came to no figure. The text says which process failed, and how."""


@attrs.frozen(slots=True)
class Task:
    """Emit bodies of `size` bytes for so many `seconds`, or until `events` are out. `rate` is
    events a second, 0 for as fast as they are taken."""

    size: int = attrs.field(
        validator=(validators.ge(SMALLEST), validators.le(MAX_BODY)),
    )
    seconds: float = attrs.field(validator=validators.gt(0))
    rate: int = attrs.field(default=0, validator=validators.ge(0))
    events: int = attrs.field(default=MOST_EVENTS, validator=validators.gt(0))

    def __str__(self) -> str:
        """The task as the text of a prompt, which a route makes an argument of."""
        return f"{self.size} {self.seconds} {self.rate} {self.events}"


def parse_task(text: str) -> Task:
    """The task that a text stands for.

    Raises: `ValueError`.
    """
    words = text.split()
    if len(words) != 4:
        raise ValueError(f"a task is four numbers: size, seconds, rate, events; got {text[:64]!r}")
    return Task(int(words[0]), float(words[1]), int(words[2]), int(words[3]))


def make_body(due: int, size: int) -> bytes:
    """A body of `size` bytes of ASCII, so that JSON carries it as it is."""
    return b"%020d" % due + b"." * (size - STAMP)


def read_stamp(body: bytes | str) -> int:
    """When a body was due."""
    return int(body[:STAMP])
