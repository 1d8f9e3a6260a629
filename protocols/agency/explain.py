"""The frames for people: each by its type, with the rule of section 2 that it breaks."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.core.json import Json
from fleetgate.protocols.agency import codec
from fleetgate.protocols.agency.codec import Kind
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.explaining import NOWHERE, Explained, Explainer, Showing, Speaker, Whence
from fleetgate.protocols.redaction import Redaction, as_object, read_json, write_json

_LATEST: Final = 4
"""The minor by which a client's messages are read here: all that any may send."""

_CONTROL: Final = {Kind.PING: "ping", Kind.PONG: "pong", Kind.CLOSE: "close"}


class AgencyExplainer(Explainer):
    """Explains JSON frames behind their kind byte."""

    ids = frozenset(
        {"requestId", "request_id", "run_id", "idempotencyKey", "idempotency_key", "approval_id"}
        | {"id", "session_id", "provider_session_id", "providerSessionId", "resumeSessionId"}
    )
    times = frozenset({"timestamp", "created_at", "updated_at"})
    idle = frozenset({"ping", "pong", "ack_events"})

    def explain(self, frame: bytes, whence: Whence = NOWHERE) -> Explained:
        """A frame, its kind byte first."""
        kind = frame[0] if frame else -1
        if kind in _CONTROL:
            # What stands in one says nothing to anybody, and could be anything: it is not kept.
            rule = _rule(frame, "controller") if whence.sender == "controller" else ""
            return Explained(_CONTROL[Kind(kind)], {}, frame[:1], rule=rule, sender=whence.sender)
        if kind not in (Kind.TEXT, Kind.BINARY):
            return Explained(rule=_rule(frame, "worker"), sender=whence.sender)
        try:
            value, plain = read_json(frame[1:])
        except ValueError as error:
            return Explained(rule=f"invalid JSON frame: {error}", sender=whence.sender)
        sender = whence.sender or _sender(value)
        redaction = Redaction()
        body = redaction.value(value)
        kept = frame
        if redaction.count or not plain:
            kept = frame[:1] + write_json(body)
        return Explained(_name(value), body, kept, _rule(frame, sender), redaction.count, sender)

    def encode(self, body: Json, whence: Whence) -> bytes:
        """The text frame of a message."""
        return bytes((Kind.TEXT,)) + write_json(body)

    def answers(self, explained: Explained) -> bool:
        """A daemon's responses, and a client's acknowledgements."""
        return explained.name == "ack_events" or self.own(explained, "kind") == "response"


def _sender(value: Any) -> Speaker:
    members = as_object(value) or {}
    return "worker" if "kind" in members else "controller"


def _name(value: Any) -> str:
    members = as_object(value) or {}
    if members.get("kind") == "event":
        event = as_object(members.get("event")) or {}
        return f"event.{event.get('type', '')}"
    name = str(members.get("type", ""))
    return f"response.{name}" if "kind" in members else name


def _rule(frame: bytes, sender: Speaker) -> str:
    """What is wrong with it; empty: nothing."""
    try:
        if sender == "controller":
            codec.decode_client(frame, _LATEST)
        elif codec.decode_server(frame) is None:
            return "no text: a client passes it over"
    except RemoteProtocolError as error:
        return str(error)
    return ""


def dials(path: str) -> Speaker:
    """Clients dial daemons."""
    return "controller"


_SECTIONS: Final = {
    "invalid JSON frame": "2, JSON rules",
    "expected a JSON text frame": "1.1, table",
    "no text": "1.1, what a client passes over",
    "empty frame": "1.1, table",
    "unknown frame kind": "1.1, table",
    "malformed close frame": "1.1, table",
    "a frame of": "1.1, the cap",
}

SHOWING: Final = Showing(
    "0.3", AgencyExplainer, dials, {"client": "controller", "daemon": "worker"}, _SECTIONS
)
