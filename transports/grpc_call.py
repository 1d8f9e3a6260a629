"""What a connection knows of a call, and waiting for whatever comes first."""

from __future__ import annotations

from abc import ABC, abstractmethod

import trio


class Call(ABC):
    """What a connection tells of a call. Nothing here waits or raises."""

    id: int = 0

    @abstractmethod
    def on_headers(self, headers: dict[str, str], last: bool) -> None:
        """The head of the answer came, or (`last`) what stands at its end."""

    @abstractmethod
    def on_data(self, data: bytes, size: int) -> None:
        """A part of the stream of messages came; `size` counts against the window."""

    @abstractmethod
    def on_end(self) -> None:
        """The peer sends no more."""

    @abstractmethod
    def on_reset(self, error: int) -> None:
        """The peer cut the call, or HTTP/2 did; it is forgotten already."""

    @abstractmethod
    def on_malformed(self) -> None:
        """Headers came that are none of HTTP/2: the call was cut for that, and is forgotten."""

    @abstractmethod
    def on_lost(self, reason: str) -> None:
        """The connection has gone; it is forgotten already."""

    @abstractmethod
    def on_room(self) -> None:
        """More may be sent, as was asked for by a place in `waiting`."""


async def either(*events: trio.Event) -> None:
    """Wait for the first of some events."""

    async def wait(event: trio.Event, scope: trio.CancelScope) -> None:
        await event.wait()
        scope.cancel()

    async with trio.open_nursery() as nursery:
        for event in events:
            nursery.start_soon(wait, event, nursery.cancel_scope)
