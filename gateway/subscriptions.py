"""What one link has the hub tell it: the runs that it follows, and of workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

import trio

from fleetgate.core.errors import Refusal
from fleetgate.core.events import Recorded
from fleetgate.core.hub import Hub
from fleetgate.gateway.followers import Followers, TooMany
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.rights import Rights
from fleetgate.gateway.watching import Watch
from fleetgate.protocols import api
from fleetgate.protocols.api import Connection, Steps

Subscription: TypeAlias = api.Follow | api.Unfollow | api.WatchWorkers


class Subscriptions:
    """One link's. A driver makes them with the first: the links of workers have none, and these
    take 1 KiB."""

    __slots__ = ("_close", "_followers", "_watch")

    def __init__(
        self,
        hub: Hub,
        outbox: Outbox,
        connection: Connection,
        link: tuple[str, str],
        rights: Rights,
        deliver: Callable[[Sequence[Recorded]], int],
        call: Callable[[Callable[[int], Steps]], None],
        close: Callable[[api.Close], None],
    ) -> None:
        """`link`: the entry and the peer that are told. `deliver` takes what is followed, as for
        `Followers`; `call` makes a call into the connection, and `close` ends the link."""
        self._close = close
        self._followers = Followers(hub, outbox, deliver, self._unreadable, rights)
        self._followers.link = link
        self._watch = Watch(hub, outbox, connection, call, close)
        self._watch.entry = link[0]

    def perform(self, nursery: trio.Nursery, step: Subscription) -> None:
        """Begin one, or end it. What is followed is delivered in `nursery`."""
        match step:
            case api.Follow():
                try:
                    self._followers.follow(nursery, step.run, step.after)
                except TooMany as error:
                    self._close(api.Close(1008, str(error)))
            case api.Unfollow():
                self._followers.unfollow(step.run)
            case api.WatchWorkers():
                self._watch.start()
            case _:
                assert_never(step)

    def _unreadable(self, refusal: Refusal) -> None:
        self._close(api.Close(1011, refusal.message))

    async def caught_up(self) -> None:
        """See `Followers.caught_up`."""
        await self._followers.caught_up()

    def stop(self) -> None:
        """Tell of workers no more. What is followed ends with its nursery."""
        self._watch.stop()
