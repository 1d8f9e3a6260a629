"""The words in which requirements of this protocol are written: envelopes, and their fence."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from typing import Any, Final, TypeVar

from fleetgate.gateway.tck.peer import Peer, Unmet
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.transports.api import Options

V1: Final = w.ProtocolVersion(1, 0)

VIOLATION: Final = (1002,)
POLICY: Final = (1008,)
TEXT: Final = (1003,)
TOO_LARGE: Final = (1009,)
STALE: Final = (4001,)
SUPERSEDED: Final = (4002,)

LIMIT: Final = 1 << 20

GARBAGE: Final = b"\xff\xff\xff"
"""No protobuf."""

TERMINAL: Final = frozenset(
    {
        w.CommandLifecycle.EXITED,
        w.CommandLifecycle.FAILED_TO_START,
        w.CommandLifecycle.TIMED_OUT,
        w.CommandLifecycle.CANCELED,
        w.CommandLifecycle.EXPIRED,
        w.CommandLifecycle.LOST,
    }
)

Message = TypeVar("Message")


def options(token: str) -> Options:
    """How links are carried: one envelope a binary message, or behind a varint."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return Options(
        framing="varint",
        limit=LIMIT + 64,  # so that what is too large can be said
        path="/agent",
        subprotocols=("rvbox.v1",),
        headers=headers,
        ping_every=20.0,
    )


def new_uuid() -> str:
    """The name of a new command."""
    return str(uuid.uuid4())


def digest(text: str = "request") -> bytes:
    """The 32 bytes of a request, which a client takes as they are."""
    return hashlib.sha256(text.encode()).digest()


class EnvelopePeer(Peer):
    """A link that carries envelopes."""

    session = ""
    generation = 0

    async def say(self, *payloads: w.Payload, session: tuple[str, int] | None = None) -> None:
        """Send payloads in one go, in this session or in another."""
        id, generation = session or (self.session, self.generation)
        await self.send(
            *(codec.encode(w.Envelope(id, generation, payload)) for payload in payloads)
        )

    async def hear(self, expected: str) -> w.Payload:
        """The next payload, which must be of this session."""
        return self._read(await self.receive(expected), expected)

    def _read(self, frame: bytes, expected: str) -> w.Payload:
        try:
            envelope = codec.decode(frame)
        except RemoteProtocolError as error:
            raise Unmet(expected, str(error)) from None
        came = (envelope.session_id, envelope.session_generation)
        if came != (self.session, self.generation):
            ours = f"session {self.session!r}, generation {self.generation}"
            raise Unmet(f"{expected}, in {ours}", f"it was in {came[0]!r}, {came[1]}")
        return envelope.payload

    async def hear_a(self, kind: type[Message], *passed: type[Any]) -> Message:
        """The next payload, of this kind; those of the kinds `passed` may come before it."""
        while True:
            payload = await self.hear(kind.__name__)
            if isinstance(payload, kind):
                return payload
            if not isinstance(payload, passed):
                raise Unmet(kind.__name__, f"this came: {self.last[:300]}")

    async def until(
        self, kind: type[Message], fits: Callable[[Message], bool], most: int = 1_000
    ) -> Message:
        """The first payload of this kind that fits; any may come before it."""
        for _ in range(most):
            payload = await self.hear(kind.__name__)
            if isinstance(payload, kind) and fits(payload):
                return payload
        raise Unmet(kind.__name__, f"{most} others came")

    async def settle(self) -> list[w.Payload]:
        """What comes until nothing has come for a while. The link must stay."""
        heard: list[w.Payload] = []
        while isinstance(came := await self.next(self.patience.quiet), bytes):
            heard.append(self._read(came, "an envelope"))
        if came is not None:
            raise Unmet("that the link stays", came.text)
        return heard

    async def expect_error(
        self, code: Code, codes: tuple[int, ...], *, within: float | None = None
    ) -> w.AgentError:
        """The target must report this error, that it closes, and close with one of `codes`.
        What it was about to say may come before."""
        within = self.patience.within if within is None else within
        while True:
            came = await self.next(within)
            if not isinstance(came, bytes):
                said = f"nothing came for {within:g} s" if came is None else came.text
                raise Unmet(f"the error {code.name}", said)
            payload = codec.decode(came).payload
            if isinstance(payload, w.AgentError):
                break
        expect_code(payload, code)
        if not payload.close_session:
            raise Unmet("close_session in the error", "it is false")
        await self.expect_end(codes)
        return payload

    async def expect_report(self, code: Code, issue_uuid: str) -> None:
        """The target must report this error about a command, and go on."""
        error = await self.until(w.AgentError, lambda _: True)
        expect_code(error, code)
        if error.close_session:
            raise Unmet("an error that does not close the session", "close_session is true")
        if not error.error.message.startswith(f"{issue_uuid}: "):
            raise Unmet(
                f"a message that begins with {issue_uuid}: ", f"it is {error.error.message!r}"
            )


def expect_code(error: w.AgentError | w.CommandAccepted, code: Code) -> None:
    """It must be for this reason."""
    reason = error.error if isinstance(error, w.AgentError) else error.rejection
    came = None if reason is None else reason.code
    if came != code:
        text = "" if reason is None else reason.message
        raise Unmet(f"the code {code.name}", f"it is {came}: {text!r}")
