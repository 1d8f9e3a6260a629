"""What a node says of a run: run events as core events. Pure and total.

An event of ours is told by its reserved metadata and becomes what it was. Of a foreign node a
missing start is added, and what comes twice or after the end is dropped.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.events import Stamp, Stream
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.run import Run
from fleetgate.core.sequence import split_bytes, split_text
from fleetgate.protocols.bulk import Heard
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.beside import beside, says_beside
from fleetgate.protocols.iop.codec import Delta
from fleetgate.protocols.iop.ending import outcome_of
from fleetgate.protocols.iop.names import BODY, FLUSH, KIND, SEQ, STREAM
from fleetgate.protocols.iop.told import LARGEST, event_of, number_of, text_of
from fleetgate.protocols.json_text import Malformed, load

TYPES: Final = frozenset({"start", "delta", "complete", "error", "cancelled"})
ENDS: Final = frozenset({"complete", "error", "cancelled"})

_DIGITS: Final = 19


@attrs.define(slots=True)
class Tracked:
    """One run at a node: what was heard of it. `last` is the number of the last event, 0 for
    none; `asked` the session that was asked for, `session` the one it is known to have. `ends_at`
    is when it must have ended, in Unix nanoseconds; `lossy`: something of it was dropped. `created`
    is when the run was accepted; `fed` the orders that give it what its request holds already."""

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
    created: int = 0
    fed: list[OrderNumber] = attrs.field(factory=list[OrderNumber])
    offsets: dict[Stream, int] = attrs.field(factory=lambda: dict.fromkeys(Stream, 0))


def tracked_of(run: Run) -> Tracked:
    """A run that the core holds, as a new link of its node takes it up."""
    spec = run.work
    return Tracked(
        run.id,
        spec.session or spec.resume or "",
        timeout=spec.timeout,
        created=run.created,
        last=run.native_seq,
        heard=run.accepted,
        started=run.started > 0,
        session=run.native_session or "",
    )


def seq_of(event: w.RunEvent) -> int | None:
    """The event's number; None where it has none that can be one."""
    return _number(event.metadata.get(SEQ, ""))


def _number(text: str) -> int | None:
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
    tracked.lossy = tracked.lossy or (not found and says_beside(event))
    return tuple(found)


def hear_delta(tracked: Tracked, delta: Delta) -> Heard | None:
    """As `hear`, of one that is the next text or output of a run at work, with its number and its
    time. None: it is not; nothing was taken."""
    seq = _number(delta.seq)
    stream = _STREAMS.get(delta.stream)
    known = tracked.started and tracked.heard and not (tracked.ended or tracked.fed)
    if not known or (delta.session_id or tracked.session or tracked.asked) != tracked.session:
        return None
    if (seq is not None and seq != tracked.last + 1) or not (delta.delta or stream):
        return None
    events = _said(tracked, delta.delta, stream, _read_body(delta.body))
    if seq is not None:
        tracked.last = seq
    return (*events,), seq, Stamp(delta.timestamp) if delta.timestamp > 0 else None


def _gap(tracked: Tracked, seq: int | None) -> Iterator[e.Event]:
    """What comes before a start rides in it; behind it every number comes."""
    if tracked.started and tracked.last and seq is not None and seq > tracked.last + 1:
        yield e.GapFound(tracked.last + 1, seq - 1, "the node did not send them again")


def _events(tracked: Tracked, event: w.RunEvent) -> Iterator[e.Event]:
    kind, body = event.metadata.get(KIND, ""), _body(event)
    tracked.lossy = tracked.lossy or _trimmed(event)
    quiet = event.type == "delta" and not event.delta
    waits = kind == "state" and quiet and not tracked.started
    if event.type == "start":
        yield from _start(tracked, event, kind, body)
    elif not (tracked.started or waits or event.type == "error"):
        yield e.RunStarted()
        yield from _session(tracked, event)
    elif not waits:
        yield from _session(tracked, event)
    yield from _usage(tracked, event, kind)
    if event.type in ENDS:
        yield from _text_of(event)
        yield e.RunFinished(outcome_of(event, body, started=tracked.started))
    elif event.type == "delta":
        yield from _delta(tracked, event, kind, body)
    else:
        yield from _text_of(event)


def _trimmed(event: w.RunEvent) -> bool:
    """Whether what it says beside is more than is kept."""
    return says_beside(event) and beside(event) is None


def _start(
    tracked: Tracked, event: w.RunEvent, kind: str, body: Mapping[str, Json]
) -> Iterator[e.Event]:
    if tracked.started:
        return
    before = body.get("before")
    for each in before if isinstance(before, list) else ():
        if isinstance(each, list) and len(each) == 2 and isinstance(each[1], Mapping):
            told = event_of(str(each[0]), each[1])
            if told is not None:
                yield told
    if kind == "session":
        tracked.started = True
        yield from _opened(tracked, body)
    else:
        yield e.RunStarted(number_of(body.get("pid")))
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
    return _read_body(event.metadata.get(BODY, ""))


def _read_body(text: str) -> Mapping[str, Json]:
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
    """A text that stands beside what its kind says is text: who ignores kinds sees it, too."""
    if kind == FLUSH and not event.delta.strip("\ufffd"):
        return
    if kind == "session":
        yield from _opened(tracked, body)
        yield from _text_of(event)
        return
    if kind == "reasoning":
        yield from (e.ReasoningProduced(piece) for piece in split_text(event.delta))
        return
    if kind == "tool_progress":
        call = text_of(body.get("call"))
        yield from (e.ToolProgressed(piece, call) for piece in split_text(event.delta))
        return
    told = event_of(kind, body)
    if told is not None:
        yield told
        yield from _text_of(event)
        return
    stream = _STREAMS.get(event.metadata.get(STREAM, ""))
    if stream is not None or event.delta or not (kind or is_silent(event)):
        yield from _said(tracked, event.delta, stream, body)
    if kind and not event.delta:
        tracked.lossy = True


def is_silent(event: w.RunEvent) -> bool:
    """Whether an empty delta says nothing: no gateway has numbered it, and nothing is beside."""
    return SEQ not in event.metadata and beside(event) is None


def _text_of(event: w.RunEvent) -> Iterator[e.Event]:
    return _texts(event.delta) if event.delta else iter(())


def _texts(text: str) -> Iterator[e.Event]:
    return (e.TextProduced(piece) for piece in split_text(text))


def _said(
    tracked: Tracked, delta: str, stream: Stream | None, body: Mapping[str, Json]
) -> Iterator[e.Event]:
    return _texts(delta) if stream is None else _output(tracked, delta, stream, body)


_STREAMS: Final[Mapping[str, Stream]] = {stream.value: stream for stream in Stream}


def _output(
    tracked: Tracked, delta: str, stream: Stream, body: Mapping[str, Json]
) -> Iterator[e.Event]:
    data = _bytes(body.get("data_base64"))
    offset = number_of(body.get("offset"))
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
    name, model = text_of(body.get("native_session")), text_of(body.get("model"))
    tracked.lossy = tracked.lossy or name is None
    if name is None or (name and name == tracked.session and model is None):
        return
    tracked.session = name
    yield e.SessionOpened(name, model)
