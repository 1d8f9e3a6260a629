"""Giving out one frame, or all that have come: the half of a link that every real carriage has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import trio

from fleetgate.transports.api import Link, LinkClosed


class BatchedLink(Link):
    """A link that gets frames in batches and gives them out either way."""

    def __init__(self) -> None:
        self._backlog: list[bytes] = []
        """What came with the frame that was given out last: the next one is at the end."""
        self._closing = False

    @abstractmethod
    async def _fetch(self) -> Sequence[bytes]:
        """Wait for frames, at least one. Cancelled, it loses nothing. Raises as `receive_some`."""

    async def receive_some(self) -> Sequence[bytes]:
        self._check_open()
        if not self._backlog:
            return await self._fetch()
        await trio.lowlevel.checkpoint()
        self._check_open()
        frames = tuple(reversed(self._backlog))
        self._backlog = []
        return frames

    async def receive(self) -> bytes:
        self._check_open()
        if self._backlog:
            await trio.lowlevel.checkpoint()
            self._check_open()
        else:
            self._backlog = list(reversed(await self._fetch()))
        return self._backlog.pop()

    def _check_open(self) -> None:
        if self._closing:
            raise LinkClosed("the link was closed here")
