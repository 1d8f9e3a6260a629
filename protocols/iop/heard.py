"""What a node says of a run: run events as core events. Pure and total.

An event of ours is told by its reserved metadata and becomes what it was. Of a foreign node a
missing start is added, and what comes twice or after the end is dropped.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.ids import RunId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.run import Run
from fleetgate.core.sequence import split_bytes, split_text
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import STATUS
from fleetgate.protocols.iop.names import BODY, FLUSH, KIND, RESERVED, SEQ, STREAM
from fleetgate.protocols.iop.narrator import NODE_LOST, TIMEOUT
from fleetgate.protocols.iop.translate import NATIVE
from fleetgate.protocols.json_text import Malformed, load

TYPES: Final = frozenset({"start", "delta", "complete", "error", "cancelled"})
ENDS: Final = frozenset({"complete", "error", "cancelled"})

LARGEST: Final = (1 << 63) - 1
_DIGITS: Final = 19
_INT32: Final = (1 << 31) - 1
_MAX_METADATA: Final = 16 * 1024
"""Bytes of a last event's own metadata that are kept with the outcome."""


@attrs.define(slots=True)
class Tracked:
    """One run at a node: what was heard of it. `last` is the number of the last event, 0 for
    none; `asked` the session that was asked for, `session` the one it is known to have. `ends_at`
    is when it must have ended, in Unix nanoseconds; `lossy`: something of it was dropped; `time`
    the latest that the node's own clock has shown."""

    run: RunId
    asked: str = ""
    adapter: str = ""
    target: str = ""
    timeout: int | None = None
    last: int = 0
    heard: bool = False
    started: bool = False
    ended: bool = False
    session: str = ""
    usage: w.Usage | None = None
    lossy: bool = False
    time: int = 0
    offsets: dict[Stream, int] = attrs.field(factory=lambda: dict.fromkeys(Stream, 0))


def tracked_of(run: Run) -> Tracked:
    """A run that the core holds, as a new link of its node takes it up."""
    spec = run.work
    return Tracked(
        run.id,
        spec.session or spec.resume or "",
        timeout=spec.timeout,
        last=run.native_seq,
        heard=run.accepted,
        started=run.started > 0,
        session=run.native_session or "",
    )


def seq_of(event: w.RunEvent) -> int | None:
    """The event's number; None where it has none that can be one."""
    text = event.metadata.get(SEQ, "")
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        return None
    seq = int(text)
    return seq if 0 < seq <= LARGEST else None


def hear(tracked: Tracked, event: w.RunEvent) -> tuple[e.Event, ...]:
    """Take an event; what it says that is news. Its type is one of `TYPES`."""
    tracked.heard = True
    seq = seq_of(event)
    if tracked.ended or (seq is not None and seq <= tracked.last):
        return ()
    found = [*_gap(tracked, seq), *_events(tracked, event)]
    if seq is not None:
        tracked.last = seq
    tracked.started = tracked.started or any(isinstance(each, e.RunStarted) for each in found)
    tracked.ended = event.type in ENDS
    return tuple(found)


def _gap(tracked: Tracked, seq: int | None) -> Iterator[e.Event]:
    """What comes before a start rides in it; behind it every number comes."""
    if tracked.started and tracked.last and seq is not None and seq > tracked.last + 1:
        yield e.GapFound(tracked.last + 1, seq - 1, "the node did not send them again")


def _events(tracked: Tracked, event: w.RunEvent) -> Iterator[e.Event]:
    kind, body = event.metadata.get(KIND, ""), _body(event)
    tracked.lossy = tracked.lossy or _trimmed(event)
    waits = kind == "state" and not tracked.started and event.type == "delta"
    if event.type == "start":
        yield from _start(tracked, event, kind, body)
    elif not (tracked.started or waits or event.type == "error"):
        yield e.RunStarted()
        yield from _session(tracked, event)
    elif not waits:
        yield from _session(tracked, event)
    yield from _usage(tracked, event, kind)
    if event.type in ENDS:
        yield from _texts(event.delta) if event.delta else ()
        yield e.RunFinished(_outcome(tracked, event, body))
    elif event.type == "delta":
        yield from _delta(tracked, event, kind, body)
    elif event.delta:
        yield from _texts(event.delta)


def _trimmed(event: w.RunEvent) -> bool:
    """Whether it has a text or metadata that its type has no place for."""
    misplaced = bool(event.error) and event.type != "error"
    if event.type in ENDS:
        own = _own_metadata(event)
        return misplaced or bool(own and _native(event) is None)
    return misplaced or bool(event.message) or not event.metadata.keys() <= RESERVED


def _start(
    tracked: Tracked, event: w.RunEvent, kind: str, body: Mapping[str, Json]
) -> Iterator[e.Event]:
    if tracked.started:
        return
    before = body.get("before")
    for each in before if isinstance(before, list) else ():
        if isinstance(each, list) and len(each) == 2 and isinstance(each[1], Mapping):
            told = _told(str(each[0]), each[1])
            if told is not None:
                yield told
    if kind == "session":
        tracked.started = True
        yield from _opened(tracked, body)
    else:
        yield e.RunStarted(_number(body.get("pid")))
    yield from _session(tracked, event)


def _session(tracked: Tracked, event: w.RunEvent) -> Iterator[e.Event]:
    """The session that the event names, or the one asked for, where that is news."""
    if event.metadata.get(KIND) == "session" and event.type == "delta":
        return
    name = event.session_id or tracked.session or tracked.asked
    if name and name != tracked.session and len(name.encode()) <= w.MAX_ID:
        tracked.session = name
        yield e.SessionOpened(name)


def _usage(tracked: Tracked, event: w.RunEvent, kind: str) -> Iterator[e.Event]:
    usage = event.usage
    if usage is None or usage == tracked.usage:
        return
    tracked.usage = usage
    if kind != "usage":
        yield e.UsageReported(max(0, usage.input_tokens), max(0, usage.output_tokens))


def _body(event: w.RunEvent) -> Mapping[str, Json]:
    text = event.metadata.get(BODY)
    if not text:
        return NOTHING
    try:
        body: Json = load(text.encode())
    except Malformed:
        return NOTHING
    return body if isinstance(body, Mapping) else NOTHING


# --- deltas


def _delta(
    tracked: Tracked, event: w.RunEvent, kind: str, body: Mapping[str, Json]
) -> Iterator[e.Event]:
    if kind == FLUSH:
        return
    if kind == "session":
        yield from _opened(tracked, body)
        return
    if kind == "reasoning":
        yield from (e.ReasoningProduced(piece) for piece in split_text(event.delta))
        return
    if kind == "tool_progress":
        call = _text(body.get("call"))
        yield from (e.ToolProgressed(piece, call) for piece in split_text(event.delta))
        return
    told = _told(kind, body)
    if told is not None:
        yield told
        return
    stream = _STREAMS.get(event.metadata.get(STREAM, ""))
    if stream is not None:
        yield from _output(tracked, event.delta, stream, body)
    elif event.delta or (SEQ in event.metadata and not kind):
        yield from _texts(event.delta)
    if kind and not event.delta:
        tracked.lossy = True


def _texts(text: str) -> Iterator[e.Event]:
    return (e.TextProduced(piece) for piece in split_text(text))


_STREAMS: Final[Mapping[str, Stream]] = {stream.value: stream for stream in Stream}


def _output(
    tracked: Tracked, delta: str, stream: Stream, body: Mapping[str, Json]
) -> Iterator[e.Event]:
    data = _bytes(body.get("data_base64"))
    offset = _number(body.get("offset"))
    at = tracked.offsets[stream] if offset is None else offset
    for piece in split_bytes(delta.encode() if data is None else data):
        yield e.OutputProduced(stream, piece, min(at, LARGEST))
        at += len(piece)
    tracked.offsets[stream] = at


def _bytes(value: Json) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None


def _opened(tracked: Tracked, body: Mapping[str, Json]) -> Iterator[e.Event]:
    """A session that is named once more, and nothing new of it, is no news."""
    name, model = _text(body.get("native_session")), _text(body.get("model"))
    tracked.lossy = tracked.lossy or name is None
    if name is None or (name and name == tracked.session and model is None):
        return
    tracked.session = name
    yield e.SessionOpened(name, model)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> int | None:
    return value if type(value) is int and 0 <= value <= LARGEST else None


def _told(kind: str, body: Mapping[str, Json]) -> e.Event | None:
    """An event whose members are in its body; None for another kind, or a body that is not so."""
    make = _TOLD.get(kind)
    try:
        return None if make is None else make(body)
    except (KeyError, ValueError, TypeError):
        return None


def _str(body: Mapping[str, Json], key: str) -> str:
    value = body.get(key, "")
    if not isinstance(value, str):
        raise TypeError(key)
    return value


def _int(body: Mapping[str, Json], key: str) -> int:
    value = _number(body[key])
    if value is None:
        raise TypeError(key)
    return value


def _state(body: Mapping[str, Json]) -> e.Event:
    """A state of waiting, of a run that a worker has, is `starting` here."""
    state = RunState(_str(body, "state"))
    if state.terminal:
        raise ValueError(state)
    queued = state is RunState.QUEUED
    return e.StateChanged(RunState.STARTING if queued else state, _str(body, "detail"))


def _decided(body: Mapping[str, Json]) -> e.Event:
    decision = e.Decision(_str(body, "decision"))
    return e.ApprovalResolved(_str(body, "approval"), decision, _text(body.get("value")))


def _returned(body: Mapping[str, Json]) -> e.Event:
    ok = body.get("ok")
    return e.ToolReturned(
        _str(body, "output"), ok if isinstance(ok, bool) else None, _text(body.get("call"))
    )


_TOLD: Final[Mapping[str, Callable[[Mapping[str, Json]], e.Event]]] = {
    "started": lambda body: e.RunStarted(_number(body.get("pid"))),
    "state": _state,
    "message_end": lambda _: e.MessageEnded(),
    "tool_call": lambda body: e.ToolCalled(
        _str(body, "name"), body.get("input"), _text(body.get("call"))
    ),
    "tool_result": _returned,
    "approval": lambda body: e.ApprovalRequested(
        _str(body, "approval"), _str(body, "title"), body.get("detail")
    ),
    "approval_resolved": _decided,
    "input": lambda body: e.InputAccepted(_int(body, "through")),
    "usage": lambda body: e.UsageReported(
        _number(body.get("input_tokens")), _number(body.get("output_tokens")), body.get("detail")
    ),
    "rate_limit": lambda body: e.RateLimited(body.get("detail")),
    "compaction": lambda body: e.HistoryCompacted(body.get("detail")),
    "commands": lambda body: e.CommandsListed(body.get("detail")),
    "diagnosed": lambda body: e.Diagnosed(_str(body, "message"), _str(body, "code")),
    "gap": lambda body: e.GapFound(
        _int(body, "from_seq"), _int(body, "to_seq"), _str(body, "reason")
    ),
}


# --- the end


def _outcome(tracked: Tracked, event: w.RunEvent, body: Mapping[str, Json]) -> Outcome:
    known = _own_outcome(event.type, body)
    if known is not None:
        return known
    native = _native(event)
    match event.type:
        case "complete":
            return Outcome(
                RunState.SUCCEEDED, Reason.EXITED, text=event.message or None, native=native
            )
        case "cancelled":
            return Outcome(RunState.CANCELED, Reason.CANCELED, event.message, native=native)
        case _:
            state, reason = _failure(tracked, event.error)
            return Outcome(state, reason, event.error, text=event.message or None, native=native)


def _failure(tracked: Tracked, error: str) -> tuple[RunState, Reason]:
    if error.startswith(TIMEOUT):
        return RunState.FAILED, Reason.TIMED_OUT
    if error == NODE_LOST:
        return RunState.LOST, Reason.LOST
    refused = not tracked.started and error.partition(":")[0] in STATUS
    return RunState.FAILED, Reason.REFUSED if refused else Reason.ERROR


def _own_metadata(event: w.RunEvent) -> dict[str, str]:
    return {key: value for key, value in event.metadata.items() if key not in RESERVED}


def _native(event: w.RunEvent) -> Json:
    own = _own_metadata(event)
    size = sum(len(key) + len(value) for key, value in own.items())
    return {NATIVE: {"metadata": own}} if own and size <= _MAX_METADATA else None


_STATES: Final[Mapping[str, frozenset[RunState]]] = {
    "complete": frozenset({RunState.SUCCEEDED}),
    "cancelled": frozenset({RunState.CANCELED}),
    "error": frozenset({RunState.FAILED, RunState.LOST}),
}


def _own_outcome(type: str, body: Mapping[str, Json]) -> Outcome | None:
    """An outcome that another gateway put into words of its own."""
    try:
        state, reason = RunState(_str(body, "state")), Reason(_str(body, "reason"))
        message = _str(body, "message")
    except (ValueError, TypeError):
        return None
    if state not in _STATES[type]:
        return None
    code: Any = body.get("exit_code")
    return Outcome(
        state,
        reason,
        message,
        exit_code=code if type_is_int(code) and -_INT32 - 1 <= code <= _INT32 else None,
        signal=_text(body.get("signal")),
        text=_text(body.get("text")),
        native=body.get("native"),
    )


def type_is_int(value: object) -> bool:
    """Whether it is an integer, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)
