"""Which trials a bench consists of, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task


@attrs.frozen(slots=True)
class Trial:
    """One task at one subject. `pair` numbers the relay's trial and the bridge's that are
    compared with each other."""

    pair: int
    kind: Kind
    task: Task


@attrs.frozen(slots=True)
class Plan:
    """Throughput at each of `sizes`, `pairs` times, `seconds` each; latency at each of `rates`
    events a second of `paced_size` bytes, `paced_pairs` times, `paced_seconds` each. With `half`,
    last, also once at half of what the bridge was found to carry."""

    sizes: tuple[int, ...] = (64, 256, 1024, 4096, 16384)
    pairs: int = 3
    seconds: float = 3.0
    rates: tuple[int, ...] = (100, 1000)
    paced_size: int = 256
    paced_pairs: int = 3
    paced_seconds: float = 5.0
    half: bool = True

    def tasks(self) -> Iterator[Task]:
        """The task of each pair. Sizes take turns, so that a while in which the machine was busy
        with something else does not fall on one of them alone."""
        for _ in range(self.pairs):
            for size in self.sizes:
                yield Task(size, self.seconds)
        for _ in range(self.paced_pairs):
            for rate in self.rates:
                yield Task(self.paced_size, self.paced_seconds, rate)

    def trials(self) -> Iterator[Trial]:
        """All of them: relay, bridge, relay, bridge…"""
        for pair, task in enumerate(self.tasks(), 1):
            yield from both(pair, task)

    def last(self, pair: int, most: float) -> Iterator[Trial]:
        """Those at half of `most` events a second, if there are any; numbered `pair`."""
        if self.half and most >= 2:
            yield from both(pair, Task(self.paced_size, self.paced_seconds, round(most / 2)))


def both(pair: int, task: Task) -> Iterator[Trial]:
    """A task at both subjects, one after the other."""
    for kind in Kind:
        yield Trial(pair, kind, task)


FULL: Final = Plan()
"""Five minutes."""

QUICK: Final = Plan(
    sizes=(256, 4096),
    pairs=1,
    seconds=1.0,
    rates=(1000,),
    paced_pairs=1,
    paced_seconds=2.0,
    half=False,
)
"""A quarter of a minute: shows whether something is badly wrong, and no more."""
