"""Reading one output stream of a program, to its end or a little past the program's."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from fleetgate.core.events import OutputProduced, Stream
from fleetgate.gateway.local.process import left_in

CHUNK: Final = 64 * 1024
"""Bytes of one read: what a pipe holds, and the largest body of an event."""


class Relay:
    """Reports what a program writes to one stream.

    `wait_room` is awaited before each read: while it waits the pipe fills up, and then
    the program waits.
    """

    def __init__(
        self,
        stream: trio.lowlevel.FdStream,
        name: Stream,
        report: Callable[[OutputProduced], None],
        wait_room: Callable[[], Awaitable[None]],
    ) -> None:
        self._stream = stream
        self._name = name
        self._report = report
        self._wait_room = wait_room
        self._offset = 0
        self._reading = trio.CancelScope()
        self._until = math.inf

    def stop_at(self, deadline: float) -> None:
        """Wait for more output only until `deadline` (trio's clock). What the pipe holds
        then is still read, however late that is possible."""
        self._until = deadline
        self._reading.deadline = deadline

    async def run(self) -> None:
        """Read until every writer has closed the stream, or the deadline."""
        while True:
            await self._wait_room()
            with trio.CancelScope(deadline=self._until) as self._reading:
                try:
                    data = await self._stream.receive_some(CHUNK)
                except trio.BrokenResourceError:  # a terminal that its last program has left
                    return
                if not data:
                    return
                self._tell(bytes(data))
            if self._reading.cancelled_caught:
                break
        for data in left_in(self._stream):
            self._tell(data)

    def _tell(self, data: bytes) -> None:
        self._report(OutputProduced(self._name, data, self._offset))
        self._offset += len(data)
