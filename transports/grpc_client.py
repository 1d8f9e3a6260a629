"""The client's half of a connection: one call, and pings while it lives."""

from __future__ import annotations

from typing import Final

import trio
from h2.errors import ErrorCodes

from fleetgate.transports.grpc_call import either
from fleetgate.transports.grpc_connection import GrpcConnection
from fleetgate.transports.grpc_ends import DialledLink
from fleetgate.transports.grpc_keepalive import TOO_MANY, Patience
from fleetgate.transports.grpc_metadata import Headers

ANSWER_WITHIN: Final = 20.0
"""Seconds for the answer to a ping, as gRPC's own clients wait; then the server is gone."""

_patience: Final = trio.lowlevel.RunVar[Patience]("fleetgate.grpc_patience")


def patience() -> Patience:
    """What servers have said of our pings. It outlives dialers: each dial may have a new one."""
    try:
        return _patience.get()
    except LookupError:
        known = Patience()
        _patience.set(known)
        return known


class ClientConnection(GrpcConnection):
    """A connection to a server, for one call."""

    def __init__(self, address: str) -> None:
        super().__init__(client=True)
        self._address = address
        self._link: DialledLink | None = None
        self._last: int | None = None

    def next_id(self) -> int:
        """What the call will be called in HTTP/2."""
        return self.h2.get_next_available_stream_id()

    def begin(self, link: DialledLink, headers: Headers) -> None:
        """Make the call. A server that takes none at all is no server for it."""
        if not self.h2.remote_settings.max_concurrent_streams:
            link.on_lost("the peer takes no calls now")
            return
        self._link = link
        self.calls[link.id] = link
        self.send_headers(link.id, headers)
        self._tell_link()

    def on_goaway(self, last: int, error: int, reason: bytes) -> None:
        if error == ErrorCodes.ENHANCE_YOUR_CALM and reason == TOO_MANY:
            patience().sent_away(self._address)
        if error != ErrorCodes.NO_ERROR:
            self.fail(
                "the peer ended the connection: too many pings"
                if reason == TOO_MANY
                else f"the peer ended the connection with error {error} of HTTP/2"
            )
        else:
            self._last = last
            self._tell_link()

    def _tell_link(self) -> None:
        if self._link is not None and self._last is not None:
            self._link.on_goaway(self._last, "the peer takes no more calls on this connection")

    async def keep_alive(self, ping_every: float) -> None:
        """Ping the server until the connection is lost, or it does not answer."""
        number = 0
        while True:
            with trio.move_on_after(patience().interval(self._address, ping_every)):
                await self.lost.wait()
                return
            number += 1
            answered = self.ping(number.to_bytes(8, "big"))
            with trio.move_on_after(ANSWER_WITHIN) as waiting:
                await either(answered, self.lost)
            if waiting.cancelled_caught:
                self.fail(f"the peer did not answer a ping within {ANSWER_WITHIN:g} s")
                return
