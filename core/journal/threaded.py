"""The queue before a journal whose commits are made by a thread.

While commits succeed the thread takes what waits by itself: between two commits nothing goes by
way of the event loop, and an idle thread is woken by whoever puts something in line. Only where a
commit fails the loop takes over, until one succeeds.
"""

from __future__ import annotations

import queue
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import trio

from fleetgate.core.journal.api import JournalConflict, JournalFailing
from fleetgate.core.journal.queued import Entry, QueuedJournal
from fleetgate.core.journal.rows import Row
from fleetgate.core.journal.thread import Caller


class ThreadedJournal(QueuedJournal):
    """A journal but for its storage, which `thread` alone writes."""

    def __init__(self, thread: Caller) -> None:
        super().__init__()
        self._thread = thread
        self._wake: Final[queue.SimpleQueue[None]] = queue.SimpleQueue()
        self._idle = False
        """The thread has found nothing in line. Set by it, taken back by whoever wakes it."""
        self._fault: BaseException | None = None

    @abstractmethod
    def write(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        """As `store`. Called in the thread."""

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        return await self._thread.call(partial(self.write, groups))

    def _tell_news(self) -> None:
        super()._tell_news()
        if self._idle:
            self._idle = False
            self._wake.put(None)

    async def _attempt(self) -> None:
        if self._failing is not None:
            await super()._attempt()
            return
        token = trio.lowlevel.current_trio_token()
        given_back = await self._thread.call(partial(self._work, token))
        if self._fault is not None:
            raise self._fault
        if given_back is not None:
            batch, error = given_back
            await self._put_back(batch, error)

    def _work(self, token: trio.lowlevel.TrioToken) -> tuple[list[Entry], JournalFailing] | None:
        """In the thread: commit what comes, until a commit fails, which is answered with what it
        held, or until the journal closes."""
        while self._fault is None:
            batch = self._take()
            if batch:
                try:
                    refused = self.write([entry.rows for entry in batch])
                except JournalFailing as error:
                    return batch, error
                token.run_sync_soon(self._stored, batch, refused)
            elif self._closing:
                break
            else:
                self._await_news()
        return None

    def _await_news(self) -> None:
        self._idle = True
        if self._line or self._closing:  # it came before anybody could see that
            self._idle = False
        else:
            self._wake.get()

    def _stored(self, batch: Sequence[Entry], refused: Mapping[int, JournalConflict]) -> None:
        # What is raised here would end all of trio: it is the journal's task that it must end.
        try:
            if self._fault is None:
                self._answer_all(batch, refused)
        except BaseException as error:
            self._fault = error
            self._wake.put(None)
