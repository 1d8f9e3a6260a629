"""A scripted run: its steps, carried out on trio's clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import trio

from fleetgate.core.errors import ResourceExhausted, RunNotFound
from fleetgate.core.events import MAX_BODY, Outcome, OutputProduced, Reason, RunState, Stream
from fleetgate.core.ids import RunId
from fleetgate.gateway.local.launch import takes_input
from fleetgate.gateway.local.script import ECHO, Script
from fleetgate.gateway.local.script_steps import (
    Ask,
    Drop,
    Fail,
    Finish,
    Hang,
    ReadInput,
    Repeat,
    Say,
    Sleep,
    Step,
    Write,
    unrolled,
)
from fleetgate.gateway.local.work import Work, WorkFailed

MAX_APPENDED: Final = 10_000
"""Appended steps of a run that are not done yet: what a test writes by hand is some ten, and a
program that appends without an end is refused `resource_exhausted`."""

DONE: Final = Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0)


def keep_links() -> None:
    """What `drop` does where there is no link to cut."""


class Player:
    """One run by its steps. `hears`: input may reach it."""

    def __init__(
        self, steps: Sequence[Step], drop: Callable[[], None] = keep_links, *, hears: bool = True
    ) -> None:
        self._drop = drop
        self._hears = hears
        self._steps: Iterator[Step] = unrolled(steps)
        self._part = 0
        """What the current steps came with: 0 the script, then each `append`."""
        self._waiting: deque[tuple[int, Step]] = deque()
        self._appends = 0
        self._appended = trio.Event()
        self._written = {Stream.STDOUT: 0, Stream.STDERR: 0}

    def append(self, steps: Sequence[Step]) -> None:
        """Do these too, behind all others. A `hang` that came earlier ends, or will not begin.

        Raises: `ResourceExhausted`, and none of them is done.
        """
        if len(self._waiting) + len(steps) > MAX_APPENDED:
            raise ResourceExhausted(f"{MAX_APPENDED} appended steps wait already; let some be done")
        self._appends += 1
        self._waiting.extend((self._appends, step) for step in steps)
        self._appended.set()

    async def play(self, work: Work) -> Outcome:
        """Do the steps; the outcome is that of the first that ends the run. Steps that run out
        end it well."""
        work.started()
        while True:
            for step in self._steps:
                await work.wait_room()
                if (outcome := await self._do(step, work)) is not None:
                    return outcome
            if not self._waiting:
                return DONE
            self._part, step = self._waiting.popleft()
            self._steps = unrolled((step,))

    async def _do(self, step: Step, work: Work) -> Outcome | None:
        match step:
            case Say(events=events):
                for event in events:
                    work.tell(event)
            case Write(stream=stream, data=data):
                self._write(stream, data, work)
            case Ask(request=request):
                await work.ask(request.approval, request)
            case ReadInput():
                await self._read_input(work)
            case Sleep(seconds=seconds):
                await trio.sleep(seconds)
            case Drop():
                self._drop()
            case Hang():
                await self._hang()
            case Finish() | Fail():
                return _end(step)
            case Repeat():
                raise TypeError("repeats are unrolled before they are done")
        return None

    def _write(self, stream: Stream, data: bytes, work: Work) -> None:
        for start in range(0, len(data), MAX_BODY):
            piece = data[start : start + MAX_BODY]
            work.tell(OutputProduced(stream, piece, self._written[stream]))
            self._written[stream] += len(piece)

    async def _read_input(self, work: Work) -> None:
        if not self._hears:
            said = "the script reads input, and this protocol carries none to a run"
            raise WorkFailed("unsupported_input", said)
        if not (takes_input(work.spec) or work.spec.approvals):
            said = "the script reads input, and this run takes none; start it interactive"
            raise WorkFailed("unsupported_input", said)
        await work.take_input(1)

    async def _hang(self) -> None:
        while self._appends <= self._part:
            self._appended = trio.Event()
            await self._appended.wait()


def _end(step: Finish | Fail) -> Outcome:
    if isinstance(step, Fail):
        return Outcome(RunState.FAILED, Reason.ERROR, step.message)
    if step.exit == 0:
        return Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0, text=step.text)
    message = f"exit code {step.exit}"
    return Outcome(RunState.FAILED, Reason.EXITED, message, exit_code=step.exit, text=step.text)


class Stage:
    """Where scripted runs are played: the script, and the runs by their ids. `drop` is called
    by a step that cuts links. `hears`: input may reach a run."""

    def __init__(
        self, script: Script = ECHO, drop: Callable[[], None] = keep_links, *, hears: bool = True
    ) -> None:
        self.script = script
        """May be replaced: it counts for runs that start from then on."""
        self._drop = drop
        self._hears = hears
        self._players: dict[RunId, Player] = {}

    @property
    def runs(self) -> tuple[RunId, ...]:
        """The runs that are being played."""
        return tuple(self._players)

    def emit(self, run: RunId, steps: Sequence[Step]) -> None:
        """Append steps to a run.

        Raises: `RunNotFound`, `ResourceExhausted`.
        """
        if run not in self._players:
            raise RunNotFound(f"no scripted run {run} is open here")
        self._players[run].append(steps)

    async def perform(self, work: Work) -> Outcome:
        """The job of a scripted run."""
        steps = self.script.steps_for(work.spec.input)
        player = Player(steps, self._drop, hears=self._hears)
        self._players[work.run] = player
        try:
            return await player.play(work)
        finally:
            del self._players[work.run]
