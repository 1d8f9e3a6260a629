"""A hub to test with: a port that remembers, a router that sends all runs one way, and a
worker whose every move a test makes by hand."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from fleetgate.core.answers import Accepted, Admission
from fleetgate.core.commands import (
    DescribeRun,
    Order,
    Origin,
    ProbeWorkers,
    Prompt,
    ReadUsage,
    RunSpec,
    StartRun,
)
from fleetgate.core.errors import NoRoute, Refusal
from fleetgate.core.events import Event, Outcome, Reason, Recorded, RunFinished, RunState
from fleetgate.core.hub import Hub, open_hub
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.journal.api import Journal
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.limits import Limits
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.core.worker import InputKind, WorkerInfo

DONE = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
CANCELED = RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED))

LINK = "north"
POOL = "pool"
MUTE = "mute"
"""A link whose controllers cannot answer approvals."""


class TrioClock:
    """Nanoseconds as trio's clock counts them, from a fixed instant on."""

    def __init__(self) -> None:
        self._base = time.time_ns()

    def __call__(self) -> int:
        return self._base + nanos(trio.current_time())


class OneWay:
    """Sends every run to `POOL` as it is; `closed` names links that have no route."""

    def __init__(self, *closed: str) -> None:
        self._closed = closed

    def route(self, link: str, spec: RunSpec, created: int = 0) -> tuple[str, RunSpec]:
        """Always the same way."""
        if link in self._closed:
            raise NoRoute(f"no route from {link}")
        return POOL, spec

    def pools(
        self, link: str, labels: Mapping[str, str] | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        """The one pool."""
        return {POOL: ("claude",)}

    def denies(self, link: str, pool: str) -> bool:
        """Only of a link that is mute."""
        return link == MUTE

    def hears_decisions(self, pool: str) -> bool:
        """They are told."""
        return True


@attrs.define
class RecordingPort:
    """A port that remembers what the hub told it."""

    orders: list[Order] = attrs.field(factory=list[Order])
    questions: list[tuple[int, ProbeWorkers | ReadUsage]] = attrs.field(
        factory=list[tuple[int, ProbeWorkers | ReadUsage]]
    )
    durable: list[tuple[RunId, int]] = attrs.field(factory=list[tuple[RunId, int]])
    fences: list[str] = attrs.field(factory=list[str])

    def perform(self, order: Order) -> None:
        """Remember an order."""
        self.orders.append(order)

    def ask(self, question_id: int, question: ProbeWorkers | ReadUsage) -> None:
        """Remember a question."""
        self.questions.append((question_id, question))

    def committed(self, run: RunId, native_seq: int) -> None:
        """Remember what is durable."""
        self.durable.append((run, native_seq))

    def fenced(self, reason: str) -> None:
        """Remember the end."""
        self.fences.append(reason)

    def numbers(self, run: RunId) -> list[int]:
        """The numbers of the orders of one run, as they came."""
        return [order.number for order in self.orders if order.run == run]


class HandWorker:
    """A worker on a hub. `admit` first, then `ready`."""

    def __init__(self, hub: Hub, info: WorkerInfo) -> None:
        self.hub = hub
        self.info = info
        self.port = RecordingPort()
        self.admission = Admission(Epoch(0), ())

    @property
    def epoch(self) -> Epoch:
        """The epoch that it was admitted under."""
        return self.admission.epoch

    async def admit(self) -> Admission:
        """Come in."""
        self.admission = await self.hub.admit(self.info, self.port)
        return self.admission

    async def join(self, free: int | None = None) -> Admission:
        """Come in and be ready."""
        admission = await self.admit()
        self.ready(free)
        return admission

    def ready(self, free: int | None = None) -> None:
        """Take runs."""
        self.hub.ready(self.info.id, self.epoch, free)

    def record(self, run: RunId, *events: Event, seq: int | None = None) -> bool:
        """Report events."""
        return self.hub.record(self.info.id, self.epoch, run, events, seq)

    def settle(self, run: RunId, number: OrderNumber, error: Refusal | None = None) -> None:
        """Confirm an order."""
        self.hub.settle(self.info.id, self.epoch, run, number, error)

    def leave(self, *, gone: bool = False) -> None:
        """Lose the link."""
        self.hub.withdraw(self.info.id, self.epoch, "the test cut it", gone)


def worker_info(name: str = "w", **changes: object) -> WorkerInfo:
    """A worker of `POOL` that takes every kind of input."""
    plain = WorkerInfo(WorkerId(f"{POOL}/{name}"), POOL, frozenset(InputKind))
    return attrs.evolve(plain, **changes)  # type: ignore[arg-type]


def start_run(run: str = "r", spec: RunSpec | None = None, link: str = LINK) -> StartRun:
    """A command to start a run of `link`."""
    given = spec if spec is not None else RunSpec(Prompt("hello"), interactive=True)
    return StartRun(RunId(f"{link}/{run}"), given, Origin(link, run))


@asynccontextmanager
async def hub_on(journal: Journal, limits: Limits | None = None) -> AsyncGenerator[Hub, None]:
    """A hub on a journal, with `OneWay` routes and trio's clock."""
    async with open_hub(journal, OneWay("nowhere"), TrioClock(), limits) as hub:
        yield hub


@asynccontextmanager
async def served() -> AsyncGenerator[tuple[Journal, Hub, HandWorker, trio.Nursery]]:
    """A hub with one worker, and a nursery for whoever follows."""
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        worker = HandWorker(hub, worker_info())
        await worker.join()
        yield journal, hub, worker, nursery


async def started(hub: Hub, run: str = "r", spec: RunSpec | None = None) -> RunId:
    """Start a run; its id comes back."""
    command = start_run(run, spec)
    await hub.submit(command)
    return command.run


async def read_until(hub: Hub, run: RunId, last: int, after: int = 0) -> Sequence[Recorded]:
    """Follow a run from `after` until the event with number `last` has come."""
    seen: list[Recorded] = []
    with hub.follow(run, Seq(after)) as follower:
        async for batch in follower:
            seen += batch
            if seen[-1].seq >= last:
                break
    return seen


async def describe(hub: Hub, run: RunId) -> Run:
    """The run as committed."""
    answer = await hub.submit(DescribeRun(run))
    assert isinstance(answer, Accepted)
    assert answer.after is not None
    return answer.after


def kinds(recorded: Sequence[Recorded]) -> list[str]:
    """The names of the events' classes."""
    return [type(each.event).__name__ for each in recorded]
