"""The runs that one link follows: a task and a cursor each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.core.events import Recorded
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId, Seq
from fleetgate.gateway.outbox import Outbox

MAX_FOLLOWED: Final = 16_384
"""Runs that one link may follow; one more ends the link. A follower is a task and a cursor,
and an rvbox client retains up to 8,000 commands and follows each."""


class TooMany(Exception):
    """One more run than a link may follow."""


class Followers:
    """Delivers followed runs batch by batch, each as fast as the outbox takes them."""

    def __init__(
        self, hub: Hub, outbox: Outbox, deliver: Callable[[Sequence[Recorded]], None]
    ) -> None:
        self._hub = hub
        self._outbox = outbox
        self._give = deliver
        self._scopes: dict[RunId, trio.CancelScope] = {}

    def follow(self, nursery: trio.Nursery, run: RunId, after: Seq) -> None:
        """Deliver the run's events above `after`, in place of what was followed of it before.

        Raises: `TooMany`.
        """
        self.unfollow(run)
        if len(self._scopes) >= MAX_FOLLOWED:
            raise TooMany(f"a link may follow {MAX_FOLLOWED} runs")
        scope = self._scopes[run] = trio.CancelScope()
        nursery.start_soon(self._deliver, run, after, scope)

    def unfollow(self, run: RunId) -> None:
        """Deliver no more of the run, from this moment on."""
        scope = self._scopes.pop(run, None)
        if scope is not None:
            scope.cancel()

    async def _deliver(self, run: RunId, after: Seq, scope: trio.CancelScope) -> None:
        with scope, self._hub.follow(run, after) as follower:
            async for batch in follower:
                await self._outbox.wait_room()
                # A cancelled follower must not deliver a batch that it already had in hand.
                await trio.lowlevel.checkpoint_if_cancelled()
                self._give(batch)
