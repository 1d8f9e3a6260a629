"""A run that is carried out by code of ours: its orders, its deadline, its end.

`Task` is to a *job* (a mock's script, a model's stream, a CLI's answer) what `Execution` is
to a program: it takes the hub's orders and reports the one end. The job sees its run as
`Work` and only tells what happens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core.errors import Refusal, Unavailable, UnsupportedInput
from fleetgate.core.events import (
    Event,
    InputAccepted,
    Outcome,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    SessionOpened,
)
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.json import Json
from fleetgate.core.times import SECOND
from fleetgate.gateway.config_reader import Flawed
from fleetgate.gateway.local.stdin import Batch, InputQueue


class Reporter(Protocol):
    """What an execution tells, and whom it waits for."""

    def record(self, run: RunId, event: Event) -> None:
        """An event of the run."""

    def settle(self, run: RunId, number: OrderNumber, error: Refusal | None = None) -> None:
        """An order was carried out, or refused."""

    async def annotate(self, run: RunId, value: Json) -> None:
        """Keep a value with the run, durably.

        Raises: `Unavailable` while the journal fails.
        """

    async def wait_room(self) -> None:
        """Wait until more events are welcome."""


RETRY_NOTE: Final = 1.0
"""Seconds between tries to write down a process while the journal fails: seldom enough to
cost nothing, often enough not to be noticed once it recovers."""


async def keep_note(reporter: Reporter, run: RunId, note: Json) -> None:
    """Make a run's process findable after a crash, before anybody hears that it runs."""
    while True:
        try:
            return await reporter.annotate(run, note)
        except Unavailable:
            await trio.sleep(RETRY_NOTE)


class Doing(Protocol):
    """A run that is being carried out, whoever does it."""

    def give(self, order: c.Order) -> None:
        """Carry out an order, or refuse it."""

    async def run(self) -> None:
        """Carry the run out and report all of it, with its end. Cancelled, no end is reported."""


class Declined(Exception):
    """The run is not carried out here, and nothing was begun. `code` is stable; the text says
    what would help."""

    reason: Reason = Reason.REFUSED

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


def unreadable(error: Flawed) -> Declined:
    """What came with a run cannot be read; everything that is wrong, each with its key."""
    words = (f"{'.'.join(map(str, each.path))}: {each.message}" for each in error.flaws)
    return Declined("invalid_argument", "; ".join(words))


class WorkFailed(Declined):
    """The work was begun and came to an end of its own fault. `code` is stable."""

    reason = Reason.ERROR


@attrs.define(slots=True, eq=False)
class Work:
    """A run as its job sees it."""

    run: RunId
    spec: c.RunSpec
    reporter: Reporter
    session: str = ""
    """The session that the run is of, in the words of whoever asked; empty: of none."""
    inputs: InputQueue = attrs.field(factory=InputQueue)
    _open: dict[str, trio.Event] = attrs.field(factory=dict[str, trio.Event])

    def tell(self, event: Event) -> None:
        """Report an event."""
        self.reporter.record(self.run, event)

    def started(self, pid: int | None = None) -> None:
        """The work itself begins. From now on its session exists, whether or not the adapter keeps
        anything of it: another run may ask for one that does."""
        self.tell(RunStarted(pid))
        if self.session:
            self.tell(SessionOpened(self.session))

    async def wait_room(self) -> None:
        """Wait while the journal has too much to write. Always a checkpoint."""
        await self.reporter.wait_room()
        await trio.lowlevel.checkpoint()

    async def take_input(self, most: int | None = None) -> Batch:
        """The next inputs, confirmed: at most `most` of them; waits for the first."""
        batch = await self.inputs.take(most)
        self.tell(InputAccepted(batch.through))
        return batch

    async def ask(self, approval: str, request: Event) -> None:
        """Ask for an approval, and wait until it was answered."""
        answered = self._open[approval] = trio.Event()
        self.tell(request)
        await answered.wait()

    def answer(self, approval: str) -> None:
        """An approval was answered. The event that says so is the hub's."""
        if (waiting := self._open.pop(approval, None)) is not None:
            waiting.set()


Job: TypeAlias = Callable[[Work], Awaitable[Outcome]]
"""Carries a run out, and says how it ended.

Raises: `Declined`, `WorkFailed`. Cancelled, nothing of it goes on.
"""


class Task:
    """A run that a job carries out. `takes_input`: the job reads what is sent to the run."""

    def __init__(self, work: Work, job: Job, adapter: str, *, takes_input: bool = False) -> None:
        self._work = work
        self._job = job
        self._adapter = adapter
        self._takes_input = takes_input
        self._scope = trio.CancelScope()
        self._signal: str | None = None

    # --- orders

    def give(self, order: c.Order) -> None:
        """Carry out an order, or refuse it. Any signal ends the run: there is no program that
        could make something else of it."""
        match order.command:
            case c.SendInput() | c.CloseInput() if self._takes_input:
                self._work.inputs.put(order)
            case c.CancelRun():
                self._stop(order, None)
            case c.SignalRun(signal=signal):
                self._stop(order, _SIGNALS[signal])
            case c.ResolveApproval(approval=approval):
                self._work.answer(approval)
                self._settle(order)
            case _:
                what = type(order.command).__name__
                said = f"a run of the adapter {self._adapter} takes no {what}"
                self._settle(order, UnsupportedInput(said))

    def _stop(self, order: c.Order, signal: str | None) -> None:
        self._signal = signal or self._signal
        self._scope.cancel()
        self._settle(order)

    def _settle(self, order: c.Order, error: Refusal | None = None) -> None:
        self._work.reporter.settle(self._work.run, order.number, error)

    # --- from start to end

    async def run(self) -> None:
        """Carry it out and report its end. Cancelled, no end is reported."""
        self._work.tell(RunFinished(await self._outcome()))

    async def _outcome(self) -> Outcome:
        timeout = self._work.spec.timeout
        seconds = float("inf") if timeout is None else timeout / SECOND
        try:
            with self._scope, trio.move_on_after(seconds):
                return await self._job(self._work)
        except Declined as error:
            return Outcome(RunState.FAILED, error.reason, str(error))
        if self._scope.cancelled_caught:
            return Outcome(RunState.CANCELED, Reason.CANCELED, "canceled", signal=self._signal)
        return Outcome(RunState.FAILED, Reason.TIMED_OUT, "its timeout has passed")


_SIGNALS: Final = {
    c.Signal.INTERRUPT: "SIGINT",
    c.Signal.TERMINATE: "SIGTERM",
    c.Signal.KILL: "SIGKILL",
    c.Signal.HANGUP: "SIGHUP",
}
