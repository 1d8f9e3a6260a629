"""A worker of this process whose runs are played: by a few lines of Python, not by a program.

An *act* plays one run. It is a coroutine that says what happens by a `Part` and answers how
the run ended; while it runs, the part has what its controller asks for.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias

import trio

from fleetgate.core import commands as c
from fleetgate.core.answers import Held
from fleetgate.core.errors import Refusal, RunEnded, UnsupportedInput
from fleetgate.core.events import (
    MAX_BODY,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    InputAccepted,
    Outcome,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    TextProduced,
)
from fleetgate.core.ids import Epoch, RunId, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.worker import InputKind, WorkerInfo
from fleetgate.gateway.connection import Observer
from fleetgate.gateway.local.worker import Hub

PIECE: Final = MAX_BODY // 4
"""Characters of one text: four bytes each at most, and a body has a limit in bytes."""

Act: TypeAlias = Callable[["Part"], Awaitable[Outcome]]


def succeeded(text: str | None = None) -> Outcome:
    """The usual end."""
    return Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0, text=text)


def failed(message: str) -> Outcome:
    """An end with an error."""
    return Outcome(RunState.FAILED, Reason.ERROR, message)


CANCELED: Final = Outcome(RunState.CANCELED, Reason.CANCELED, "canceled")


class Part:
    """One run, as its act sees it."""

    def __init__(self, run: RunId, spec: c.RunSpec, worker: ActingWorker) -> None:
        self.run = run
        self.spec = spec
        self._worker = worker
        self._scope = trio.CancelScope()
        self._answers: dict[str, c.ResolveApproval] = {}
        self._news = trio.Event()

    async def say(self, *events: Event) -> None:
        """Report events, once the journal has room for them."""
        await self._worker.hub.wait_room()
        self._worker.record(self.run, *events)

    async def text(self, text: str) -> None:
        """Say a text, in as many events as it needs."""
        for at in range(0, len(text), PIECE):
            await self.say(TextProduced(text[at : at + PIECE]))

    async def ask(self, approval: str, title: str, detail: Json = None) -> c.ResolveApproval:
        """Put an approval to the controller and wait for its answer."""
        await self.say(ApprovalRequested(approval, title, detail))
        while approval not in self._answers:
            await self._news.wait()
        answer = self._answers.pop(approval)
        await self.say(ApprovalResolved(approval, answer.decision, answer.value))
        return answer

    # --- what the worker calls

    async def play(self, act: Act) -> Outcome:
        """Play it to its end. A cancel ends it, unless the act is shielded."""
        with self._scope:
            await self.say(RunStarted())
            return await act(self)
        return CANCELED

    def give(self, order: c.Order) -> None:
        """Carry out an order, or refuse it."""
        match order.command:
            case c.CancelRun() | c.SignalRun():
                self._scope.cancel()
            case c.ResolveApproval() as answer:
                self._answers[answer.approval] = answer
                self._news.set()
                self._news = trio.Event()
            case c.SendInput() | c.CloseInput():
                self._worker.record(self.run, InputAccepted(order.input))
                return
            case _:
                what = type(order.command).__name__
                self._worker.settle(order, UnsupportedInput(f"a fake's run takes no {what}"))
                return
        self._worker.settle(order)


class ActingWorker:
    """The port of one acting worker. `serve` announces it and plays what it is given."""

    def __init__(
        self, id: WorkerId, pool: str, hub: Hub, acts: Callable[[c.RunSpec], Act], seen: Observer
    ) -> None:
        self.hub = hub
        self._info = WorkerInfo(
            id, pool, frozenset(InputKind), numbered_input=True, enforces_timeout=True
        )
        self._acts = acts
        self._seen = seen
        self._parts: dict[RunId, Part] = {}
        self._nursery: trio.Nursery | None = None
        self._epoch = Epoch(0)

    async def serve(
        self, task_status: trio.TaskStatus[WorkerId] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Play runs until cancelled; what is open then is lost.

        Raises: `Refusal` where the hub does not admit it.
        """
        id = self._info.id
        async with trio.open_nursery() as self._nursery:
            admission = await self.hub.admit(self._info, self)
            self._epoch = admission.epoch
            self._give_up(admission.held)
            self.hub.ready(id, self._epoch, None)
            task_status.started(id)
            await trio.sleep_forever()

    def _give_up(self, held: Iterable[Held]) -> None:
        text = "the fake was restarted while the run was open"
        for each in held:
            self.record(each.run.id, RunFinished(Outcome(RunState.LOST, Reason.LOST, text)))

    # --- what the hub calls

    def perform(self, order: c.Order) -> None:
        """Start a run, or hand an order to the one that is played."""
        if isinstance(order.command, c.StartRun):
            if self._nursery is None:
                raise RuntimeError("a worker takes orders only while it is served")
            part = Part(order.run, order.command.spec, self)
            self._parts[order.run] = part
            self._nursery.start_soon(self._play, part)
        elif order.run in self._parts:
            self._parts[order.run].give(order)
        else:
            self.settle(order, RunEnded(f"run {order.run} is not played here"))

    def ask(self, question_id: int, question: c.ProbeWorkers | c.ReadUsage) -> None:
        """There is nothing to ask it."""
        self.hub.respond(question_id, UnsupportedInput("a fake's worker has no providers"))

    def committed(self, run: RunId, native_seq: int) -> None:
        """Its events have no numbers of their own."""

    def fenced(self, reason: str) -> None:
        """Nobody else has its id."""
        self._seen.report("worker_fenced", reason, None)

    # --- playing

    async def _play(self, part: Part) -> None:
        timeout = part.spec.timeout
        try:
            with trio.move_on_after(math.inf if timeout is None else timeout / 1e9) as limit:
                outcome = await part.play(self._acts(part.spec))
            if limit.cancelled_caught:
                outcome = Outcome(RunState.FAILED, Reason.TIMED_OUT, "its timeout has passed")
        except Exception as error:  # a fault of ours ends this run and no other (I11)
            self._seen.fault(error)
            outcome = failed(f"the fake failed ({type(error).__name__}); its log says more")
        finally:
            del self._parts[part.run]
        self.record(part.run, RunFinished(outcome))

    def record(self, run: RunId, *events: Event) -> None:
        """Pass events on."""
        self.hub.record(self._info.id, self._epoch, run, events)

    def settle(self, order: c.Order, error: Refusal | None = None) -> None:
        """Pass on that an order was carried out or refused."""
        self.hub.settle(self._info.id, self._epoch, order.run, order.number, error)
