"""What a connection has beside `Connection`, if it answers bytes that are no frame."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fleetgate.protocols.api import Steps


@runtime_checkable
class AnswersUnframed(Protocol):
    """On a stream, bytes that are no frame end what is received; it can still be sent on."""

    def unframed(self, too_long: bool, text: str, now: int) -> Steps:
        """A frame above the limit came (`too_long`), or what is none; `text` says so. The link
        ends next, whatever the steps are. Nothing that comes behind it is received."""
        ...
