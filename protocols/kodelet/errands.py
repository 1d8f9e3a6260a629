"""Runs of the core that are no runs at a runner: a workspace's changes, its terminal (W 14.2).

A tool call named `workspace.git.diff` or `workspace.terminal` is one, where the runner offers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core.commands import Order, RunSpec, Signal, ToolCall
from fleetgate.core.errors import UnsupportedInput, WorkerFailed
from fleetgate.core.events import (
    Diagnosed,
    Event,
    Outcome,
    OutputProduced,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    Stream,
    TextProduced,
)
from fleetgate.core.ids import RunId
from fleetgate.core.json import Json
from fleetgate.protocols.api import NO_STEPS, Record, Settle, Step, Steps
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import workspace as ws
from fleetgate.protocols.kodelet.lease import Ended, ended
from fleetgate.protocols.kodelet.peer import Answered, Broken, Peer
from fleetgate.protocols.kodelet.structs import read
from fleetgate.protocols.kodelet.ward import STOPPED, failed, lost
from fleetgate.protocols.kodelet.wire import RunnerCapabilities

TERMINAL: Final = "workspace.terminal"
_INTERRUPT: Final = b"\x03"
_PIECE: Final = 16_384
"""Characters that surely fit into an event's body."""


@attrs.define(slots=True, eq=False)
class _Errand:
    """`call` is the wire id of what it waits for; a terminal has a session and a cursor."""

    run: RunId
    call: str = ""
    session: str = ""
    cursor: int = 0


class Errands:
    """All of one connection."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._all: dict[RunId, _Errand] = {}
        self.offered = RunnerCapabilities()

    def start(self, order: Order, spec: RunSpec) -> Steps | None:
        """Begin, where the run is an errand; None where it is none."""
        call = spec.input
        if not isinstance(call, ToolCall) or call.name not in (ws.GIT_DIFF, TERMINAL):
            return None
        diff = call.name == ws.GIT_DIFF
        offers = self.offered.workspace_git_diff if diff else self.offered.workspace_terminal
        if not offers:
            text = f"this runner does not offer {call.name}, as kodelet 0.5.36 and later do"
            return (Record(order.run, (RunFinished(failed(text, Reason.REFUSED)),)),)
        errand = self._all[order.run] = _Errand(order.run)
        if diff:
            self._call(errand, ws.GIT_DIFF, ws.NoParams(), self._diffed)
        else:
            self._call(errand, ws.OPEN, _size(call.input), self._opened)
        return NO_STEPS

    def _call(self, errand: _Errand, method: str, params: Any, then: Any) -> None:
        def answered(answer: Answered | Broken, now: int) -> Steps:
            errand.call = ""
            try:
                return self._checked(errand, ended(answer), then)
            except Malformed as error:
                return self._finish(errand, lost(f"the runner's answer cannot be read: {error}"))

        errand.call = self._peer.call(method, params, answered)

    def _checked(self, errand: _Errand, outcome: Ended, then: Any) -> Steps:
        if not outcome.text:
            steps: Steps = then(errand, outcome.result)
            return steps
        ending = failed(outcome.text) if outcome.error is not None else lost(outcome.text)
        return self._finish(errand, ending)

    # --- what has changed

    def _diffed(self, errand: _Errand, result: Any) -> Steps:
        found = read(ws.GitDiff, result)
        diff = found.diff
        said: list[Event] = [RunStarted()]
        said += [TextProduced(diff[at : at + _PIECE]) for at in range(0, len(diff), _PIECE)]
        if found.truncated:
            said.append(Diagnosed("the diff is longer than what the runner gives", "truncated"))
        text = diff if len(diff) <= _PIECE else None
        ending = Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=found.exit_code, text=text)
        return self._finish(errand, ending, *said)

    # --- the terminal

    def _opened(self, errand: _Errand, result: Any) -> Steps:
        terminal = read(ws.Terminal, result)
        errand.session, errand.cursor = terminal.session_id, terminal.replay_cursor
        self._read(errand)
        return (Record(errand.run, (RunStarted(pid=terminal.pid or None),)),)

    def _read(self, errand: _Errand) -> None:
        asked = ws.TerminalRead(errand.session, errand.cursor)
        self._call(errand, ws.READ, asked, self._came)

    def _came(self, errand: _Errand, result: Any) -> Steps:
        output = read(ws.TerminalOutput, result)
        data = ws.decoded(output.data)
        begins = output.next_cursor - len(data)
        if begins < errand.cursor or (begins > errand.cursor and not output.truncated):
            raise Malformed("nextCursor: the output does not go on where it ended")
        said: list[Event] = []
        if begins > errand.cursor:
            text = f"{begins - errand.cursor} bytes of the terminal's output were dropped"
            said.append(Diagnosed(text, "terminal_gap"))
        for at in range(0, len(data), _PIECE):
            said.append(OutputProduced(Stream.STDOUT, data[at : at + _PIECE], begins + at))
        errand.cursor = output.next_cursor
        if output.exited:
            code = output.exit_code or 0
            state = RunState.FAILED if code else RunState.SUCCEEDED
            return self._finish(errand, Outcome(state, Reason.EXITED, exit_code=code), *said)
        self._read(errand)
        return (Record(errand.run, tuple(said)),) if said else NO_STEPS

    # --- orders

    def perform(self, order: Order) -> Steps | None:
        """An order about an errand; None where the run is none."""
        errand = self._all.get(order.run)
        if errand is None:
            return None
        match order.command:
            case c.SendInput(data=data, newline=newline) if errand.session:
                return self._input(errand, order, data + b"\n" * newline)
            case c.SignalRun(signal=Signal.INTERRUPT) if errand.session:
                return self._input(errand, order, _INTERRUPT)
            case c.ResizeTerminal(rows=rows, columns=columns) if errand.session:
                size = ws.TerminalResize(errand.session, rows, columns)
                self._peer.call(ws.RESIZE, size, partial(self._settled, order))
                return NO_STEPS
            case c.CancelRun() | c.SignalRun():
                settled = Settle(order.run, order.number)
                return (settled, *self._finish(errand, STOPPED))
            case _:
                what = type(order.command).__name__
                refusal = UnsupportedInput(f"a runner's workspace takes no {what}")
                return (Settle(order.run, order.number, refusal),)

    def _input(self, errand: _Errand, order: Order, data: bytes) -> Steps:
        """What is too long for one message goes in pieces; the last one settles the order."""
        for at in range(0, max(1, len(data)), ws.MAX_INPUT):
            piece = data[at : at + ws.MAX_INPUT]
            then = self._settled if at + ws.MAX_INPUT >= len(data) else self._passed
            asked = ws.TerminalInput(errand.session, ws.encoded(piece))
            self._peer.call(ws.INPUT, asked, partial(then, order))
        return NO_STEPS

    def _passed(self, order: Order, answer: Answered | Broken, now: int) -> Steps:
        return NO_STEPS

    def _settled(self, order: Order, answer: Answered | Broken, now: int) -> Steps:
        outcome = ended(answer)
        refusal = WorkerFailed(outcome.text) if outcome.text else None
        return (Settle(order.run, order.number, refusal),)

    # --- ending

    def _finish(self, errand: _Errand, outcome: Outcome, *before: Event) -> Steps:
        """A terminal that is let go lives on at the runner, whose only one it is."""
        del self._all[errand.run]
        self._peer.abandon(errand.call)
        return (Record(errand.run, (*before, RunFinished(outcome))),)

    def lose_all(self, why: str) -> Steps:
        """The runner is gone, or counts no more."""
        steps: list[Step] = []
        for errand in list(self._all.values()):
            self._peer.abandon_silently(errand.call)
            errand.call = ""
            steps += self._finish(errand, lost(why))
        return steps

    def forget(self) -> None:
        """They are another link's from now on."""
        for errand in self._all.values():
            self._peer.abandon_silently(errand.call)
        self._all.clear()


def _size(given: Json) -> ws.TerminalOpen:
    """The size that a call asks for; anything else in its input is passed over."""
    if not isinstance(given, Mapping):
        return ws.TerminalOpen()
    rows, columns = given.get("rows"), given.get("cols")
    return ws.TerminalOpen(rows if type(rows) is int else 0, columns if type(columns) is int else 0)
