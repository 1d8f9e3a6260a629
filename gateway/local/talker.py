"""A program that is talked with: somebody listens to it, for a while or to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import trio

from fleetgate.core.events import OutputProduced, Stream
from fleetgate.gateway.local.execution import HELD_OPEN
from fleetgate.gateway.local.output import Relay
from fleetgate.gateway.local.process import ProcessGroup

NOBODY_S_PACE: Final = trio.lowlevel.checkpoint
"""What is read for nobody waits for nobody."""


class Listener(Protocol):
    """Who hears a program."""

    def hear(self, event: OutputProduced) -> None:
        """It wrote this."""

    async def wait_room(self) -> None:
        """Wait until more is welcome: meanwhile it is not read, and then it waits."""


class Talker:
    """A program at work. `run` reads it all the time: what nobody listens to is dropped, so that it
    never waits for a reader."""

    def __init__(self, group: ProcessGroup) -> None:
        self.group = group
        self.listener: Listener | None = None
        self.ended = trio.Event()
        """It has ended, and all that it wrote was heard."""
        self.code: int | None = None
        """How it ended, as `ProcessGroup.reap` has it; None: it was stopped."""
        self._heard = trio.Event()

    async def run(self) -> None:
        """Read it to its end. Cancelled, its group is ended within seconds."""
        try:
            relays = self._relays()
            async with trio.open_nursery() as nursery:
                for relay in relays:
                    nursery.start_soon(relay.run)
                await self.group.wait_ended()
                for relay in relays:
                    relay.stop_at(trio.current_time() + HELD_OPEN)
            self.code = await self.group.reap()
        finally:
            await self.group.stop()
            self.ended.set()
            self._heard.set()

    def _relays(self) -> tuple[Relay, ...]:
        streams = ((self.group.stdout, Stream.STDOUT), (self.group.stderr, Stream.STDERR))
        return tuple(
            Relay(stream, name, self._hear, self._wait_room)
            for stream, name in streams
            if stream is not None
        )

    def _hear(self, event: OutputProduced) -> None:
        self._heard.set()
        self._heard = trio.Event()
        if self.listener is not None:
            self.listener.hear(event)

    async def _wait_room(self) -> None:
        wait = NOBODY_S_PACE if self.listener is None else self.listener.wait_room
        await wait()

    async def wait_silent(self, seconds: float) -> None:
        """Wait until it has written nothing for so long, from now on, or has ended."""
        silent = False
        while not (silent or self.ended.is_set()):
            heard = self._heard
            with trio.move_on_after(seconds) as patience:
                await heard.wait()
            silent = patience.cancelled_caught

    async def write(self, data: bytes) -> bool:
        """Write to it; False: it has closed its input, or has none. Cancelled, a part of it may be
        written."""
        if self.group.stdin is None:
            return False
        try:
            await self.group.stdin.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return False
        return True


async def wait_any(*waits: Callable[[], Awaitable[object]]) -> None:
    """Wait for the first of some waits, none of which raises. The others are cancelled."""
    async with trio.open_nursery() as nursery:

        async def wait(one: Callable[[], Awaitable[object]]) -> None:
            await one()
            nursery.cancel_scope.cancel()

        for each in waits:
            nursery.start_soon(wait, each)
