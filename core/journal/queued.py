"""The queue before a journal: order, group commits, bounds, and what failing commits mean.

A journal is this class and a place to put rows. One task, `run`, takes what waits, has it
stored, and answers (or has `threaded`'s thread do the first two); there is never more than one
commit at a time, and while it lasts the next one gathers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import attrs
import trio

from fleetgate.core.journal.api import (
    Done,
    Journal,
    JournalConflict,
    JournalError,
    JournalFailing,
    Pressure,
    Write,
)
from fleetgate.core.journal.rows import Row, count, prepare_all, size
from fleetgate.core.journal.stalls import Stalls

QUEUE_ITEMS: Final = 8192
"""Items in line at which `wait_room` waits: some tens of milliseconds of commits."""

QUEUE_SIZE: Final = 16 << 20
"""Bytes of the same, as rows: what a stalled disk may pin before links stop reading. It is there
twice, since followers are shown events and not rows. Four of the largest commits: more is no
faster."""

COMMIT_ITEMS: Final = 2048
"""Items of one commit. Beyond some hundred a larger one is no cheaper per item, and
whoever comes next waits for all of it."""

COMMIT_SIZE: Final = 4 << 20
"""Bytes of one commit: SQLite's write-ahead log is checkpointed at about that size."""

FIRST_RETRY: Final = 0.1
LAST_RETRY: Final = 5.0
"""Seconds after which a failed commit is tried again; the wait doubles from one to the other."""


@attrs.frozen(slots=True, eq=False)
class Entry:
    """Writes that were enqueued together."""

    rows: tuple[Row, ...]
    done: Done
    may_fail: bool
    items: int
    size: int


class QueuedJournal(Journal):
    """A journal but for its storage. `committing` runs it."""

    def __init__(self) -> None:
        self._line: deque[Entry] = deque()
        self._items = 0
        self._size = 0
        self._fallible = 0
        self._failing: str | None = None
        self._damaged = False
        self._stalls = Stalls()
        self._told: str | None = None
        self._changed: Callable[[str | None], None] = _nobody
        self._retry = FIRST_RETRY
        self._closing = False
        self._ended = False
        self._news = trio.Event()
        self._room = trio.Event()

    @abstractmethod
    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        """Make all groups durable in one commit, and answer which were left out because they
        contradict what is there. Without groups, find out whether a commit would succeed.

        Raises: `JournalFailing`, and none of them has left a trace.
        """

    def enqueue(self, writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        if self._ended:
            raise JournalError("the journal is closed; nothing can be written any more")
        rows = prepare_all(writes)
        entry = Entry(rows, done, may_fail, sum(map(count, rows)), sum(map(size, rows)))
        self._line.append(entry)
        if not self._items:
            self._stalls.begin()
        self._items += entry.items
        self._size += entry.size
        self._fallible += may_fail
        self._tell_news()

    def _tell_news(self) -> None:
        """Something is in line, or the journal closes."""
        self._news.set()

    def pressure(self) -> Pressure:
        return Pressure(self._items, self._size, self._reason, self._damaged)

    def watch(self, changed: Callable[[str | None], None]) -> None:
        self._changed = changed

    @property
    def _reason(self) -> str | None:
        return self._failing if self._failing is not None else self._stalls.reason

    def _stands(self, failing: str | None) -> None:
        self._failing = failing
        self._tell_watcher()

    def _tell_watcher(self) -> None:
        before, self._told = self._told, self._reason
        if (before is None) != (self._told is None):
            self._changed(self._told)

    async def watch_stalls(self) -> None:
        """Tell of a disk that says nothing, as of one that fails, for as long as this runs."""
        await self._stalls.watch(self._tell_watcher)

    @property
    def has_room(self) -> bool:
        return not self._full()

    async def wait_room(self) -> None:
        await trio.lowlevel.checkpoint()
        while self._full():
            await self._room.wait()

    async def commit(self, writes: Sequence[Write]) -> None:
        answered = trio.Event()
        errors: list[Exception] = []

        def done(error: Exception | None) -> None:
            if error is not None:
                errors.append(error)
            answered.set()

        self.enqueue(writes, done, may_fail=True)
        await answered.wait()
        if errors:
            raise errors[0]

    async def run(self) -> None:
        """Commit what is enqueued until `close`, and then what is still in line, with what
        the answers to that enqueue."""
        try:
            with trio.CancelScope(shield=True):  # what is in line outlives any cancellation
                while self._line or not self._closing:
                    if self._line or self._failing is not None:
                        await self._attempt()
                    else:
                        await self._arrival()
        finally:
            self._ended = True

    def close(self) -> None:
        """Let `run` end once nothing is in line; from then on no writes are taken."""
        self._closing = True
        self._tell_news()

    async def _arrival(self) -> None:
        await self._news.wait()
        self._news = trio.Event()

    async def _attempt(self) -> None:
        batch = self._take()
        try:
            refused = await self.store([entry.rows for entry in batch])
        except JournalFailing as error:
            await self._put_back(batch, error)
        else:
            self._failing = None
            self._retry = FIRST_RETRY
            self._answer_all(batch, refused)

    async def _put_back(self, batch: Sequence[Entry], error: JournalFailing) -> None:
        self._line.extendleft(reversed(batch))
        await self._failed(error)

    def _answer_all(self, batch: Sequence[Entry], refused: Mapping[int, JournalConflict]) -> None:
        self._stalls.go_on()
        if self._told is not None:
            self._tell_watcher()
        for index, entry in enumerate(batch):
            self._answer(entry, refused.get(index))
        self._tell_room()

    def _take(self) -> list[Entry]:
        """What the next commit holds: at least one entry if there is one."""
        batch: list[Entry] = []
        items = bytes_ = 0
        while self._line and items < COMMIT_ITEMS and bytes_ < COMMIT_SIZE:
            batch.append(self._line.popleft())
            items += batch[-1].items
            bytes_ += batch[-1].size
        return batch

    async def _failed(self, error: JournalFailing) -> None:
        """Give up what may fail, now and as it arrives, until it is time to try again."""
        self._stands(str(error))
        while self._closing and self._line:
            self._give_up(error, everything=True)
        with trio.move_on_after(self._retry):
            while not self._closing:
                self._give_up(error)
                await self._arrival()
        self._retry = min(2 * self._retry, LAST_RETRY)

    def _give_up(self, error: JournalFailing, *, everything: bool = False) -> None:
        if not (everything or self._fallible):
            return  # spares a look through a long line at every arrival
        line = self._line
        given_up = [entry for entry in line if everything or entry.may_fail]
        self._line = deque(entry for entry in line if not (everything or entry.may_fail))
        for entry in given_up:  # last, since an answer may put something in line
            self._answer(entry, JournalFailing(*error.args))
        self._tell_room()

    def _answer(self, entry: Entry, error: JournalError | None) -> None:
        self._items -= entry.items
        self._size -= entry.size
        self._fallible -= entry.may_fail
        if not self._items:
            self._stalls.end()
        entry.done(error)

    def _full(self) -> bool:
        return self._items >= QUEUE_ITEMS or self._size >= QUEUE_SIZE

    def _tell_room(self) -> None:
        if not self._full():
            self._room.set()
            self._room = trio.Event()


J = TypeVar("J", bound=QueuedJournal)


@asynccontextmanager
async def committing(journal: J) -> AsyncGenerator[J]:
    """Run `journal` for the time of the body; behind it, commit or give up what is in line."""
    failure: Exception | None = None
    watching = trio.CancelScope()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.run)
            nursery.start_soon(_watch, journal, watching)
            try:
                yield journal
            except Exception as error:
                failure = error  # raised below: the body's own error, not in a group
            finally:
                watching.cancel()
                journal.close()
    finally:
        if failure is not None:
            raise failure


async def _watch(journal: QueuedJournal, watching: trio.CancelScope) -> None:
    with watching:
        await journal.watch_stalls()


def _nobody(failing: str | None) -> None:
    """Nobody wants to be told."""
