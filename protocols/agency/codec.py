"""Frames to messages; `encode` writes them. No other file knows their form.

A frame is the kind byte and a payload (the transport's framing has taken the length off,
or has put kind 0 before a line). Text is one JSON document, read by the rules of section
2: what serde takes, less the forms of 2.5 that nobody sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum, unique
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from fleetgate.core.json import Json
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.encode import NUMBER_PART, TEXT_END, TEXT_PART, text_head
from fleetgate.protocols.agency.state import SINCE
from fleetgate.protocols.api import Close, RemoteProtocolError
from fleetgate.protocols.json_text import Malformed, Repeating, load, load_text
from fleetgate.protocols.strict import U64, camel, expect, make_converter, refuse_repeated


@unique
class Kind(IntEnum):
    """The first byte of a frame."""

    TEXT = 0
    BINARY = 1
    PING = 2
    PONG = 3
    CLOSE = 4


_CAMEL: Final = frozenset(
    {
        wire.ProtocolVersion,
        wire.RunRequest,
        wire.RunSnapshot,
        wire.ProviderStatus,
        wire.ProviderAccountUsage,
    }
)
"""Classes with camelCase keys (section 2.1); all others have snake_case."""

_converter: Final = make_converter(lambda kind, name: camel(name) if kind in _CAMEL else name)
_Read: TypeAlias = Callable[[Any], Any]


def _reader(kind: Any) -> _Read:
    hook = _converter.get_structure_hook(kind)
    return lambda value: hook(value, kind)


_MESSAGES: Final[Mapping[str, tuple[type[Any], _Read]]] = {
    name: (kind, _reader(kind))
    for name, kind in {
        "hello": wire.Hello,
        "list_runs": wire.ListRuns,
        "probe_providers": wire.ProbeProviders,
        "read_account_usage": wire.ReadAccountUsage,
        "shutdown_if_idle": wire.ShutdownIfIdle,
        "shutdown": wire.Shutdown,
        "start_run": wire.StartRun,
        "attach_run": wire.AttachRun,
        "detach_run": wire.DetachRun,
        "inject_message": wire.InjectMessage,
        "cancel_run": wire.CancelRun,
        "decide_approval": wire.DecideApproval,
        "ack_events": wire.AckEvents,
        "interrupt_session": wire.InterruptSession,
    }.items()
}

_RESPONSES: Final[Mapping[str, _Read]] = {
    "hello": _reader(wire.HelloAnswer),
    "runs": _reader(wire.Runs),
    "providers": _reader(wire.Providers),
    "account_usage": _reader(wire.AccountUsage),
    "run": _reader(wire.RunAnswer),
    "accepted": _reader(wire.Accepted),
    "session_interrupted": _reader(wire.SessionInterrupted),
    "error": _reader(wire.Error),
}


def _wrapped(kind: type[Any], payload: Any) -> _Read:
    read = _reader(payload)
    return lambda value: kind(read(value))


_EVENTS: Final[Mapping[str, _Read]] = {
    "text": _wrapped(w.Text, str),
    "reasoning": _wrapped(w.Reasoning, str),
    "finished": _wrapped(w.Finished, Json),
    "failed": _wrapped(w.Failed, str),
    "state_changed": _wrapped(w.StateChanged, wire.RunState),
    "session_opened": _reader(w.SessionOpened),
    "tool_call": _reader(w.ToolCall),
    "tool_result": _reader(w.ToolResult),
    "approval_requested": _reader(w.ApprovalRequested),
    "usage": _wrapped(w.Usage, Json),
    "rate_limit": _wrapped(w.RateLimit, Json),
    "compaction": _wrapped(w.Compaction, Json),
    "commands": _wrapped(w.Commands, Json),
    "error": _wrapped(w.ErrorEvent, str),
}
"""Event types that need a payload; `message_boundary` alone has none."""

_read_u64: Final = _reader(U64)
_read_str: Final = _reader(str)


def wrong(text: str) -> RemoteProtocolError:
    """The error for a frame that ends the connection without an answer (table 1.1)."""
    return RemoteProtocolError(text, (Close(None, text),))


# --- what a daemon receives


def decode_client(frame: bytes, minor: int) -> wire.ClientFrame | wire.PeerCloses:
    """A client's frame, read by a daemon that announces `minor`. Binary that is UTF-8
    counts as text; a ping is an error.

    Raises: `RemoteProtocolError`, which drops the link.
    """
    kind = _kind(frame)
    payload = frame[1:]
    if kind == Kind.CLOSE:
        return _closing(payload)
    if kind != Kind.TEXT and not (kind == Kind.BINARY and _is_utf8(payload)):
        raise wrong("expected a JSON text frame")
    try:
        return _client_frame(load(payload), minor)
    except Malformed as error:
        raise wrong(f"invalid JSON frame: {error}") from None


def _client_frame(value: Any, minor: int) -> wire.ClientFrame:
    _check_object(value, _CLIENT_KEYS)
    request_id = _member(value, "requestId", _read_u64)
    found = _MESSAGES.get(_member(value, "type", _read_str))
    if found is None or SINCE.get(found[0], 0) > minor:
        raise Malformed("the message's type is unknown")
    return wire.ClientFrame(request_id, found[1](value))


# --- what a client receives


def decode_server(frame: bytes) -> w.ServerFrame | wire.PeerCloses | None:
    """A daemon's frame, read by a client; None for what a client passes over (pings, pongs,
    binary that is not UTF-8).

    Raises: `RemoteProtocolError`, which ends the link.
    """
    kind = _kind(frame)
    payload = frame[1:]
    if kind == Kind.CLOSE:
        return _closing(payload)
    if kind != Kind.TEXT and not (kind == Kind.BINARY and _is_utf8(payload)):
        return None
    try:
        return _server_frame(load(payload))
    except Malformed as error:
        raise wrong(f"invalid JSON frame: {error}") from None


_NO_HEADS: Final[Mapping[bytes, str]] = MappingProxyType({})


def texts_of(
    frames: Iterable[bytes], heads: Mapping[bytes, str] = _NO_HEADS
) -> Iterator[tuple[str, int, str]]:
    """Run, sequence and text of frames that are each a text of a run, up to the first that is
    anything else, or is none at all. Nothing is read of it that `decode_server` would not read.
    `heads`: runs by their `text_head`; what begins with one is read in a third of the time."""
    run, head = "", b""
    for frame in frames:
        if len(frame) > wire.MAX_FRAME:
            return
        if not head or not frame.startswith(head):
            begun = frame[: frame.find(NUMBER_PART) + len(NUMBER_PART)]
            if begun in heads:
                run, head = heads[begun], begun
        said = _alike(frame, head) if head and frame.startswith(head) else None
        if said is None:
            found = _text_in(frame)
            if found is None:
                return
            if found[0] != run or not head:
                run, head = found[0], text_head(found[0])
            said = found[1:]
        yield run, *said


def _alike(frame: bytes, head: bytes) -> tuple[int, str] | None:
    """Sequence and text of a frame that begins with `head`, where it goes on as one does that we
    write; None where it does not."""
    at = frame.find(b",", len(head), len(head) + _DIGITS)
    digits = frame[len(head) : at]
    if at < 0 or not digits.isdigit() or (digits[0] == _ZERO and len(digits) > 1):
        return None
    if not frame.startswith(TEXT_PART, at) or not frame.endswith(TEXT_END):
        return None
    text = load_text(frame[at + len(TEXT_PART) : -len(TEXT_END)])
    return None if text is None else (int(digits), text)


_DIGITS: Final = 19
"""What a number takes, in bytes, that is surely in range, with the comma behind it."""
_ZERO: Final = ord("0")


def _text_in(frame: bytes) -> tuple[str, int, str] | None:
    if frame[:1] != _TEXT_KIND:
        return None
    try:
        value = load(frame[1:])
    except Malformed:
        return None
    if not _is_object(value) or value.get("kind") != "event":
        return None
    event, run, sequence = value.get("event"), value.get("run_id"), value.get("sequence")
    if not _is_object(event) or event.get("type") != "text":
        return None
    text = event.get("payload")
    if type(text) is not str or type(run) is not str:
        return None
    if type(sequence) is not int or sequence < 0:
        return None
    return run, sequence, text


def _is_object(value: Any) -> bool:
    """Whether it is an object in which no key repeats."""
    return type(value) is dict


_TEXT_KIND: Final = bytes((Kind.TEXT,))


def _server_frame(value: Any) -> w.ServerFrame:
    _check_object(value, _KIND)
    kind = value.get("kind")
    _check_object(value, _EVENT_FRAME_KEYS if kind == "event" else _RESPONSE_KEYS)
    if kind == "event":
        return w.EventFrame(
            _member(value, "run_id", _read_str),
            _member(value, "sequence", _read_u64),
            _member(value, "event", _event),
        )
    if kind != "response":
        raise Malformed("kind: expected response or event")
    read = _RESPONSES.get(_member(value, "type", _read_str))
    if read is None:
        raise Malformed("the response's type is unknown")
    return wire.Response(_member(value, "request_id", _read_u64), read(value))


def _event(value: Any) -> w.RunEvent | w.UnknownEvent:
    _check_object(value, _EVENT_KEYS)
    type_ = _member(value, "type", _read_str)
    read = _EVENTS.get(type_)
    if read is not None:
        event: w.RunEvent = _member(value, "payload", read)
        return event
    payload = value.get("payload")
    if type_ != "message_boundary":
        return w.UnknownEvent(type_, payload)
    if payload is not None:
        raise expect("no payload", payload)
    return w.MessageBoundary()


# --- both


_CLIENT_KEYS: Final = frozenset({"requestId", "type"})
_KIND: Final = frozenset({"kind"})
_RESPONSE_KEYS: Final = frozenset({"request_id", "type"})
_EVENT_FRAME_KEYS: Final = frozenset({"run_id", "sequence", "event"})
_EVENT_KEYS: Final = frozenset({"type", "payload"})


def _check_object(value: Any, known: frozenset[str]) -> None:
    if not isinstance(value, dict):
        raise expect("an object", value)
    if isinstance(value, Repeating):
        refuse_repeated(value, known)


def _member(value: Mapping[str, Any], key: str, read: _Read) -> Any:
    if key not in value:
        raise Malformed(f"the key {key} is missing")
    try:
        return read(value[key])
    except Malformed as error:
        raise Malformed(f"{key}: {error}") from None


def _kind(frame: bytes) -> int:
    if not frame:
        raise wrong("empty frame")
    if len(frame) > wire.MAX_FRAME:
        raise wrong(f"a frame of {len(frame)} bytes; at most {wire.MAX_FRAME} are allowed")
    if frame[0] > Kind.CLOSE:
        raise wrong(f"unknown frame kind: {frame[0]}")
    return frame[0]


def _closing(payload: bytes) -> wire.PeerCloses:
    if len(payload) == 1:
        raise wrong("malformed close frame")
    return wire.PeerCloses()


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
