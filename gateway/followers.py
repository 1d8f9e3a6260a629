"""The runs that one link follows: a task and a cursor each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.core.errors import Unavailable
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
    """Delivers followed runs batch by batch, each as fast as the outbox takes them. `failed`
    is told where the journal cannot be read; that run is not followed any more."""

    def __init__(
        self,
        hub: Hub,
        outbox: Outbox,
        deliver: Callable[[Sequence[Recorded]], None],
        failed: Callable[[Unavailable], None],
    ) -> None:
        self._hub = hub
        self._outbox = outbox
        self._give = deliver
        self._failed = failed
        self._fetching = trio.Lock()
        """Held by the one follower that fetches: of all that wait behind a slow peer, one has a
        batch in hand."""
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
            try:
                while True:
                    await follower.wait()
                    async with self._fetching:
                        await self._outbox.wait_room()
                        batch = await follower.take()
                        # A cancelled follower must not deliver what it already has in hand.
                        await trio.lowlevel.checkpoint_if_cancelled()
                        if batch:
                            self._give(batch)
            except Unavailable as refusal:
                self._failed(refusal)
