"""The runs that one link follows: a task and a cursor each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.core.errors import Refusal
from fleetgate.core.events import Recorded
from fleetgate.core.follow import Follower
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.passages import SENT
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.rights import ALL, Rights

MAX_FOLLOWED: Final = 16_384
"""Runs that one link may follow; one more ends the link. A follower is a task and a cursor,
and an rvbox client retains up to 8,000 commands and follows each."""


class TooMany(Exception):
    """One more run than a link may follow."""


class Followers:
    """Delivers followed runs batch by batch, each as fast as the outbox takes them. `failed`
    is told where the journal cannot be read, or has forgotten the run; that run is not followed
    any more."""

    def __init__(
        self,
        hub: Hub,
        outbox: Outbox,
        deliver: Callable[[Sequence[Recorded]], None],
        failed: Callable[[Refusal], None],
        rights: Rights = ALL,
    ) -> None:
        self._hub = hub
        self._rights = rights
        self.link: tuple[str, str] = ("", "")
        """The entry and the peer that are told."""
        self._outbox = outbox
        self._give = deliver
        self._failed = failed
        self._fetching = trio.Lock()
        """Held by the one follower that fetches: of all that wait behind a slow peer, one has a
        batch in hand."""
        self._scopes: dict[RunId, trio.CancelScope] = {}
        self._cursors: dict[RunId, Follower] = {}
        self._moved: trio.Event | None = None
        hub.ladders.passages.tellers.add(self)

    def follow(self, nursery: trio.Nursery, run: RunId, after: Seq) -> None:
        """Deliver the run's events above `after`, in place of what was followed of it before.

        Raises: `TooMany`.
        """
        self.unfollow(run)
        if len(self._scopes) >= MAX_FOLLOWED:
            raise TooMany(f"a link may follow {MAX_FOLLOWED} runs")
        scope = self._scopes[run] = trio.CancelScope()
        follower = self._cursors[run] = self._hub.follow(run, after)
        nursery.start_soon(self._deliver, run, follower, scope)

    def reached(self, run: RunId) -> tuple[int, int] | None:
        """The number behind which a run is followed, and the one that was handed on last."""
        follower = self._cursors.get(run)
        return None if follower is None else (follower.began, follower.cursor)

    def unfollow(self, run: RunId) -> None:
        """Deliver no more of the run, from this moment on."""
        scope = self._scopes.pop(run, None)
        if scope is not None:
            scope.cancel()
        self._cursors.pop(run, None)
        self._tell()

    async def caught_up(self) -> None:
        """Wait until all that is committed of the followed runs was delivered. Ends too where
        none is followed any more, as when the link is gone."""
        while not all(follower.caught_up for follower in self._cursors.values()):
            if self._moved is None:
                self._moved = trio.Event()
            await self._moved.wait()

    def _tell(self) -> None:
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    async def _deliver(self, run: RunId, follower: Follower, scope: trio.CancelScope) -> None:
        try:
            with scope, follower:
                await self._deliver_all(run, follower)
        finally:
            if self._cursors.get(run) is follower:
                del self._cursors[run]
            self._tell()

    async def _take_turn(self) -> None:
        try:
            self._fetching.acquire_nowait()  # `acquire` gives way to other tasks in any case
        except trio.WouldBlock:
            await self._fetching.acquire()

    async def _deliver_all(self, run: RunId, follower: Follower) -> None:
        passages, point = self._hub.ladders.passages, (SENT, *self.link)
        try:
            await self._rights.check_run(self._hub, run)
            passages.mark(run, point, follower.cursor)
            while True:
                waited = await follower.wait()
                await self._take_turn()
                try:
                    await self._outbox.wait_room()
                    # Who has waited has given way to others already.
                    batch = (follower.take_recent() if waited else ()) or await follower.take()
                    # A cancelled follower must not deliver what it already has in hand.
                    await trio.lowlevel.checkpoint_if_cancelled()
                    if batch:
                        self._give(batch)
                        passages.mark(run, point, batch[-1].seq)
                finally:
                    self._fetching.release()
                self._tell()
        except Refusal as refusal:
            self._failed(refusal)
