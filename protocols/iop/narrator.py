"""What an edge or a control client hears of a run: core events as run events, in order. Pure.

Behind the `start` each core event is one run event, which carries the core's number in
`gateway.seq`. What comes before the start rides in it; a run that was refused has none.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, Recorded, RunState
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.run import Run
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.beside import kept_members, put_back, told_again
from fleetgate.protocols.iop.names import BODY, FLUSH, KIND, SEQ, STREAM
from fleetgate.protocols.json_text import dump
from fleetgate.protocols.utf8 import Texts, streams

NODE_LOST: Final = "node lost"
TIMEOUT: Final = "timeout"
_INT32: Final = (1 << 31) - 1
_MAX_BEFORE: Final = 64
"""Events before a start that ride in it: a run that waits says little."""


@attrs.frozen(slots=True)
class _Part:
    """One core event: its text, what kind it is, and what does not fit."""

    kind: str = ""
    delta: str = ""
    body: Mapping[str, Json] = NOTHING
    stream: str = ""
    usage: w.Usage | None = None


class Narrator:
    """Tells one run's events. It must be shown every event from where it begins. Begun in the
    middle, after `run.last_seq` or before, it takes the start as told. Times are the worker's where
    it says any, and never go back."""

    def __init__(self, run: Run, run_id: str, *, node: str = "", started: bool = False) -> None:
        self._id = run_id
        self._node = node or ("" if run.worker is None else _tail(run.worker))
        self._fixed_node = bool(node)
        self._session = run.native_session or run.spec.session or "" if started else ""
        self._asked = run.spec.session or ""
        self._background = run.spec.background
        self._started = started
        self._before: list[Json] = []
        self._time = 0
        self._usage = _usage(run.usage) if started and run.usage is not None else None
        self._texts = streams()

    @property
    def started(self) -> bool:
        """Whether the start was told."""
        return self._started

    def queued(self, now: int) -> w.RunEvent:
        """A word about a run that has not begun, for an edge that may think it gone."""
        part = _Part("state", body={"state": RunState.QUEUED.value, "detail": "queued"})
        return self._event("delta", now, part)

    def tell(self, recorded: Recorded) -> Iterator[w.RunEvent]:
        """What a core event is here: none, one, or one and what is missing before it."""
        for told in self._tell(recorded):
            yield told_again(told, recorded.source)

    def _tell(self, recorded: Recorded) -> Iterator[w.RunEvent]:
        event = recorded.event
        if isinstance(event, e.RunAssigned):
            if not self._fixed_node:
                self._node = _tail(event.worker)
            if not self._started:
                return
        if isinstance(event, e.SessionOpened):
            self._session = event.native_session
        if isinstance(event, e.RunFinished):
            yield from self._end(recorded, event.outcome)
        elif self._started:
            yield self._event("delta", _time(recorded), _part(event, self._texts), recorded.seq)
        elif isinstance(event, _BEFORE) and len(self._before) < _MAX_BEFORE:
            part = _part(event, self._texts)
            self._before.append([part.kind, dict(part.body)])
        elif isinstance(event, e.RunStarted | e.SessionOpened):
            yield self._start(_time(recorded), _part(event, self._texts), recorded.seq)
        else:
            yield self._start(_time(recorded))
            yield self._event("delta", _time(recorded), _part(event, self._texts), recorded.seq)

    def deltas(self, batch: Sequence[Recorded]) -> list[bytes] | None:
        """The frames of what `tell` tells of texts and output with nothing beside them, up to the
        first event that is another. None: that is the first, and nothing was told."""
        if not self._started or not _is_plain(batch[0]):
            return None
        told: list[codec.Told] = []
        for recorded in takewhile(_is_plain, batch):
            delta, stream, body = _said(recorded.event, self._texts)
            self._time = max(self._time, _time(recorded))
            told.append((delta, _metadata(recorded.seq, "", stream, body), self._time))
        return codec.encode_deltas(self._event("delta", 0, _Part()), told)

    def _start(self, time: int, part: _Part = _Part(), seq: int = 0) -> w.RunEvent:
        self._started = True
        self._session = self._session or self._asked
        kind = "session" if part.kind == "session" else ""
        body = dict(part.body)
        if self._before:
            body["before"], self._before = self._before, []
        return self._event("start", time, _Part(kind, body=body), seq)

    def _end(self, recorded: Recorded, outcome: Outcome) -> Iterator[w.RunEvent]:
        if not self._started and outcome.reason is not Reason.REFUSED:
            yield self._start(_time(recorded))
        for stream, text in self._texts.items():
            rest = text.decode(b"", final=True)
            if rest:
                yield self._event("delta", _time(recorded), _Part(FLUSH, rest, stream=stream.value))
        type, message, error = _ending(outcome)
        part = _Part(body=_outcome_body(outcome), usage=self._usage)
        ended = self._event(type, _time(recorded), part, recorded.seq)
        whole = attrs.evolve(ended, message=message, error=error)
        yield put_back(whole, kept_members(outcome.native))

    def _event(self, type: str, time: int, part: _Part, seq: int = 0) -> w.RunEvent:
        if part.usage is not None:
            self._usage = part.usage
        self._time = max(self._time, time)
        metadata = _metadata(seq, part.kind, part.stream, part.body)
        return w.RunEvent(
            run_id=self._id,
            type=type,
            delta=part.delta,
            usage=part.usage,
            metadata=metadata,
            timestamp=self._time,
            session_id=self._session or self._asked,
            background=self._background,
            node_id=self._node,
        )


def _metadata(seq: int, kind: str, stream: str, body: Mapping[str, Json]) -> dict[str, str]:
    metadata: dict[str, str] = {}
    if seq:
        metadata[SEQ] = str(seq)
    if kind:
        metadata[KIND] = kind
    if stream:
        metadata[STREAM] = stream
    if body:
        metadata[BODY] = dump(body)
    return metadata


def _is_plain(recorded: Recorded) -> bool:
    event, source = recorded.event, recorded.source
    if source is not None and source.native is not None:
        return False
    if type(event) is e.OutputProduced:
        return len(event.data) <= e.MAX_BODY
    return type(event) is e.TextProduced and len(event.text) <= e.MAX_BODY


_BEFORE: Final = (e.StateChanged, e.Diagnosed, e.GapFound, e.InputAccepted)


def _time(recorded: Recorded) -> int:
    """When it happened as the worker says, else when it was recorded."""
    source = recorded.source
    return recorded.time if source is None or source.time is None else source.time


def _tail(worker: str) -> str:
    return worker.partition("/")[2]


def _part(event: e.Event, texts: Texts) -> _Part:
    match event:
        case e.TextProduced() | e.OutputProduced():
            delta, stream, body = _said(event, texts)
            return _Part("", delta, body, stream)
        case e.ReasoningProduced(text=text):
            return _Part("reasoning", text)
        case e.ToolProgressed(text=text, call=call):
            return _Part("tool_progress", text, _given(call=call))
        case e.UsageReported():
            return _Part("usage", body=attrs.asdict(event), usage=_usage(event))
        case e.StateChanged(state=state, detail=detail):
            return _Part("state", body={"state": state.value, "detail": detail})
        case e.ApprovalResolved(approval=approval, decision=decision, value=value):
            body = {"approval": approval, "decision": decision.value, "value": value}
            return _Part("approval_resolved", body=body)
        case _:
            return _Part(_KINDS[type(event)], body=_given(**_plain(event)))


_KINDS: Final[Mapping[type[Any], str]] = {
    e.RunAssigned: "assigned",
    e.RunStarted: "started",
    e.SessionOpened: "session",
    e.MessageEnded: "message_end",
    e.ToolCalled: "tool_call",
    e.ToolReturned: "tool_result",
    e.ApprovalRequested: "approval",
    e.InputAccepted: "input",
    e.RateLimited: "rate_limit",
    e.HistoryCompacted: "compaction",
    e.CommandsListed: "commands",
    e.Diagnosed: "diagnosed",
    e.GapFound: "gap",
}
"""Events whose body is their members as they are."""


def _plain(event: Any) -> dict[str, Json]:
    names: Iterable[str] = attrs.fields_dict(event.__class__)
    return {name: getattr(event, name) for name in names}


def _given(**members: Json) -> Mapping[str, Json]:
    return {key: value for key, value in members.items() if value is not None}


def _said(event: e.Event, texts: Texts) -> tuple[str, str, Mapping[str, Json]]:
    """Of a text or output: the text, its stream, and what does not fit."""
    if type(event) is not e.OutputProduced:
        assert type(event) is e.TextProduced
        return event.text, "", NOTHING
    text = texts[event.stream].decode(event.data)
    body: dict[str, Json] = {"offset": event.offset} if event.offset else {}
    if text.encode() != event.data:
        body["data_base64"] = base64.b64encode(event.data).decode()
    return text, event.stream.value, body


def _usage(event: e.UsageReported) -> w.Usage | None:
    if event.input_tokens is None and event.output_tokens is None:
        return None
    counts = (event.input_tokens or 0, event.output_tokens or 0)
    return w.Usage(*(max(0, min(each, _INT32)) for each in counts))


# --- the end


def _ending(outcome: Outcome) -> tuple[str, str, str]:
    """The type, message and error of the last event."""
    text = outcome.text or ""
    match outcome.state:
        case RunState.SUCCEEDED:
            return "complete", text, ""
        case RunState.CANCELED:
            return "cancelled", text or outcome.message, ""
        case RunState.LOST:
            return "error", text or outcome.message, NODE_LOST
        case _:
            return "error", text, _error(outcome)


def _error(outcome: Outcome) -> str:
    said = outcome.message or _how(outcome)
    if outcome.reason in (Reason.TIMED_OUT, Reason.EXPIRED) and not said.startswith(TIMEOUT):
        return f"{TIMEOUT}: {said}"
    return said


def _how(outcome: Outcome) -> str:
    if outcome.signal is not None:
        return f"ended by {outcome.signal}"
    if outcome.exit_code is not None:
        return f"exited with status {outcome.exit_code}"
    return outcome.reason.value


def _outcome_body(outcome: Outcome) -> Mapping[str, Json]:
    body = _given(**_plain(outcome))
    named = {"state": outcome.state.value, "reason": outcome.reason.value}
    body = {**body, **named}
    return body if outcome.message else {k: v for k, v in body.items() if k != "message"}
