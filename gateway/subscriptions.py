"""What one link has the hub tell it: the runs that it follows, and of workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias, assert_never

import attrs
import trio

from fleetgate.core.errors import Refusal, Unavailable
from fleetgate.core.events import Outcome, Reason, Recorded, RunFinished, RunState
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId, Seq
from fleetgate.gateway.followers import Followers, TooMany
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.rights import Rights
from fleetgate.gateway.watching import Watch
from fleetgate.protocols import api
from fleetgate.protocols.api import Connection, Steps

Subscription: TypeAlias = api.Follow | api.Unfollow | api.WatchWorkers

ALL_OF_IT: Final = (1 << 63) - 1
"""Clamped to a run's last number."""


class Subscriptions:
    """One link's. A driver makes them with the first: the links of workers have none, and these
    take 1 KiB."""

    __slots__ = ("_call", "_close", "_connection", "_cut", "_followers", "_watch")

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
        self._call = call
        self._connection = connection
        self._cut: dict[RunId, Seq] = {}
        """The damaged runs whose followers were given an end, and its number."""
        self._followers = Followers(hub, outbox, deliver, self._unreadable, rights)
        self._followers.link = link
        self._watch = Watch(hub, outbox, connection, call, close)
        self._watch.entry = link[0]

    def perform(self, nursery: trio.Nursery, step: Subscription) -> None:
        """Begin one, or end it. What is followed is delivered in `nursery`."""
        match step:
            case api.Follow():
                self._cut.pop(step.run, None)
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

    def _unreadable(self, run: RunId, reached: Seq, refusal: Refusal) -> None:
        if isinstance(refusal, Unavailable) and refusal.lasting:
            self._call(partial(self._cut_short, run, Seq(reached + 1), refusal.message))
        else:
            self._close(api.Close(1011, refusal.message))

    def _cut_short(self, run: RunId, seq: Seq, why: str, now: int) -> Steps:
        """End what cannot be read in the place of the event that cannot. A link that ended for it
        would come again for the same run, and end again, with all else that it carries."""
        self._cut[run] = seq
        end = RunFinished(Outcome(RunState.LOST, Reason.LOST, why))
        steps = self._connection.deliver([Recorded(run, seq, now, end)], now)
        return (api.Report("run_damaged", why, run), *steps)

    def cut(self, run: RunId) -> Seq | None:
        """The number of the end that was given to the peer of a damaged run; None of any other."""
        return self._cut.get(run)

    async def caught_up(self) -> None:
        """See `Followers.caught_up`."""
        await self._followers.caught_up()

    def stop(self) -> None:
        """Tell of workers no more. What is followed ends with its nursery."""
        self._watch.stop()


def owed(step: api.Ack, subscriptions: Subscriptions | None) -> api.Ack:
    """What an acknowledgement is of. Who has the end of a damaged run has all that there is to be
    had: what the journal holds behind it is owed to nobody."""
    cut = None if subscriptions is None else subscriptions.cut(step.run)
    return step if cut is None or step.through < cut else attrs.evolve(step, through=ALL_OF_IT)
