"""A run in memory, and the followers of it.

A slot has two views. *Written* is the run after everything that was put in line for
the journal; decisions stand on it. *Visible* is the run as committed; whatever leaves
the gateway stands on that (I2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.core.batch import Batch
from fleetgate.core.events import Event, OutputProduced, Recorded, Source, TextProduced
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq
from fleetgate.core.journal.api import OpenOrder
from fleetgate.core.run import Run, evolve
from fleetgate.core.timers import Timer

TAIL_ITEMS: Final = 2048
"""Events of a run, committed, that are kept for live followers so that they need no read of the
journal: the largest group commit. The oldest go first, and who wants them reads the journal."""

TAIL_SIZE: Final = 4 << 20
"""Bytes of the same, roughly. Few runs have a tail at a time: it is dropped when all followers
have caught up, and when nobody can read from it any more."""

EVENT_SIZE: Final = 320
"""What an event takes beside its body, in bytes, as its objects were measured."""


Told: TypeAlias = Callable[[RunId], None]
"""Told that a run has news: a plain call that must neither raise nor follow or leave a run."""

Marks: TypeAlias = tuple[Run, Seq, int, int, int]
"""Where a slot's numbering stands. `Slot.marks` makes them, `Slot.reset` alone reads them."""


class Slot:
    """One run that is open, or that somebody still watches."""

    __slots__ = (
        "_tail",
        "acknowledging",
        "behind",
        "bodies",
        "clock",
        "confirmed",
        "cut",
        "followers",
        "keys",
        "last_seq",
        "last_time",
        "mark",
        "marking",
        "native_seq",
        "news",
        "orders",
        "puts",
        "reached",
        "run",
        "session_over",
        "timed_out",
        "timers",
        "timing",
        "told",
        "turn",
        "users",
        "visible",
        "visible_native",
        "visible_seq",
    )

    def __init__(
        self,
        run: Run,
        orders: tuple[OpenOrder, ...] = (),
        keys: Mapping[str, OrderNumber] | None = None,
    ) -> None:
        self.run = run
        self.last_seq = run.last_seq
        self.native_seq = run.native_seq
        self.last_time = run.created
        self.clock = run.clock
        """The latest time that an event of it has by its worker's clock; 0: it says none."""
        self.visible = run
        self.visible_seq = run.last_seq
        self.visible_native = run.native_seq
        self.orders = {open_.order.number: open_ for open_ in orders}
        self.keys = dict(keys or {})
        self.mark = (Epoch(0), OrderNumber(0))
        """The epoch and number up to which orders were handed over. See `core.dispatcher`."""
        self.marking: OrderNumber | None = None
        """The order that is being marked as sent."""
        self.turn = trio.Semaphore(1, max_value=1)
        """Held by the one command that is being decided and committed. No lock: what has not
        been answered in time keeps it until the journal settles it, whichever task that is."""
        self.news: trio.Event | None = None
        """What tasks wait for, while any does."""
        self.told: dict[Told, None] = {}
        """Who has news called for, in the order in which they came."""
        self._tail: deque[Recorded] | None = None
        self.cut: tuple[tuple[int, int, int], Batch] | None = None
        """What `recent` was asked last, and gave: many followers of a run ask for the same."""
        self.bodies = 0
        """Bytes of the tail, as `body_size` counts them."""
        self.followers = 0
        self.behind = 0
        """Of them, those who may not have all that is visible."""
        self.reached = 0
        """The highest number up to which any of them has all: a tail that begins above the next
        one is of use to nobody."""
        self.timers: list[Timer] = []
        self.session_over = False
        """Its session was ended: that its worker names it once more does not bring it back."""
        self.timed_out = False
        """It was cancelled because its timeout has passed: its end is told as that."""
        self.timing = False
        """Its timeout runs."""
        self.confirmed = run.acknowledged
        """What its controller has acknowledged, durable or not yet in line."""
        self.acknowledging = False
        """A row with an acknowledgement is in line; a later one waits for it."""
        self.puts = 0
        """Rows of the run in line: until they are durable the slot is the truth about it."""
        self.users = 0
        """Who is about to put such a row in line."""

    @property
    def needed(self) -> bool:
        """Whether the journal's row is, or may become, older than what was said of the run."""
        return self.puts > 0 or self.users > 0

    def written(self) -> Run:
        """The run with everything that was put in line."""
        last, native, clock = self.last_seq, self.native_seq, self.clock
        return attrs.evolve(self.run, last_seq=last, native_seq=native, clock=clock)

    def seen(self) -> Run:
        """The run as committed."""
        return attrs.evolve(self.visible, last_seq=self.visible_seq, native_seq=self.visible_native)

    def marks(self) -> Marks:
        """Where the numbering stands, for `reset`."""
        return self.run, self.last_seq, self.last_time, self.native_seq, self.clock

    def reset(self, marks: Marks) -> None:
        """Take back the numbers given since `marks`. Nothing of them may have been enqueued."""
        self.run, self.last_seq, self.last_time, self.native_seq, self.clock = marks

    def timed(self, source: Source | None, now: int) -> Source | None:
        """The source as events of it are recorded now: with a time that does not fall within the
        run, once its worker has said any. What it said without one before counts as when that was
        recorded."""
        said = None if source is None else source.time
        if said is not None and not self.clock and self.run.accepted:
            said = max(said, self.last_time)
        if said is None and not self.clock:
            return source
        self.clock = max(self.clock, now if said is None else said)
        if source is None:
            return Source(Epoch(0), None, self.clock)
        return source if source.time == self.clock else attrs.evolve(source, time=self.clock)

    def number(self, event: Event, now: int, source: Source | None) -> Recorded:
        """Take the run's next number for `event`.

        Raises: `IllegalTransition`, and no number is taken.
        """
        run = evolve(self.run, event)
        self.run = run
        self.last_seq = Seq(self.last_seq + 1)
        self.last_time = max(self.last_time, now)
        return Recorded(run.id, self.last_seq, self.last_time, event, source)

    def number_plain(
        self,
        parts: Sequence[tuple[Sequence[Event], Source | None]],
        now: int,
        batch: list[Recorded],
    ) -> None:
        """Take the next numbers for events that leave the run as it is, into `batch`."""
        run, seq = self.run.id, self.last_seq
        self.last_time = time = max(self.last_time, now)
        for events, said in parts:
            source = self.timed(said, now) if events else said
            for event in events:
                seq = Seq(seq + 1)
                batch.append(Recorded(run, seq, time, event, source))
            if source is not None and source.seq is not None:
                self.native_seq = source.seq
        self.last_seq = seq

    def publish(self, events: tuple[Recorded, ...], run: Run, native_seq: int) -> None:
        """`events` are durable, and the run as it was behind them."""
        self.visible = run
        self.visible_seq = events[-1].seq
        self.visible_native = native_seq
        self.cut = None
        self.behind = self.followers
        if self.followers:
            self._keep(events)

    def _keep(self, events: tuple[Recorded, ...]) -> None:
        tail = self._tail or deque[Recorded]()  # an empty one takes a tenth of what a run does
        first = tail[0] if tail else events[0]
        if first.seq > self.reached + 1:  # every follower reads from the journal for now
            self._drop_tail()
            return
        tail.extend(events)
        self.bodies += sum(map(body_size, events))
        while tail and (len(tail) > TAIL_ITEMS or self.bodies > TAIL_SIZE):
            self.bodies -= body_size(tail.popleft())
        self._tail = tail or None

    @property
    def tail(self) -> Sequence[Recorded]:
        """The latest events, as long as a follower may want them from here."""
        return self._tail or ()

    def tell(self) -> None:
        """Wake the followers. A wake carries nothing: each reads from its own cursor (I8)."""
        if self.news is not None:
            self.news.set()
            self.news = None
        for told in self.told:
            told(self.run.id)

    async def wait_news(self) -> None:
        """Wait until `tell` is called."""
        if self.news is None:
            self.news = trio.Event()
        await self.news.wait()

    def join(self, cursor: Seq, told: Told | None = None) -> None:
        """One follower more, which has all up to `cursor`. `told` hears of news until it leaves."""
        self.followers += 1
        self.behind += 1
        if told is not None:
            self.told[told] = None
        self._come_to(cursor)
        if cursor >= self.visible_seq:
            self._catch_up()

    def reach(self, before: Seq, cursor: Seq) -> None:
        """A follower had all up to `before`, and has all up to `cursor` now. Once every one has
        everything, the tail is dropped."""
        self._come_to(cursor)
        if before < self.visible_seq <= cursor:
            self._catch_up()

    def leave(self, cursor: Seq, told: Told | None = None) -> None:
        """One follower less, which had all up to `cursor`; without any the tail is dropped."""
        self.followers -= 1
        if told is not None:
            self.told.pop(told, None)
        if cursor < self.visible_seq:
            self._catch_up()
        if not self.followers:
            self.reached = self.behind = 0
            self._drop_tail()

    def _come_to(self, cursor: Seq) -> None:
        self.reached = max(self.reached, min(cursor, self.visible_seq))

    def _catch_up(self) -> None:
        self.behind -= 1
        if self.behind <= 0:
            self._drop_tail()

    def _drop_tail(self) -> None:
        self._tail = None
        self.cut = None
        self.bodies = 0

    def recent(self, after: Seq, items: int, size: int) -> Batch:
        """Committed events from memory: those right after `after`, or none if they are not
        all there."""
        if not self.tail or self.tail[0].seq > after + 1:
            return NOTHING
        asked = (after, items, size)
        if self.cut is None or self.cut[0] != asked:
            self.cut = asked, self._cut(after + 1 - self.tail[0].seq, items, size)
        return self.cut[1]

    def _cut(self, start: int, items: int, size: int) -> Batch:
        some = islice(self.tail, start, start + items)
        if self.bodies <= size:
            return Batch(some)
        batch: list[Recorded] = []
        for recorded in some:
            size -= body_size(recorded)
            if batch and size < 0:
                break
            batch.append(recorded)
        return Batch(batch)


NOTHING: Final = Batch()

_BODY: Final = ("text", "output", "message")


def body_size(recorded: Recorded) -> int:
    """Roughly the bytes that an event holds."""
    event = recorded.event
    if type(event) is OutputProduced:
        return EVENT_SIZE + len(event.data)
    if type(event) is TextProduced:
        return EVENT_SIZE + len(event.text)
    for name in _BODY:
        body = getattr(event, name, None)
        if body is not None:
            return EVENT_SIZE + len(body)
    return 2 * EVENT_SIZE
