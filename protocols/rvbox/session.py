"""What both ends of a session have in common: the fence, the order of messages, the errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fleetgate.protocols.api import Close, RemoteProtocolError, Send, Step, Steps
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.state import TABLE, OutOfPlace, Peer, Phase, after
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

PROTOCOL_ERROR: Final = 1002
POLICY: Final = 1008
TRY_LATER: Final = 1013
STALE: Final = 4001
SUPERSEDED: Final = 4002

_REASON: Final = 123
"""Bytes that a WebSocket close frame has for its reason."""

_OUTSIDE: Final = (Phase.HELLO, Phase.WELCOME)

_QUOTED: Final = 128
"""Characters of a peer's own id that an error repeats."""


def about(issue_uuid: str, code: int, text: str) -> w.AgentError:
    """An error about one command; the session goes on."""
    return w.AgentError(w.ControlError(code, f"{issue_uuid[:_QUOTED]}: {text}"))


class Session:
    """One end of a session. `us` is which end."""

    __slots__ = ("_other", "_ours", "_phase", "_theirs", "_us", "generation", "id", "lenient")

    def __init__(self, us: Peer) -> None:
        self._us = us
        self._other = Peer.SERVER if us is Peer.CLIENT else Peer.CLIENT
        self._enter(Phase.HELLO)
        self.id = ""
        self.generation = 0
        self.lenient = False
        """Whether a payload that is not known here is the peer's good right: it speaks a
        higher version."""

    @property
    def phase(self) -> Phase:
        """What the session waits for."""
        return self._phase

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._ours = TABLE[self._us][phase]
        self._theirs = TABLE[self._other][phase]

    @property
    def reconciling(self) -> bool:
        """Whether no work may be given out now."""
        return self._phase is not Phase.OPEN

    def is_at_work(self, id: str, generation: int) -> bool:
        """Whether an envelope with these two is of this session, and work goes on in it."""
        return self._phase is Phase.OPEN and id == self.id and generation == self.generation

    def open(self, id: str, generation: int) -> None:
        """Every envelope after this one carries these two."""
        self.id = id
        self.generation = generation

    def send(self, payload: w.Payload) -> Send:
        """Our message as a step; the session moves on by it."""
        kind = type(payload)
        following = self._ours.get(kind) or after(self._phase, self._us, kind)
        if following is not self._phase:
            self._enter(following)
        return Send(codec.encode(w.Envelope(self.id, self.generation, payload)))

    def outputs(self, uuid: str, revision: int, told: Iterable[codec.Told]) -> list[bytes]:
        """Frames of a command's output, while work goes on; the session stays as it is."""
        return codec.encode_outputs(self.id, self.generation, uuid, revision, told)

    def take(self, frame: bytes) -> w.Payload:
        """The peer's message; the session moves on by it.

        Raises: `RemoteProtocolError` with what to send, and the close; nothing has changed.
        """
        try:
            envelope = codec.decode(frame)
        except RemoteProtocolError as error:
            raise self.violation(str(error)) from None
        payload = envelope.payload
        kind = type(payload)
        if kind is w.ClientHello or self._phase in _OUTSIDE:
            self._check_outside(envelope)
        elif envelope.session_id != self.id or envelope.session_generation != self.generation:
            raise self.refuse(Code.STALE_SESSION, "the envelope is of another session", STALE)
        if kind is w.Unknown:
            if self.lenient:
                return payload
            raise self.violation("the envelope holds no payload known here")
        try:
            following = self._theirs.get(kind) or after(self._phase, self._other, kind)
        except OutOfPlace as error:
            raise self.violation(str(error)) from None
        if following is not self._phase:
            self._enter(following)
        return payload

    def _check_outside(self, envelope: w.Envelope) -> None:
        """Before the welcome nothing carries a session, but the welcome itself, which opens it."""
        if isinstance(envelope.payload, w.ServerWelcome) and self._phase is Phase.WELCOME:
            if not envelope.session_id or not envelope.session_generation:
                raise self.violation("a welcome names a session and a generation from 1")
            if self._us is Peer.CLIENT:
                self.open(envelope.session_id, envelope.session_generation)
            return
        if self._phase in _OUTSIDE and (envelope.session_id or envelope.session_generation):
            raise self.violation("before the welcome an envelope carries no session")

    def violation(self, text: str) -> RemoteProtocolError:
        """The peer broke the protocol."""
        return self.refuse(Code.PROTOCOL_VIOLATION, text, PROTOCOL_ERROR)

    def refuse(self, code: Code, text: str, close: int) -> RemoteProtocolError:
        """An error that ends the session, to be raised."""
        return RemoteProtocolError(text, self.ending(code, text, close))

    def ending(self, code: Code, text: str, close: int) -> tuple[Step, ...]:
        """Tell the peer why, and close."""
        error = w.AgentError(w.ControlError(code, text), close_session=True)
        return (self.send(error), closing(close, f"{code.name.lower()}: {text}"))


def closing(code: int | None, reason: str, *, retry: bool = True) -> Close:
    """Close with a reason that fits a close frame."""
    cut = reason.encode("ascii", "replace")[:_REASON].decode()
    return Close(code, cut, retry)


def until_close(steps: list[Step]) -> Steps:
    """The steps up to the first close: nothing is asked for behind one."""
    for at, step in enumerate(steps):
        if isinstance(step, Close):
            return steps[: at + 1]
    return steps
