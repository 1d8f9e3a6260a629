"""Events, wire to core and back. Each core event becomes exactly one wire event, so that
the number on the wire is the core's (I1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

import attrs

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.json import Json
from fleetgate.core.run import Run
from fleetgate.core.sequence import split_text
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.translate import NAME, STATES, program_of, provider_of
from fleetgate.protocols.utf8 import Texts, streams

CANCELED: Final = "the run was canceled"
"""The text that a daemon ends a canceled run with (section 4.5)."""

_CANCELED_EARLY: Final = re.compile(r"the run of `.*` was cancelled", re.DOTALL)
"""What releases before that text said."""

_EXITED: Final = re.compile(r"exited with status (-?\d{1,9})\b")

USAGE_KEYS: Final = (
    "ai_credits_nano",
    "api_duration_ms",
    "cache_read_tokens",
    "cache_write_tokens",
    "context_tokens",
    "context_window",
    "cost_usd",
    "duration_ms",
    "input_tokens",
    "max_output_tokens",
    "output_tokens",
    "premium_requests",
    "reasoning_tokens",
)
"""What a usage report always has, null where unknown (section 3.3)."""


# --- core to wire, northbound


@attrs.define(slots=True)
class View:
    """What an event's translation needs of the events before it. One for each run that a
    connection follows; it must be shown every event, in order.

    A character that two chunks of output share goes out with the second (a chunk may then
    become an empty text). Where the view begins in the middle of a run, and in the middle
    of a character, that character is lost.
    """

    provider: str
    program: str
    session: str | None
    usage: e.UsageReported | None
    texts: Texts = attrs.field(factory=streams)


def view_of(run: Run) -> View:
    """A view that begins with the run as it stands."""
    session = run.native_session or run.spec.resume
    return View(provider_of(run), program_of(run), session, run.usage)


def from_event(event: e.Event, view: View) -> w.RunEvent:
    """The one wire event that a core event becomes."""
    match event:
        case e.TextProduced(text=text):
            return w.Text(text)
        case e.OutputProduced(stream=stream, data=data):
            return w.Text(view.texts[stream].decode(data))
        case e.ReasoningProduced(text=text) | e.ToolProgressed(text=text):
            return w.Reasoning(text)
        case e.MessageEnded():
            return w.MessageBoundary()
        case e.ToolCalled(name=name, input=input, call=call):
            return w.ToolCall(name, input, id=call)
        case e.ToolReturned(output=output, ok=ok, call=call):
            return w.ToolResult(output, id=call, ok=ok)
        case e.ApprovalRequested(approval=approval, title=title, detail=detail):
            return w.ApprovalRequested(approval, title, detail)
        case e.SessionOpened(native_session=session, model=model):
            view.session = session
            return w.SessionOpened(session, model)
        case e.UsageReported():
            view.usage = event
            return w.Usage(_usage(event))
        case e.RunFinished(outcome=outcome):
            return _from_outcome(outcome, view)
        case _:
            return _from_notice(event)


def _from_notice(
    event: e.RunAssigned
    | e.RunStarted
    | e.ApprovalResolved
    | e.InputAccepted
    | e.StateChanged
    | e.RateLimited
    | e.HistoryCompacted
    | e.CommandsListed
    | e.Diagnosed
    | e.GapFound,
) -> w.RunEvent:
    match event:
        case e.RunAssigned():
            return w.StateChanged(wire.RunState.STARTING)
        case e.RunStarted() | e.ApprovalResolved() | e.InputAccepted():
            return w.StateChanged(wire.RunState.RUNNING)
        case e.StateChanged(state=state):
            return w.StateChanged(STATES[state])
        case e.RateLimited(detail=detail):
            return w.RateLimit(detail)
        case e.HistoryCompacted(detail=detail):
            return w.Compaction(detail)
        case e.CommandsListed(detail=detail):
            return w.Commands(detail)
        case e.Diagnosed(message=message, code=code):
            return w.ErrorEvent(f"{code}: {message}" if code else message)
        case e.GapFound(from_seq=first, to_seq=last, reason=reason):
            return w.ErrorEvent(f"the worker's events {first} to {last} are lost: {reason}")
        case _:
            assert_never(event)


def _usage(event: e.UsageReported) -> Json:
    """The worker's own report, or one of the usual shape made of what is known."""
    known = {"input_tokens": event.input_tokens, "output_tokens": event.output_tokens}
    if event.detail is not None or not any(n is not None for n in known.values()):
        return event.detail
    return {key: known.get(key) for key in USAGE_KEYS}


def _from_outcome(outcome: Outcome, view: View) -> w.Finished | w.Failed:
    native = _native_ending(outcome)
    if native is not None:
        return native
    match outcome.state:
        case RunState.SUCCEEDED:
            return w.Finished(_finished(outcome, view, outcome.exit_code or 0, "completed"))
        case RunState.CANCELED:
            return w.Failed(CANCELED)
        case RunState.LOST:
            return w.Failed(f"the run was lost: {outcome.message}".rstrip(": "))
        case _ if outcome.text is not None:
            return w.Finished(_finished(outcome, view, outcome.exit_code, _stop(outcome)))
        case _:
            return w.Failed(_why_it_failed(outcome, view))


_NAMED: Final[Mapping[Reason, str]] = {
    Reason.TIMED_OUT: "the run timed out",
    Reason.EXPIRED: "the run expired in the queue",
    Reason.FAILED_TO_START: "the run could not start",
}
"""Reasons that a client can only learn from the text: the wire has one kind of failure."""


def _why_it_failed(outcome: Outcome, view: View) -> str:
    said = outcome.message or _how_it_failed(outcome, view)
    named = _NAMED.get(outcome.reason)
    return said if named is None or said.startswith(named) else f"{named}: {said}"


def _named_reason(text: str) -> Reason:
    found = [reason for reason, words in _NAMED.items() if text.startswith(words)]
    return found[0] if found else Reason.ERROR


def _stop(outcome: Outcome) -> Json:
    return {"other": outcome.message} if outcome.message else "error"


def _how_it_failed(outcome: Outcome, view: View) -> str:
    if outcome.signal is not None:
        return f"`{view.program}` was ended by {outcome.signal}"
    if outcome.exit_code is not None:
        return f"`{view.program}` exited with status {outcome.exit_code}"
    return f"`{view.program}` failed: {outcome.reason.value}"


def _finished(outcome: Outcome, view: View, exit_code: int | None, stop: Json) -> Json:
    """An outcome in the shape that clients expect of a provider's (section 3.3)."""
    return {
        "agent": view.provider,
        "exit_code": exit_code,
        "first_unparsed": None,
        "rate_limit": None,
        "session": view.session,
        "stderr": "",
        "stop": stop,
        "structured": None,
        "text": outcome.text or "",
        "unparsed": 0,
        "usage": None if view.usage is None else _usage(view.usage),
    }


def _native_ending(outcome: Outcome) -> w.Finished | w.Failed | None:
    """The ending as an agency daemon gave it, unless the core judged otherwise since."""
    native = outcome.native.get(NAME) if isinstance(outcome.native, Mapping) else None
    if not isinstance(native, Mapping):
        return None
    ending: w.Finished | w.Failed
    text = native.get("failed")
    if "finished" in native:
        ending = w.Finished(native["finished"])
    elif isinstance(text, str):
        ending = w.Failed(text)
    else:
        return None
    judged = to_outcome(ending)
    same = (judged.state, judged.reason) == (outcome.state, outcome.reason)
    return ending if same else None


# --- wire to core, southbound

_ONGOING: Final[Mapping[wire.RunState, RunState]] = {
    wire.RunState.STARTING: RunState.STARTING,
    wire.RunState.RUNNING: RunState.RUNNING,
    wire.RunState.WAITING_APPROVAL: RunState.WAITING,
    wire.RunState.FINISHING: RunState.FINISHING,
}

_ENDED: Final[Mapping[wire.RunState, tuple[RunState, Reason]]] = {
    wire.RunState.COMPLETED: (RunState.SUCCEEDED, Reason.EXITED),
    wire.RunState.FAILED: (RunState.FAILED, Reason.ERROR),
    wire.RunState.CANCELED: (RunState.CANCELED, Reason.CANCELED),
    wire.RunState.INTERRUPTED: (RunState.LOST, Reason.LOST),
}


def to_event(event: w.RunEvent | w.UnknownEvent) -> tuple[e.Event, ...]:
    """The core events that a daemon's event becomes, at least one: long texts are split,
    and the usage in an outcome becomes a report of its own before the end."""
    match event:
        case w.Text(payload=text):
            return tuple([e.TextProduced(piece) for piece in _pieces(text)])
        case w.Reasoning(payload=text):
            return tuple([e.ReasoningProduced(piece) for piece in _pieces(text)])
        case w.MessageBoundary():
            return (e.MessageEnded(),)
        case w.ToolCall(id=id, name=name, input=input):
            return (e.ToolCalled(name, input, id),)
        case w.ToolResult(id=id, ok=ok, output=output):
            return (e.ToolReturned(output, ok, id),)
        case w.ApprovalRequested(approval_id=approval, title=title, detail=detail):
            return (e.ApprovalRequested(approval, title, detail),)
        case w.SessionOpened(provider_session_id=session, model=model):
            return (e.SessionOpened(session, model),)
        case w.Finished(payload=payload):
            return (*_usage_in(payload), e.RunFinished(to_outcome(event)))
        case w.Failed():
            return (e.RunFinished(to_outcome(event)),)
        case _:
            return (_to_notice(event),)


def _pieces(text: str) -> Iterable[str]:
    """The text in events' worth; nearly always it is one, and shown to be without encoding."""
    return (text,) if len(text) <= e.MAX_BODY // 4 else split_text(text)


def _to_notice(
    event: w.StateChanged
    | w.Usage
    | w.RateLimit
    | w.Compaction
    | w.Commands
    | w.ErrorEvent
    | w.UnknownEvent,
) -> e.Event:
    match event:
        case w.Usage(payload=payload):
            return _to_usage(payload)
        case w.StateChanged(payload=state):
            return _to_state(state)
        case w.RateLimit(payload=payload):
            return e.RateLimited(payload)
        case w.Compaction(payload=payload):
            return e.HistoryCompacted(payload)
        case w.Commands(payload=payload):
            return e.CommandsListed(payload)
        case w.ErrorEvent(payload=text):
            return e.Diagnosed(text)
        case w.UnknownEvent(type=type_):
            return e.Diagnosed(f"the daemon sent an event of type {type_[:64]!r}", "unknown_event")
        case _:
            assert_never(event)


def _to_state(state: wire.RunState) -> e.Event:
    ongoing = _ONGOING.get(state)
    if ongoing is None:
        return e.Diagnosed(f"the daemon calls the run {state.value} before its end", "early_end")
    return e.StateChanged(ongoing)


def _to_usage(payload: Json) -> e.UsageReported:
    return e.UsageReported(
        _count(payload, "input_tokens"), _count(payload, "output_tokens"), payload
    )


def _count(payload: Json, key: str) -> int | None:
    value = payload.get(key) if isinstance(payload, Mapping) else None
    return value if type(value) is int and 0 <= value < 2**63 else None


def _usage_in(outcome: Json) -> Sequence[e.Event]:
    usage = outcome.get("usage") if isinstance(outcome, Mapping) else None
    if isinstance(usage, Mapping) and any(value is not None for value in usage.values()):
        return (_to_usage(usage),)
    return ()


def to_outcome(ending: w.Finished | w.Failed) -> Outcome:
    """How a run ended, by a daemon's last event (section 5)."""
    match ending:
        case w.Finished(payload=payload):
            return _of_finished(payload)
        case w.Failed(payload=text):
            native: Json = {NAME: {"failed": text}}
            if text == CANCELED or _CANCELED_EARLY.fullmatch(text):
                return Outcome(RunState.CANCELED, Reason.CANCELED, text, native=native)
            found = _EXITED.search(text)
            code = int(found[1]) if found else None
            message = text[:_MESSAGE]
            return Outcome(
                RunState.FAILED, _named_reason(text), message, exit_code=code, native=native
            )


def _of_finished(payload: Json) -> Outcome:
    native: Json = {NAME: {"finished": payload}}
    if not isinstance(payload, Mapping):
        why = "the daemon's outcome is not an object"
        return Outcome(RunState.FAILED, Reason.EXITED, why, native=native)
    code, stop, text = payload.get("exit_code"), payload.get("stop"), payload.get("text")
    code = code if type(code) is int and abs(code) < 2**31 else None
    good = code == 0 and stop == "completed"
    return Outcome(
        RunState.SUCCEEDED if good else RunState.FAILED,
        Reason.EXITED,
        "" if good else _why_not(stop, payload.get("stderr")),
        exit_code=code,
        text=text if isinstance(text, str) else None,
        native=native,
    )


def _why_not(stop: Json, stderr: Json) -> str:
    """The provider's own word for the stop, or the end of what it wrote on stderr."""
    other = stop.get("other") if isinstance(stop, Mapping) else None
    if isinstance(other, str) and other:
        return other[:_MESSAGE]
    if isinstance(stderr, str) and stderr.strip():
        return stderr.strip()[-_MESSAGE:]
    return "the agent stopped with an error"


_MESSAGE: Final = 4096
"""Characters of an outcome's message; the whole is in its native part."""


def ended_as(state: wire.RunState) -> Outcome | None:
    """The outcome of a run of which only its state is known any more; None while it goes on."""
    ended = _ENDED.get(state)
    if ended is None:
        return None
    text = f"the daemon calls the run {state.value} and no longer has its last event"
    return Outcome(*ended, text)
