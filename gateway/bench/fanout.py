"""`gateway bench --only fanout`: one run, and many who follow it."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import trio

from fleetgate.core.times import SECOND
from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.client import LoadClient
from fleetgate.gateway.bench.links import CLIENT
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.process import cpu_seconds
from fleetgate.gateway.bench.subjects import Kind, open_subject
from fleetgate.gateway.bench.tally import Tally, see_agency
from fleetgate.gateway.bench.task import BenchFailed, Task
from fleetgate.gateway.bench.trial import new_directory
from fleetgate.transports.open import open_dialer

SIZE: Final = 256
"""Bytes of an event's body."""

WITHIN: Final = 120.0
"""Seconds that one trial may take."""

FILES: Final = 8192
"""File descriptors that the processes may have: a follower is a link, and a link is one."""

_HOST: Final = "fleetgate.gateway.bench.host"


@attrs.frozen(slots=True)
class FanoutPlan:
    """So many followers, `rounds` times; with each number about `deliveries` in all, and at least
    200 events."""

    followers: tuple[int, ...] = (1, 10, 100, 1_000)
    deliveries: int = 100_000
    rounds: int = 3

    def events(self, followers: int) -> int:
        """Events of a run that so many follow."""
        return max(200, min(20_000, self.deliveries // followers))


PLAN: Final = FanoutPlan()

QUICK: Final = FanoutPlan(followers=(1, 10, 100), deliveries=20_000, rounds=1)


@attrs.frozen(slots=True)
class FanoutSample:
    """`seconds` from the first event at a follower to the last one at the last of them;
    `cpu_seconds` of the gateway meanwhile."""

    followers: int
    deliveries: int
    seconds: float
    cpu_seconds: float


@attrs.frozen(slots=True)
class FanoutFigure:
    """Medians over the rounds: deliveries a second, and the gateway's microseconds for one. `ratio`
    is what one takes over what it takes where there is one follower."""

    followers: int
    rate: float
    least: float
    most: float
    cpu_micros: float
    ratio: float


def measure(disk: Path, plan: FanoutPlan, losses: Losses) -> list[FanoutSample]:
    """Run all trials."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
    return trio.run(_measure, disk, plan, losses)


async def _measure(disk: Path, plan: FanoutPlan, losses: Losses) -> list[FanoutSample]:
    samples: list[FanoutSample] = []
    for _ in range(plan.rounds):
        for followers in plan.followers:
            trial = partial(_trial, disk, followers, plan.events(followers))
            sample = await losses.attempt(f"{followers} followers", trial)
            if sample is not None:
                samples.append(sample)
                rate = sample.deliveries / sample.seconds
                sys.stderr.write(f"{followers} followers: {rate:.0f} deliveries/s\n")
    return samples


async def _trial(disk: Path, followers: int, events: int) -> FanoutSample:
    family: list[Child] = []
    try:
        with (
            tempfile.TemporaryDirectory(prefix="bench-") as sockets,
            new_directory(disk) as journal,
            trio.fail_after(WITHIN),
        ):
            async with open_subject(Kind.BRIDGE, Path(sockets), Path(journal), family) as subject:
                crowd = Crowd(subject.child.pid, Task(SIZE, WITHIN, events=events))
                async with open_dialer(f"unix:{subject.socket}", CLIENT) as dialer:
                    for nth in range(followers):
                        await crowd.join(LoadClient(await dialer.dial(), crowd.task), first=not nth)
                    async with open_child("load host", _HOST, subject.url, family=family):
                        return await crowd.listen()
    except (trio.TooSlowError, ExceptionGroup) as error:
        accounts = [child.account() for child in family]
        why = f"a trial with {followers} followers failed: {error!r}"
        raise BenchFailed("\n".join([why, *accounts])) from error


class Crowd:
    """All who follow the run. Each must get every event once, in order."""

    def __init__(self, subject: int, task: Task) -> None:
        self.task = task
        self._subject = subject
        self._members: list[LoadClient] = []
        self._begun = 0
        self._spent = 0.0

    async def join(self, client: LoadClient, *, first: bool) -> None:
        """One more follows; the first one starts the run."""
        await client.attach(start=first)
        self._members.append(client)

    async def listen(self) -> FanoutSample:
        """Wait until everyone has the last event."""
        async with trio.open_nursery() as nursery:
            for member in self._members:
                nursery.start_soon(self._hear, member)
        seconds = (time.monotonic_ns() - self._begun) / SECOND
        spent = cpu_seconds(self._subject) - self._spent
        count = len(self._members)
        for member in self._members:
            await member.leave()
        return FanoutSample(count, count * self.task.events, seconds, spent)

    async def _hear(self, member: LoadClient) -> None:
        tally = Tally(see_agency, every=False)
        while not tally.ended:
            frames = await member.receive()
            if not frames:
                continue
            if not self._begun:
                self._begun, self._spent = time.monotonic_ns(), cpu_seconds(self._subject)
            tally.take(frames, time.monotonic_ns())
        if tally.outputs != self.task.events:
            raise BenchFailed(f"a follower got {tally.outputs} events of {self.task.events}")


def sum_up(samples: Iterable[FanoutSample]) -> list[FanoutFigure]:
    """What the samples come to, a figure for each number of followers."""
    groups: dict[int, list[FanoutSample]] = {}
    for sample in samples:
        groups.setdefault(sample.followers, []).append(sample)
    micros = {
        followers: median(s.cpu_seconds / s.deliveries * 1e6 for s in group)
        for followers, group in groups.items()
    }
    rates = {
        followers: [s.deliveries / s.seconds for s in group] for followers, group in groups.items()
    }
    first = next(iter(micros.values()), 1.0)
    return [
        FanoutFigure(
            followers=followers,
            rate=median(rates[followers]),
            least=min(rates[followers]),
            most=max(rates[followers]),
            cpu_micros=spent,
            ratio=spent / first,
        )
        for followers, spent in micros.items()
    ]


HEAD: Final = ("followers", "deliveries/s", "least to most", "CPU µs/delivery", "over the fewest")


def row(figure: FanoutFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        str(figure.followers),
        f"{figure.rate:.0f}",
        f"{figure.least:.0f} to {figure.most:.0f}",
        f"{figure.cpu_micros:.1f}",
        f"{figure.ratio:.2f}",
    )
