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
    """Throughput at each of `sizes`, `pairs` times, `seconds` each; latency at `rate` events a
    second of `paced_size` bytes, `paced_pairs` times, `paced_seconds` each."""

    sizes: tuple[int, ...] = (64, 256, 1024, 4096, 16384)
    pairs: int = 3
    seconds: float = 3.0
    rate: int = 1000
    paced_size: int = 256
    paced_pairs: int = 3
    paced_seconds: float = 5.0

    def tasks(self) -> Iterator[Task]:
        """The task of each pair. Sizes take turns, so that a while in which the machine was busy
        with something else does not fall on one of them alone."""
        for _ in range(self.pairs):
            for size in self.sizes:
                yield Task(size, self.seconds)
        for _ in range(self.paced_pairs):
            yield Task(self.paced_size, self.paced_seconds, self.rate)

    def trials(self) -> Iterator[Trial]:
        """All of them: relay, bridge, relay, bridge…"""
        for pair, task in enumerate(self.tasks(), 1):
            for kind in Kind:
                yield Trial(pair, kind, task)


FULL: Final = Plan()
"""Three and a half minutes."""

QUICK: Final = Plan(sizes=(256, 4096), pairs=2, seconds=1.0, paced_pairs=1, paced_seconds=2.0)
"""Half a minute: shows whether something is badly wrong, and no more."""
