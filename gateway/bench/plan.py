"""Which trials a bench consists of, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task


@attrs.frozen(slots=True)
class Trial:
    """One task at one subject. `pair` numbers the relays' trials and the bridge's that are
    compared with each other."""

    pair: int
    kind: Kind
    task: Task


@attrs.frozen(slots=True)
class Plan:
    """Throughput at each of `sizes`, `pairs` times, `seconds` each; latency at each of `rates`
    events a second of `paced_size` bytes, `paced_pairs` times, `paced_seconds` each. With `half`,
    last, as often at half of what the bridge was found to carry."""

    sizes: tuple[int, ...] = (64, 256, 1024, 4096, 16384)
    pairs: int = 3
    seconds: float = 2.0
    rates: tuple[int, ...] = (100, 1000)
    paced_size: int = 256
    paced_pairs: int = 3
    paced_seconds: float = 6.0
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
        """All of them: relays, bridge, relays, bridge…"""
        for pair, task in enumerate(self.tasks(), 1):
            yield from together(pair, task)

    def last(self, pair: int, most: float) -> Iterator[Trial]:
        """Those at half of `most` events a second, if there are any; numbered from `pair` on."""
        if self.half and most >= 2:
            task = Task(self.paced_size, self.paced_seconds, round(most / 2))
            for nth in range(self.paced_pairs):
                yield from together(pair + nth, task)


def together(pair: int, task: Task) -> Iterator[Trial]:
    """A task at each subject, one after the other; without the plain relay where there is a rate,
    at which frames come one at a time anyway."""
    for kind in Kind:
        if kind is not Kind.PLAIN or not task.rate:
            yield Trial(pair, kind, task)


PLAN: Final = Plan()
"""Five minutes."""

QUICK: Final = Plan(
    sizes=(256,),
    pairs=1,
    seconds=1.0,
    rates=(1000,),
    paced_pairs=1,
    paced_seconds=2.0,
    half=True,
)
"""A quarter of a minute: shows whether something is badly wrong, and no more."""
