"""A client's requests that are not answered yet: numbers, who waits, how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.codec import wrong
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.agency.state import ANSWERS
from fleetgate.protocols.api import NO_STEPS, Send, Steps

Answered: TypeAlias = Callable[[wire.ServerResponse, int], Steps]
"""What becomes of an answer; it is given the time too."""

_LAST_ID: Final = 2**64 - 1


class Requests:
    """`patience` is how long (nanoseconds) the daemon may go without an answer while it owes
    one: it works one request after another, so each answer starts the wait anew."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.deadline: int | None = None
        """When the daemon counts as dead; None while it owes nothing."""
        self._next = 1
        self._open: dict[int, tuple[wire.ClientMessage, Answered]] = {}

    def ask(self, message: wire.ClientMessage, answered: Answered, now: int) -> Send:
        """Send a request. Numbers go from 1 to 2^64-1 and round again.

        Raises: `FrameTooLarge`, and nothing was asked.
        """
        send = Send(encode_client(wire.ClientFrame(self._next, message)))
        self._open[self._next] = (message, answered)
        self._next = 1 if self._next == _LAST_ID else self._next + 1
        if self.deadline is None:
            self.deadline = now + self.patience
        return send

    def answer(self, response: wire.Response, now: int) -> Steps:
        """Take an answer. One to no request of ours is passed over.

        Raises: `RemoteProtocolError` for an answer that does not fit its request.
        """
        asked = self._open.pop(response.request_id, None)
        if asked is None:
            return NO_STEPS
        message, answered = asked
        if type(response.response) not in ANSWERS[type(message)]:
            name, came = type(message).__name__, type(response.response).__name__
            raise wrong(f"the daemon answered {name} with {came}")
        self.deadline = now + self.patience if self._open else None
        return answered(response.response, now)
