"""Events: rvbox to core and back. One event here is one there, so that the numbers agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.json import Json
from fleetgate.core.sequence import split_bytes
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.limits import FAR
from fleetgate.protocols.rvbox.lines import line_of
from fleetgate.protocols.rvbox.translate import NATIVE, code_name
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

VIOLATION: Final = "protocol_violation"
"""The code of a diagnosis that stands for an event which the protocol does not allow. It
keeps its number: refused, it would come again with every new link."""

# --- what a client reports


def to_events(event: w.Happening | None, *, running: bool, inputs: int) -> tuple[e.Event, ...]:
    """What an event of a client means. `running`: it was seen at work; `inputs`: how many
    inputs it was given. Always at least one event of the core."""
    match event:
        case w.OutputChunk():
            return to_output(event.stream, event.data, event.offset)
        case w.StdinAck(through_write_seq=through):
            if through > inputs:
                return (_odd(f"it acknowledges input {through}, but {inputs} were given"),)
            return (e.InputAccepted(through),)
        case w.LifecycleChanged():
            return (_to_change(event, running=running),)
        case w.CommandExit():
            return (e.RunFinished(to_outcome(event)),)
        case None:
            return (_odd("an event of a kind that is not known here"),)


def _odd(what: str) -> e.Diagnosed:
    return e.Diagnosed(f"from the host: {what}", VIOLATION)


def to_output(number: int, data: bytes, offset: int) -> tuple[e.Event, ...]:
    """What an `OutputChunk` of these means."""
    stream = _STREAMS.get(number)
    if stream is None:
        return (_odd(f"output of stream {number}, which is none"),)
    if len(data) <= e.MAX_BODY:
        return (e.OutputProduced(stream, data, min(offset, FAR)),)
    return tuple(
        e.OutputProduced(stream, piece, min(offset + nth * e.MAX_BODY, FAR))
        for nth, piece in enumerate(split_bytes(data))
    )


_STREAMS: Final[Mapping[int, Stream]] = {
    w.OutputStream.STDOUT: Stream.STDOUT,
    w.OutputStream.STDERR: Stream.STDERR,
}


def _to_change(change: w.LifecycleChanged, *, running: bool) -> e.Event:
    match change.lifecycle:
        case Lifecycle.RUNNING if not running:
            return e.RunStarted(min(change.pid, FAR) or None)
        case Lifecycle.RUNNING:
            return e.StateChanged(RunState.RUNNING)
        case Lifecycle.QUEUED | Lifecycle.AWAITING_SCRIPT:
            word = Lifecycle(change.lifecycle).name.lower()
            return e.StateChanged(RunState.RUNNING if running else RunState.STARTING, word)
        case other:
            return _odd(f"a change to lifecycle {other}, which only an exit may name")


_ENDS: Final[Mapping[int, tuple[RunState, Reason]]] = {
    Lifecycle.EXITED: (RunState.FAILED, Reason.EXITED),
    Lifecycle.FAILED_TO_START: (RunState.FAILED, Reason.FAILED_TO_START),
    Lifecycle.TIMED_OUT: (RunState.FAILED, Reason.TIMED_OUT),
    Lifecycle.CANCELED: (RunState.CANCELED, Reason.CANCELED),
    Lifecycle.EXPIRED: (RunState.FAILED, Reason.EXPIRED),
    Lifecycle.LOST: (RunState.LOST, Reason.LOST),
}


def to_outcome(exit: w.CommandExit) -> Outcome:
    """How a command ended."""
    state, reason = _ENDS.get(exit.lifecycle, (RunState.FAILED, Reason.ERROR))
    message = exit.error.message if exit.error is not None else ""
    if exit.lifecycle == Lifecycle.EXITED:
        if exit.exit_code == 0 and not exit.signal:
            state = RunState.SUCCEEDED
        elif exit.exit_code is None and not exit.signal and not message:
            message = "the host told neither an exit code nor a signal"
    elif exit.lifecycle not in _ENDS:
        message = message or f"the host ended it at lifecycle {exit.lifecycle}, which is no end"
    return Outcome(
        state,
        reason,
        message,
        exit_code=exit.exit_code,
        signal=_signal_name(exit.signal),
        native=None if exit.error is None else {NATIVE: {"code": exit.error.code}},
    )


UNNAMED: Final = "unknown"
"""In place of a signal's name that is none."""

_LONGEST_SIGNAL: Final = 64


def _signal_name(name: str) -> str | None:
    if not name:
        return None
    fits = len(name) <= _LONGEST_SIGNAL and name.isascii() and name.isprintable()
    return name if fits else UNNAMED


def rejected(code: int, message: str) -> Outcome:
    """How a run ends whose dispatch was refused for good."""
    if code == Code.QUEUE_EXPIRED:
        return Outcome(RunState.FAILED, Reason.EXPIRED, message)
    if code == Code.ALREADY_FINISHED:
        text = message or "the host has finished it before, and its events are gone"
        return Outcome(RunState.LOST, Reason.LOST, text)
    return Outcome(RunState.FAILED, Reason.REFUSED, f"{code_name(code)}: {message}")


# --- what a server is told


_RUNNING: Final = w.LifecycleChanged(Lifecycle.RUNNING)
_QUEUED: Final = w.LifecycleChanged(Lifecycle.QUEUED)
_AWAITING: Final = w.LifecycleChanged(Lifecycle.AWAITING_SCRIPT)

INT32: Final = (1 << 31) - 1


class Narrator:
    """Tells the events of one run as a server hears them, in order.

    A stream's offset counts all bytes that the server got on it: the process's own, which
    carry their offset, and the lines written here. Where it does not begin with the first
    event, `told_before` is False and the offsets of such lines are not known.
    """

    __slots__ = ("_ends", "_lines", "written")

    def __init__(self, *, told_before: bool = True) -> None:
        nothing = 0 if told_before else None
        self._ends: dict[Stream, int | None] = dict.fromkeys(Stream, nothing)
        self._lines: dict[Stream, int] = dict.fromkeys(Stream, 0)
        self.written = False
        """Whether a line of ours was among what was told."""

    def tell(self, event: e.Event) -> w.Happening | None:
        """The event for the wire; None: its place is not known without the ones before it."""
        if type(event) is e.OutputProduced:
            return w.OutputChunk(*self._output(event))
        state = _state_change(event)
        if state is not None:
            return state
        line = self._line(event)
        return None if line is None else w.OutputChunk(*line)

    def pieces(self, batch: Iterable[e.Recorded], *, lines: bool) -> list[w.Piece]:
        """What `tell` tells of output and, with `lines`, of text, up to the first event that is
        neither, or a text whose place is not known. Nothing was told from there on."""
        told: list[w.Piece] = []
        for recorded in batch:
            event = recorded.event
            if type(event) is e.OutputProduced:
                told.append(self._output(event))
                continue
            piece = self._line(event) if lines and type(event) is e.TextProduced else None
            if piece is None:
                break
            told.append(piece)
        return told

    def _output(self, event: e.OutputProduced) -> w.Piece:
        stream = event.stream
        self._ends[stream] = event.offset + len(event.data)
        return _NUMBERS[stream], event.data, event.offset + self._lines[stream]

    def _line(self, event: e.Event) -> w.Piece | None:
        stream, data = line_of(event)
        end = self._ends[stream]
        if end is None:
            return None
        offset = end + self._lines[stream]
        if data:
            self._lines[stream] += len(data)
            self.written = True
        return _NUMBERS[stream], data, offset


_NUMBERS: Final[Mapping[Stream, w.OutputStream]] = {
    Stream.STDOUT: w.OutputStream.STDOUT,
    Stream.STDERR: w.OutputStream.STDERR,
}


def _state_change(event: e.Event) -> w.Happening | None:
    match event:
        case e.RunAssigned():
            return _QUEUED
        case e.RunStarted(pid=pid):
            return attrs.evolve(_RUNNING, pid=max(pid or 0, 0))
        case e.StateChanged(state=state, detail=detail):
            return _change(state, detail)
        case e.InputAccepted(through=through):
            return w.StdinAck(through)
        case e.SessionOpened() | e.ApprovalResolved():
            return _RUNNING
        case e.RunFinished(outcome=outcome):
            return from_outcome(outcome)
        case _:
            return None


def _change(state: RunState, detail: str) -> w.LifecycleChanged:
    """Never back: a worker that has the script from us may itself wait for it once more."""
    match state:
        case RunState.QUEUED:
            return _AWAITING if detail == "awaiting_script" else _QUEUED
        case RunState.STARTING:
            return _QUEUED
        case _:
            return _RUNNING


def from_outcome(outcome: Outcome) -> w.CommandExit:
    """How a run ended, as a command's exit."""
    lifecycle = _lifecycle(outcome)
    return w.CommandExit(
        lifecycle=lifecycle,
        exit_code=_exit_code(outcome, lifecycle),
        signal=_signal_name(outcome.signal or "") or "",
        error=_exit_error(outcome),
    )


_LIFECYCLES: Final[Mapping[Reason, Lifecycle]] = {
    Reason.EXITED: Lifecycle.EXITED,
    Reason.FAILED_TO_START: Lifecycle.FAILED_TO_START,
    Reason.TIMED_OUT: Lifecycle.TIMED_OUT,
    Reason.CANCELED: Lifecycle.CANCELED,
    Reason.EXPIRED: Lifecycle.EXPIRED,
    Reason.LOST: Lifecycle.LOST,
    Reason.REFUSED: Lifecycle.FAILED_TO_START,
    Reason.ERROR: Lifecycle.EXITED,
}
_ERRORS: Final[Mapping[Reason, Code]] = {
    Reason.FAILED_TO_START: Code.INTERNAL,
    Reason.TIMED_OUT: Code.INTERNAL,
    Reason.EXPIRED: Code.QUEUE_EXPIRED,
    Reason.LOST: Code.INTERNAL,
    Reason.REFUSED: Code.INVALID_ARGUMENT,
    Reason.ERROR: Code.INTERNAL,
}
"""An exit and a cancel are no errors: code and signal say all of them."""

_ERRORS_ONLY: Final = frozenset({Reason.REFUSED, Reason.ERROR})
"""Endings that have no lifecycle of their own."""


def _lifecycle(outcome: Outcome) -> Lifecycle:
    match outcome.state:
        case RunState.LOST:
            return Lifecycle.LOST
        case RunState.CANCELED:
            return Lifecycle.CANCELED
        case RunState.SUCCEEDED:
            return Lifecycle.EXITED
        case _:
            return _LIFECYCLES[outcome.reason]


def _exit_code(outcome: Outcome, lifecycle: Lifecycle) -> int | None:
    if outcome.exit_code is not None:
        return min(max(outcome.exit_code, -INT32 - 1), INT32)
    if lifecycle is not Lifecycle.EXITED or outcome.signal:
        return None
    return 0 if outcome.state is RunState.SUCCEEDED else 1


def _exit_error(outcome: Outcome) -> w.ControlError | None:
    code = _kept_code(outcome.native)
    if code is None and (outcome.message or outcome.reason in _ERRORS_ONLY):
        code = _ERRORS.get(outcome.reason)
    return None if code is None else w.ControlError(code, _message(outcome.message))


_LONGEST_MESSAGE: Final = 64 << 10
"""Bytes. An exit that does not fit a frame would end every link that tells it."""


def _message(text: str) -> str:
    return text.encode("utf-8", "replace")[:_LONGEST_MESSAGE].decode("utf-8", "ignore")


def _kept_code(native: Json) -> int | None:
    kept = native.get(NATIVE) if isinstance(native, Mapping) else None
    code = kept.get("code") if isinstance(kept, Mapping) else None
    return code if isinstance(code, int) and 0 < code <= INT32 else None
