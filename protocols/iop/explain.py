"""The frames for people: each by the name of its payload, a call's by the name of its message."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.core.json import Json
from fleetgate.protocols import protobuf_text
from fleetgate.protocols.explaining import (
    NOWHERE,
    SPEAKERS,
    Explained,
    Explainer,
    Showing,
    Speaker,
    Whence,
)
from fleetgate.protocols.iop import codec, wire


class IopExplainer(Explainer):
    """Explains the messages of a node's link, and those of the calls of EdgeControl."""

    ids = frozenset({"run_id", "session_id", "request_id", "node_id", "event_id", "id"})
    times = frozenset({"timestamp"})
    idle = frozenset({"heartbeat", "node_event", "EdgeNodeEvent"})

    def explain(self, frame: bytes, whence: Whence = NOWHERE) -> Explained:
        """A message, by the path of its link and its sender; without a sender, as the one that
        reads more of it."""
        message, sender = self._read(frame, whence)
        if message is None:
            rule = f"expected a message in protobuf; {len(frame)} bytes came that are none"
            return Explained(rule=rule, sender=whence.sender)
        kept, count = protobuf_text.clean(message, frame)
        name, rule = message.DESCRIPTOR.name, ""
        if not whence.path.startswith(wire.CONTROL):
            name = message.WhichOneof("payload") or ""
            rule = "" if name else f"the {message.DESCRIPTOR.name} has no payload known here"
        return Explained(name, protobuf_text.show(message), kept, rule, count, sender)

    def encode(self, body: Json, whence: Whence) -> bytes:
        """The frame of a message, by the path of its link and its sender."""
        sender = whence.sender or "controller"
        return protobuf_text.read(body, codec.empty(whence.path, controller=sender == "controller"))

    def answers(self, explained: Explained) -> bool:
        """Answers to questions, to registrations and to cancellations."""
        return explained.name in _ANSWERS

    def _read(self, frame: bytes, whence: Whence) -> tuple[Any, Speaker | None]:
        read: list[tuple[bool, Any, Speaker]] = []
        for sender in SPEAKERS if whence.sender is None else (whence.sender,):
            message = codec.empty(whence.path, controller=sender == "controller")
            if protobuf_text.parsed(message, frame):
                read.append((protobuf_text.has_unknown(message), message, sender))
        if not read:
            return None, whence.sender
        _, message, sender = min(read, key=lambda each: each[0])
        return message, sender


_ANSWERS: Final = frozenset(
    {"registered", "command_response", "CancelResponse", "NodeCommandResponse"}
)


def dials(path: str) -> Speaker:
    """Nodes dial their edge, and so do control clients."""
    return "controller" if path.startswith(wire.CONTROL) else "worker"


_SECTIONS: Final = {
    "expected a message": "the published schema, runtime.proto",
    "the ": "the published schema, runtime.proto",
}

SHOWING: Final = Showing(
    "1", IopExplainer, dials, {"edge": "controller", "node": "worker"}, _SECTIONS
)
