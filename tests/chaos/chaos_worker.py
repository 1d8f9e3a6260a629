"""A worker at the far end that does what the oracle says of each task, and keeps book."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import attrs
import trio
from chaos_book import What
from chaos_life import MARK
from chaos_oracle import Task, derive

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.hub_testing import HandWorker, RecordingPort
from fleetgate.core.ids import RunId
from fleetgate.gateway.local.script import text_of

HEAR_WITHIN = 120.0
"""Seconds; an input that a protocol sends at most once may never come."""
OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
UNREADABLE = e.RunFinished(Outcome(RunState.FAILED, Reason.ERROR))
CANCELED = e.RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, signal="SIGTERM"))


LOST = e.RunFinished(Outcome(RunState.LOST, Reason.LOST, "its worker began anew"))


def _unwritten(what: What, of: str, data: bytes = b"") -> None:
    """Nobody keeps book."""


@attrs.define
class PlayingPort(RecordingPort):
    """Plays each run that it is given. `executed`, `began` (when, by trio's clock, the last time)
    and `got` are by the id of the task; `playing` are those that have begun and not ended, with the
    lines that are left. `hears`: for so many seconds it waits for a task's inputs before it ends,
    for none that comes behind the end can arrive. `plays`: what it does for an id. `twisted`: a
    link may have cut what it is asked to do, and then the run fails. `book` hears of what has to
    outlive it."""

    hears: Callable[[str], float] = lambda id: HEAR_WITHIN
    plays: Callable[[str], Task] = derive
    twisted: bool = False
    book: Callable[..., None] = _unwritten
    worker: HandWorker | None = None
    nursery: Any = None
    executed: Counter[str] = attrs.field(factory=Counter)
    began: dict[str, float] = attrs.field(factory=dict[str, float])
    got: dict[str, list[bytes]] = attrs.field(factory=lambda: defaultdict(list))
    playing: dict[RunId, tuple[Task, int]] = attrs.field(factory=dict)
    tasks: dict[RunId, str] = attrs.field(factory=dict)

    async def join(self, worker: HandWorker) -> None:
        """Be this worker's port. What it had in an earlier life is lost."""
        self.worker, worker.port = worker, self
        admission = await worker.admit()
        for held in admission.held:
            self._say(held.run.id, LOST)
        worker.ready()

    def perform(self, order: c.Order) -> None:
        """Do it."""
        super().perform(order)
        match order.command:
            case c.StartRun(spec=spec):
                found = MARK.search(text_of(spec.input).encode())
                if found is None:
                    assert self.twisted, spec.input
                    self._say(order.run, UNREADABLE)
                    return
                id = found[1].decode()
                self.book("began", id)
                self.executed[id] += 1
                self.began[id] = trio.current_time()
                self.tasks[order.run] = id
                task = self.plays(id)
                self.playing[order.run] = (task, len(task.lines))
                self.nursery.start_soon(self._play, order.run, task)
            case c.SendInput(data=data):
                id = self.tasks.get(order.run, "")
                self.book("got", id, data.strip())
                self.got[id].append(data.strip())
                self._say(order.run, e.InputAccepted(order.input))
            case c.CloseInput():
                self._say(order.run, e.InputAccepted(order.input))
            case c.CancelRun() | c.SignalRun():
                self._settle(order)
                self._end(order.run, CANCELED)
            case _:
                self._settle(order)

    async def _play(self, run: RunId, task: Task) -> None:
        self._say(run, e.RunStarted())
        for number, (line, pause) in enumerate(zip(task.lines, task.pauses, strict=True)):
            await trio.sleep(pause)
            if run not in self.playing:
                return
            self.playing[run] = (task, len(task.lines) - number - 1)
            said = e.OutputProduced(Stream.STDOUT, line.encode())
            self._say(run, said if number % 2 else e.TextProduced(line))
        with trio.move_on_after(self.hears(task.id)):
            while run in self.playing and self._waits(task):  # noqa: ASYNC110 - as `until`
                await trio.sleep(0.5)
        await trio.sleep(task.pauses[0])
        self._end(run, OK)

    def _waits(self, task: Task) -> bool:
        return len(self.got[task.id]) < len(task.inputs)

    def _end(self, run: RunId, end: e.RunFinished) -> None:
        if self.playing.pop(run, None) is not None:
            self.book("over", self.tasks[run])
            self._say(run, end)

    def _settle(self, order: c.Order) -> None:
        assert self.worker is not None
        if order.number and not order.input:
            self.worker.settle(order.run, order.number)

    def _say(self, run: RunId, event: e.Event) -> None:
        assert self.worker is not None
        self.worker.record(run, event)
