"""One run, from its start order to its end."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core.errors import InvalidArgument, Refusal, UnsupportedInput
from fleetgate.core.events import (
    InputAccepted,
    Outcome,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    SessionOpened,
    Stream,
)
from fleetgate.core.ids import RunId
from fleetgate.core.times import SECOND
from fleetgate.gateway.local.launch import CannotStart, discard, prepare, takes_input
from fleetgate.gateway.local.output import Relay
from fleetgate.gateway.local.process import ProcessGroup, spawn
from fleetgate.gateway.local.stdin import Batch, InputQueue
from fleetgate.gateway.local.work import Reporter, keep_note

HELD_OPEN: Final = 5.0
"""Seconds that output is still waited for after the program's end, where children hold it
open."""

KILL_AFTER: Final = 10.0
"""Seconds from TERM to KILL once the run's timeout has passed, or it was canceled."""

_SIGNALS: Final = {
    c.Signal.INTERRUPT: signal.SIGINT,
    c.Signal.TERMINATE: signal.SIGTERM,
    c.Signal.KILL: signal.SIGKILL,
    c.Signal.HANGUP: signal.SIGHUP,
}

_ENDING: Final = frozenset({signal.SIGTERM, signal.SIGKILL})


@attrs.frozen(slots=True)
class Ground:
    """Where runs are executed: the directory that relative and omitted working directories
    start from, the one that scripts are stored in, the seconds from a cancel to the kill, and
    the lock that makes one start at a time. Without it a fork could hold another run's script
    open for writing, and a file open for writing cannot be executed."""

    directory: str
    scripts: Path
    cancel_grace: float = KILL_AFTER
    starting: trio.Lock = attrs.field(factory=trio.Lock)


class Execution:
    """A run of a local worker. `give` takes its orders at any time; `run` executes it."""

    def __init__(
        self, run: RunId, spec: c.RunSpec, ground: Ground, reporter: Reporter, session: str = ""
    ) -> None:
        """`session` exists from the start of the run on, though a command keeps nothing of it;
        empty: the run is of none."""
        self._run = run
        self._session = session
        self._spec = spec
        self._ground = ground
        self._reporter = reporter
        self._inputs = InputQueue()
        self._input_open = takes_input(spec)
        self._input_unread = False
        """The command has closed its input: nobody will ever read more of it."""
        self._group: ProcessGroup | None = None
        self._early: list[c.Order] = []
        self._sent: set[signal.Signals] = set()
        self._ended = False
        self._timed_out = False
        self._canceled = trio.Event()
        self._started = trio.Event()

    # --- orders

    def give(self, order: c.Order) -> None:
        """Carry out an order, or refuse it. Signals that come before the start are kept."""
        match order.command:
            case c.SendInput() | c.CloseInput():
                self._take_input(order)
            case c.SignalRun() | c.CancelRun():
                self._take_signal(order)
            case _:
                what = type(order.command).__name__
                self._settle(order, UnsupportedInput(f"a local command takes no {what}"))

    def _take_input(self, order: c.Order) -> None:
        if self._input_open:
            self._inputs.put(order)
        elif self._input_unread:
            self._reporter.record(self._run, InputAccepted(order.input))
        else:
            self._settle(order, InvalidArgument("the command's standard input is closed"))

    def _take_signal(self, order: c.Order) -> None:
        if self._group is None:
            self._early.append(order)
            return
        command = order.command
        again = False
        if isinstance(command, c.SignalRun):
            number = _SIGNALS[command.signal]
        else:
            number = signal.SIGTERM
            again = self._canceled.is_set()  # a second TERM may cut a clean-up short
            self._canceled.set()
        if not self._ended:
            self._sent.add(number)
        if again or self._group.signal(number):
            self._settle(order)
        else:
            self._settle(order, InvalidArgument("the command runs as a user we may not signal"))

    def _settle(self, order: c.Order, error: Refusal | None = None) -> None:
        self._reporter.settle(self._run, order.number, error)

    # --- from start to end

    async def run(self) -> None:
        """Execute it and report all of it. Cancelled, the process group is ended within
        seconds, and no end is reported."""
        outcome = await self._execute()
        self._reporter.record(self._run, RunFinished(outcome))

    async def _execute(self) -> Outcome:
        script: Path | None = None
        try:
            async with self._ground.starting:
                if self._early:
                    return self._never_ran()
                launch = prepare(
                    self._run, self._spec, self._ground.directory, self._ground.scripts
                )
                script = launch.script
                group = await spawn(launch)
            return await self._accompany(group)
        except CannotStart as error:
            return Outcome(RunState.FAILED, Reason.FAILED_TO_START, str(error))
        finally:
            discard(script)

    def _never_ran(self) -> Outcome:
        for order in self._early:
            self._settle(order)
        return Outcome(RunState.CANCELED, Reason.CANCELED, "canceled before it was started")

    async def _accompany(self, group: ProcessGroup) -> Outcome:
        try:
            self._group = group
            for order in self._early:
                self._take_signal(order)
            await self._work(group)
            code = await group.reap()
            return self._outcome(code)
        finally:
            await group.stop()

    async def _work(self, group: ProcessGroup) -> None:
        """All that happens while the program lives, and shortly after."""
        relays = self._relays(group)
        async with trio.open_nursery() as feeding:
            feeding.start_soon(self._feed, group)
            async with trio.open_nursery() as reading:
                reading.start_soon(self._report_output, group, relays)
                await self._wait_ended(group)
                for relay in relays:
                    relay.stop_at(trio.current_time() + HELD_OPEN)
            feeding.cancel_scope.cancel()
        if self._timed_out or self._sent & _ENDING:
            # Whoever ends a run wants all of it ended, also what outlives its leader.
            group.signal(signal.SIGKILL)

    def _relays(self, group: ProcessGroup) -> tuple[Relay, ...]:
        streams = ((group.stdout, Stream.STDOUT), (group.stderr, Stream.STDERR))
        report = partial(self._reporter.record, self._run)
        return tuple(
            Relay(stream, name, report, self._reporter.wait_room)
            for stream, name in streams
            if stream is not None
        )

    async def _report_output(self, group: ProcessGroup, relays: tuple[Relay, ...]) -> None:
        await keep_note(self._reporter, self._run, group.note())
        self._reporter.record(self._run, RunStarted(group.pid))
        if self._session:
            self._reporter.record(self._run, SessionOpened(self._session))
        self._started.set()
        async with trio.open_nursery() as nursery:
            for relay in relays:
                nursery.start_soon(relay.run)

    async def _wait_ended(self, group: ProcessGroup) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._kill_canceled, group)
            await self._wait_timeout(group)
            nursery.cancel_scope.cancel()

    async def _kill_canceled(self, group: ProcessGroup) -> None:
        """A cancel takes effect, whatever the command makes of the TERM that came first."""
        await self._canceled.wait()
        await trio.sleep(self._ground.cancel_grace)
        self._sent.add(signal.SIGKILL)
        group.signal(signal.SIGKILL)

    async def _wait_timeout(self, group: ProcessGroup) -> None:
        timeout = self._spec.timeout
        with trio.move_on_after(float("inf") if timeout is None else timeout / SECOND):
            await group.wait_ended()
            self._ended = True
            return
        self._timed_out = True
        group.signal(signal.SIGTERM)
        with trio.move_on_after(KILL_AFTER) as grace:
            await group.wait_ended()
        if grace.cancelled_caught:
            group.signal(signal.SIGKILL)
            await group.wait_ended()
        self._ended = True

    async def _feed(self, group: ProcessGroup) -> None:
        """Write the inputs to the program as they come."""
        if group.stdin is None:
            return
        await self._started.wait()
        while self._input_open:
            batch = await self._inputs.take()
            if await _write(group.stdin, batch):
                self._reporter.record(self._run, InputAccepted(batch.through))
                self._input_open = not batch.closes
            else:
                self._give_up_input(batch)

    def _give_up_input(self, batch: Batch) -> None:
        """The command has closed its input, which is no error of whoever writes: what comes is
        confirmed and dropped. Unconfirmed, it would be kept and sent until the run ends."""
        self._input_open = False
        self._input_unread = True
        last = (*batch.orders, *self._inputs.rest())[-1]
        self._reporter.record(self._run, InputAccepted(last.input))

    def _outcome(self, code: int) -> Outcome:
        ended = exit_outcome(code)
        if self._timed_out:
            late, said = RunState.FAILED, "its timeout has passed"
            return attrs.evolve(ended, state=late, reason=Reason.TIMED_OUT, message=said)
        if ended.signal is not None and ended.signal in (each.name for each in self._sent):
            gone = RunState.CANCELED
            return attrs.evolve(ended, state=gone, reason=Reason.CANCELED, message="canceled")
        return ended


async def _write(stdin: trio.abc.SendStream, batch: Batch) -> bool:
    try:
        if batch.data:
            await stdin.send_all(batch.data)
        if batch.closes:
            await stdin.aclose()
    except trio.BrokenResourceError:
        return False
    return True


def exit_outcome(code: int) -> Outcome:
    """How a program ended by itself: its exit code, or minus the signal that it died of."""
    if code == 0:
        return Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0)
    if code > 0:
        said = f"exit code {code}"
        return Outcome(RunState.FAILED, Reason.EXITED, said, exit_code=code)
    name = signal_name(-code)
    return Outcome(RunState.FAILED, Reason.EXITED, f"died of {name}", signal=name)


def signal_name(number: int) -> str:
    """`SIGTERM` and the like; those without a name by number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
