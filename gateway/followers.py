"""The runs that one link follows: a cursor each, and one task that delivers them in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.core.batch import part
from fleetgate.core.errors import Refusal
from fleetgate.core.events import Recorded
from fleetgate.core.follow import Follower
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.passages import SENT, Point
from fleetgate.gateway.bell import Bell
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.rights import ALL, Rights

MAX_FOLLOWED: Final = 16_384
"""Runs that one link may follow; one more ends the link. Each is a cursor, and an rvbox client
retains up to 8,000 commands and follows each."""


class TooMany(Exception):
    """One more run than a link may follow."""


class Followers:
    """Delivers followed runs batch by batch, each as fast as the outbox takes them: of all that
    wait behind a slow peer, none has a batch in hand. `failed` is told where the journal cannot be
    read, or has forgotten the run, and the last number that was delivered; that run is not followed
    any more."""

    __slots__ = (
        "__weakref__",
        "_at_work",
        "_cursors",
        "_failed",
        "_give",
        "_hub",
        "_last",
        "_moved",
        "_new",
        "_news",
        "_outbox",
        "_point",
        "_reading",
        "_ready",
        "_rights",
        "_told",
    )

    def __init__(
        self,
        hub: Hub,
        outbox: Outbox,
        deliver: Callable[[Sequence[Recorded]], int],
        failed: Callable[[RunId, Seq, Refusal], None],
        rights: Rights = ALL,
    ) -> None:
        """`deliver` answers how many events it has delivered, of those that it is given the first;
        it is then given the others, if the run is followed still as it was."""
        self._hub = hub
        self._rights = rights
        self._point: Point = (SENT, "", "")
        self._outbox = outbox
        self._give = deliver
        self._failed = failed
        self._cursors: dict[RunId, Follower] = {}
        self._ready: dict[RunId, None] = {}
        """Those that may have news, in the order in which they are looked at."""
        self._new: dict[RunId, None] = {}
        """Those that nobody has looked at yet."""
        # One for all runs: a method that is bound takes as much as a cursor.
        self._told = self._tell_of
        self._last: RunId | None = None
        self._at_work = False
        self._news = Bell()
        self._reading: tuple[Follower, trio.CancelScope] | None = None
        """Who the journal is read for, and what ends that when it is left."""
        self._moved: trio.Event | None = None
        """What `caught_up` waits for, while anybody does."""
        hub.ladders.passages.tellers.add(self)

    @property
    def link(self) -> tuple[str, str]:
        """The entry and the peer that are told."""
        return self._point[1], self._point[2]

    @link.setter
    def link(self, link: tuple[str, str]) -> None:
        self._point = (SENT, *link)

    def follow(self, nursery: trio.Nursery, run: RunId, after: Seq) -> None:
        """Deliver the run's events above `after`, in place of what was followed of it before.

        Raises: `TooMany`.
        """
        self._leave(run)
        if len(self._cursors) >= MAX_FOLLOWED:
            raise TooMany(f"a link may follow {MAX_FOLLOWED} runs")
        follower = self._cursors[run] = self._hub.follow(run, after, self._told)
        follower.join()
        self._new[run] = None
        self._tell_of(run)
        if not self._at_work:
            self._at_work = True
            nursery.start_soon(self._deliver_all)

    def reached(self, run: RunId) -> tuple[int, int] | None:
        """The number behind which a run is followed, and the one that was handed on last."""
        follower = self._cursors.get(run)
        return None if follower is None else (follower.began, follower.cursor)

    def unfollow(self, run: RunId) -> None:
        """Deliver no more of the run, from this moment on."""
        self._leave(run)
        self._tell_moved()

    def _leave(self, run: RunId) -> None:
        follower = self._cursors.pop(run, None)
        if follower is None:
            return
        follower.leave()
        self._ready.pop(run, None)
        self._new.pop(run, None)
        if self._reading is not None and self._reading[0] is follower:
            self._reading[1].cancel()
        if not self._cursors:
            self._news.ring()

    async def caught_up(self) -> None:
        """Wait until all that is committed of the followed runs was delivered. Ends too where
        none is followed any more, as when the link is gone."""
        while not all(follower.caught_up for follower in self._cursors.values()):
            if self._moved is None:
                self._moved = trio.Event()
            await self._moved.wait()

    def _tell_moved(self) -> None:
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    def _tell_of(self, run: RunId) -> None:
        self._ready[run] = None
        self._news.ring()

    # --- the task, while there is any run to follow

    async def _deliver_all(self) -> None:
        try:
            while self._cursors:
                if not self._ready:
                    await self._news.wait()
                    continue
                await self._outbox.wait_room()
                if self._ready:
                    await self._deliver_next()
        finally:
            self._at_work = False
            for follower in self._cursors.values():
                follower.leave()
            self._cursors.clear()
            self._tell_moved()

    async def _deliver_next(self) -> None:
        run = self._next()
        follower = self._cursors[run]
        # Where it was woken, others have had their turn already: no checkpoint.
        batch = () if run in self._new else follower.take_recent()
        if not batch and (run in self._new or not follower.caught_up):
            batch = await self._fetch(run, follower)
        if not self._follows(run, follower):
            return
        if batch:
            self._hand_on(run, follower, batch)
        self._tell_moved()
        if self._follows(run, follower) and not follower.caught_up:
            self._ready[run] = None
            del batch  # while others have their turn
            await trio.lowlevel.checkpoint()

    def _hand_on(self, run: RunId, follower: Follower, batch: Sequence[Recorded]) -> None:
        given = self._give(batch)
        while given < len(batch) and self._follows(run, follower):
            given += self._give(part(batch, given, len(batch)))
        self._mark(run, batch[given - 1].seq)

    def _next(self) -> RunId:
        """The first that is ready, but for the one that was last: who has much to say is overtaken
        by who has not."""
        ready = iter(self._ready)
        run = next(ready)
        if run == self._last:
            run = next(ready, run)
        del self._ready[run]
        self._last = run
        return run

    async def _fetch(self, run: RunId, follower: Follower) -> Sequence[Recorded]:
        """What is not in memory, or of a run that nobody has looked at. Nothing where the run is
        not followed any more when it has come."""
        with trio.CancelScope() as scope:
            self._reading = follower, scope
            try:
                if run in self._new:
                    await self._rights.check_run(self._hub, run)
                    await trio.lowlevel.checkpoint_if_cancelled()
                    del self._new[run]
                    self._mark(run, follower.cursor)
                return () if follower.caught_up else await follower.take()
            except Refusal as refusal:
                self._reading = None
                self._leave(run)
                self._failed(run, follower.cursor, refusal)
            finally:
                self._reading = None
        return ()

    def _follows(self, run: RunId, follower: Follower) -> bool:
        return self._cursors.get(run) is follower

    def _mark(self, run: RunId, through: Seq) -> None:
        self._hub.ladders.passages.mark(run, self._point, through)
