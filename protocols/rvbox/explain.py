"""The frames for people: each by the name of its payload."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from fleetgate.core.json import Json
from fleetgate.protocols import protobuf_text
from fleetgate.protocols.explaining import NOWHERE, Explained, Explainer, Showing, Speaker, Whence
from fleetgate.protocols.rvbox import codec_digests as digests

_DIGESTS: Final = 4096
"""Requests with an environment whose new digest is remembered, for the reconciliations that name
it: as many as a long test sends."""

_CLIENT: Final = frozenset(
    {"client_hello", "command_accepted", "command_event", "client_capacity", "reconcile_snapshot"}
)
_SERVER: Final = frozenset(
    {"server_welcome", "command_dispatch", "event_ack", "stdin_write", "close_stdin"}
    | {"signal_command", "script_chunk", "script_commit", "reconcile_request", "reconcile_result"}
)


class RvboxExplainer(Explainer):
    """Explains envelopes. A request whose environment is taken out gets the digest of what is
    left, and keeps it where it is named again: the conversation holds together as it did."""

    ids = frozenset(
        {"session_id", "session_generation", "target_session_generation", "client_instance_id"}
        | {"issue_uuid", "pid", "immutable_request_sha256"}
        | {"terminate_local_issue_uuids", "discard_local_terminal_issue_uuids"}
    )
    times = frozenset({"sent_at", "server_time", "issue_time", "queue_expiry_time", "event_time"})
    idle = frozenset({"client_capacity", "event_ack"})

    def __init__(self) -> None:
        self._digests: OrderedDict[bytes, bytes] = OrderedDict()

    def explain(self, frame: bytes, whence: Whence = NOWHERE) -> Explained:
        """An envelope."""
        message = digests.envelope()
        if not protobuf_text.parsed(message, frame):
            rule = f"expected an AgentEnvelope in protobuf; {len(frame)} bytes came that are none"
            return Explained(rule=rule, sender=whence.sender)
        before = digests.request_digest(message)
        kept, count = protobuf_text.clean(message, frame)
        if self._keep_digests(message, before):
            kept = message.SerializeToString()
        name = message.WhichOneof("payload") or ""
        sender = whence.sender or _SENDERS.get(name)
        body = protobuf_text.show(message)
        return Explained(name, body, kept, _rule(name, sender), count, sender)

    def encode(self, body: Json, whence: Whence) -> bytes:
        """The envelope of a body. A request's digest is made anew: its times may be others."""
        message = digests.envelope()
        frame = protobuf_text.read(body, message)
        return bytes(message.SerializeToString()) if digests.renew(message) else frame

    def answers(self, explained: Explained) -> bool:
        """Acceptances and acknowledgements, of events and of input."""
        body = self.own(explained, "command_event")
        return explained.name in ("command_accepted", "event_ack") or (
            isinstance(body, dict) and "stdin_ack" in body
        )

    def _keep_digests(self, message: Any, before: tuple[bytes, bool]) -> bool:
        """Whether a digest in the message was replaced by the one of what is left."""
        digest, right = before
        if right and digests.renew(message):
            new = digests.request_digest(message)[0]
            if new != digest:
                self._digests[digest] = new
                if len(self._digests) > _DIGESTS:
                    self._digests.popitem(last=False)
            return new != digest
        return bool(self._digests) and digests.replace(message, self._digests)


def _rule(name: str, sender: Speaker | None) -> str:
    if not name:
        return "the envelope has no payload that is known here"
    if sender == "controller" and name in _CLIENT:
        return f"{name} is a client's to send"
    if sender == "worker" and name in _SERVER:
        return f"{name} is a server's to send"
    return ""


_SENDERS: Final[dict[str, Speaker]] = {
    **dict.fromkeys(_CLIENT, "worker"),
    **dict.fromkeys(_SERVER, "controller"),
}


def dials(path: str) -> Speaker:
    """Clients dial their server."""
    return "worker"


_SECTIONS: Final = {
    "expected an AgentEnvelope": "Carriage",
    "the envelope has no payload": "Carriage",
    "a frame of": "Carriage",
    "client_": "Further rules, Hello",
    "": "Further rules, Hello",
}

SHOWING: Final = Showing(
    "1.0", RvboxExplainer, dials, {"server": "controller", "client": "worker"}, _SECTIONS
)
