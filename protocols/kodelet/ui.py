"""The UI proxy: a run's approvals as the questions of `ui.*`, and back (W 12). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from fleetgate.core.events import ApprovalRequested, Decision
from fleetgate.core.json import Json
from fleetgate.protocols.kodelet import go_json
from fleetgate.protocols.kodelet.names import ui_id
from fleetgate.protocols.kodelet.state import INTERACTIVE
from fleetgate.protocols.kodelet.structs import read, write
from fleetgate.protocols.kodelet.wire import (
    LONGEST_TEXT,
    FrameResponse,
    Owner,
    Question,
    TranscriptResponse,
    UiResponse,
    cut,
)

EXTENSION: Final = "fleetgate"
"""What owns the questions that we ask as a runner."""

_KINDS: Final = {"ui.confirm": "confirm", "ui.select": "select", "ui.input": "input"}
_METHODS: Final = {kind: method for method, kind in _KINDS.items()}
_LONGEST: Final = 16_384
"""Characters of an approval's detail that a question shows, and bytes of a question's text that
an approval does."""

# --- as a control plane


def unavailable(method: str) -> UiResponse:
    """The answer to an interactive request that nobody is there for."""
    return UiResponse("unavailable", reason=f"web ui {INTERACTIVE[method]} is not available")


def no_surface(method: str) -> FrameResponse | TranscriptResponse:
    """The answer to a persistent one, always (W 12.3)."""
    if method == "ui.transcript.append":
        return TranscriptResponse(reason="web ui extension transcript proxy is not available")
    return FrameResponse(reason="web ui persistent extension surfaces are not available")


TOO_LONG: Final = UiResponse(
    "unavailable",
    reason=f"a question's ids, default and options take at most {LONGEST_TEXT} bytes",
)


def too_long(question: Question, request: str) -> bool:
    """Whether what cannot be cut, and is kept while it is open, is more than an event may hold.
    `request` is the request's own id."""
    texts = (request, question.id, question.default_value, *(question.options or ()))
    return sum(len(text.encode("utf-8", "replace")) for text in texts) > LONGEST_TEXT


def to_approval(method: str, question: Question, fallback: str) -> ApprovalRequested:
    """A question as an approval of the run. Of a text in it `_LONGEST` bytes are shown."""
    written: Mapping[str, Any] = write(question)
    detail = {
        name: cut(each, _LONGEST) if isinstance(each, str) and name != "id" else each
        for name, each in written.items()
    }
    title = cut(question.title or question.message or INTERACTIVE[method], _LONGEST)
    kept: Json = {"kind": _KINDS[method], **detail}
    return ApprovalRequested(question.id.strip() or fallback, title, kept)


def from_decision(method: str, default: str, decision: Decision, value: str | None) -> UiResponse:
    """How an approval was answered, as the question's answer. `default` is its `default_value`."""
    if decision is Decision.DENY:
        dismissed = UiResponse("dismissed")
        return UiResponse("submitted") if method == "ui.confirm" else dismissed
    if method == "ui.confirm":
        return UiResponse("submitted", confirmed=value is None or value.lower() in _YES)
    return UiResponse("submitted", value=value if value is not None else default)


_YES: Final = frozenset({"y", "yes", "true", "1", "ok"})

# --- as a runner


def from_approval(event: ApprovalRequested, generation: int) -> tuple[str, Question]:
    """An approval as a method and its question. One that came from a runner's question is
    that question again; any other is asked to be confirmed."""
    detail = event.detail
    members: Mapping[str, Any] = detail if isinstance(detail, Mapping) else {}
    method = _METHODS.get(str(members.get("kind")), "ui.confirm")
    id = ui_id(EXTENSION, generation, event.approval)
    if "kind" in members:
        try:
            return method, attrs.evolve(read(Question, dict(members)), id=id)
        except ValueError:
            method = "ui.confirm"
    return method, Question(id, event.title or "Allow?", message=_shown(detail))


def _shown(detail: Json) -> str:
    if detail is None:
        return ""
    text = detail if isinstance(detail, str) else go_json.dump(detail)
    return text[:_LONGEST]


def to_decision(method: str, response: UiResponse) -> tuple[Decision, str | None]:
    """What a question was answered with, as a decision."""
    if response.status != "submitted":
        return Decision.DENY, None
    if method == "ui.confirm":
        return (Decision.ALLOW_ONCE if response.confirmed else Decision.DENY), None
    return Decision.VALUE, response.value


def owner(generation: int) -> Owner:
    """Who asks, when we do."""
    return Owner(EXTENSION, generation)
