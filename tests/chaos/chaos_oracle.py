"""The oracle: ids, and what must come of each. All of it derives from the id, so whoever knows the
id of a run knows, byte for byte, what it has to say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import attrs

WORDS = ("plain", "grüße", "日本", "tab\there", '"quoted"', "back\\slash", "☃" * 7)


@attrs.frozen
class Task:
    """One run: the lines that it says with the pauses before them, and the inputs that it is
    sent. `cancel`: after so many seconds it is told to stop."""

    id: str
    lines: tuple[str, ...]
    pauses: tuple[float, ...]
    inputs: tuple[bytes, ...]
    cancel: float | None

    @property
    def wanted(self) -> bytes:
        """All that it says, if it comes to its own end."""
        return "".join(self.lines).encode()


def mark(id: str, number: int) -> str:
    """What tells one line of one run from every other, in whatever frame it is carried."""
    return f"{id}.{number}."


def asked(id: str) -> str:
    """What a worker is asked to do for it: in a form that every bridge leaves as it is."""
    return f"{id}.99."


def derive(id: str) -> Task:
    """The task with this id."""
    draw = random.Random(f"task {id}")
    count = draw.randint(2, 12)
    lines = tuple(f"{mark(id, number)} {draw.choice(WORDS)}\n" for number in range(count))
    slow = draw.random() < 0.5
    pauses = tuple(draw.random() * (4.0 if slow else 0.2) for _ in lines)
    inputs = tuple(f"{id} input {number}".encode() for number in range(draw.randint(0, 3)))
    cancel = draw.uniform(0.5, 10) if draw.random() < 0.15 else None
    return Task(id, lines, pauses, inputs, cancel)


PACE = 0.4
"""How much of the pauses is kept beside real processes: a run lasts some seconds at most, as a life
does."""


def brisk(id: str) -> Task:
    """The task with this id, at the pace of the kill loop."""
    task = derive(id)
    cancel = None if task.cancel is None else task.cancel * PACE
    return attrs.evolve(task, pauses=tuple(each * PACE for each in task.pauses), cancel=cancel)


def ids(seed: str) -> Iterator[str]:
    """Ids without end; those of two seeds differ."""
    draw = random.Random(f"ids {seed}")
    number = 0
    while True:
        number += 1
        yield f"t{number}-{draw.getrandbits(40):010x}"
