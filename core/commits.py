"""Waiting for the journal: for a commit, for a read, for one's turn at it. None waits for ever."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import trio

from fleetgate.core.errors import InvalidArgument, Unavailable
from fleetgate.core.journal.api import Done, Journal, JournalDamaged, JournalError
from fleetgate.core.limits import Limits
from fleetgate.core.times import SECOND

_UNTIL: Final = ContextVar("until", default=math.inf)
"""When the sum of this task's waits has to be over, on trio's clock."""


@contextmanager
def in_all(limit: int) -> Generator[None]:
    """Let the body wait for `limit` nanoseconds in all, by however many `within`; each says in
    its own words that it took too long. Elsewhere it is not cut short."""
    token = _UNTIL.set(_until(limit))
    try:
        yield
    finally:
        _UNTIL.reset(token)


def _until(limit: int) -> float:
    return min(_UNTIL.get(), trio.current_time() + limit / SECOND)


@contextmanager
def within(limit: int, late: str) -> Generator[None]:
    """Give the body `limit` nanoseconds, or what `in_all` has left; then it is cancelled.

    Raises: `Unavailable`, with the text `late`, and open: it took longer.
    """
    with trio.move_on_at(_until(limit)) as scope:
        yield
    if scope.cancelled_caught:
        raise Unavailable(late, open=True)


@contextmanager
def readable() -> Generator[None]:
    """What cannot be read now is unavailable. Raises: `Unavailable`."""
    try:
        yield
    except JournalDamaged as error:
        raise Unavailable(str(error), lasting=True) from None
    except JournalError as error:
        raise Unavailable(f"the journal cannot be read ({error}); try again later") from None


class Commits:
    """Puts things in line at a journal and waits until they are durable."""

    def __init__(self, journal: Journal, limits: Limits) -> None:
        self._journal = journal
        self._limits = limits

    def check(self) -> None:
        """Refuse new work while commits fail, or one hangs.

        Raises: `Unavailable`.
        """
        failing = self._journal.pressure().failing
        if failing is not None:
            raise Unavailable(f"the journal cannot be written ({failing}); try again later")

    @property
    def patience(self) -> int:
        """Nanoseconds to wait for what is in line before oneself: none where nothing is committed
        at present, for nobody knows how long that lasts."""
        return self._limits.answer_within if self._journal.pressure().failing is None else 0

    async def take(self, turn: trio.Semaphore, late: str) -> None:
        """Take `turn`, at once where it is free.

        Raises: `Unavailable`, with the text `late`, and open: whoever has it did not end in time.
        """
        if turn.value:
            turn.acquire_nowait()
            return
        with within(self.patience, late):
            await turn.acquire()

    async def commit(
        self, enqueue: Callable[[Done], None], settled: Callable[[], None] | None = None
    ) -> None:
        """Let `enqueue` put something in line, and wait until it is durable. Whatever `enqueue`
        changes it changes once there is room, and must take back itself where its `Done` tells
        that it was given up. `settled` is called once nothing of it is open any more, which may
        be after this has given up waiting.

        Raises: `InvalidArgument`: a journal cannot hold it; `Unavailable`: it was given up, or
        there was no room for it in time, or it is not durable in time (then it may yet become so,
        and the refusal is open). Cancelled, it may or may not become durable.
        """
        waiting = _Waiting(settled or _nobody)
        late = "the journal did not commit in time; ask for the run before retrying"
        try:
            self.check()
            with within(self._limits.answer_within, late):
                await self._journal.wait_room()
                waiting.enqueue(enqueue)
                await waiting.answered.wait()
        except Unavailable as refusal:
            if waiting.enqueued or not refusal.open:
                raise
            full = "too much waits for the journal already; try again later"
            raise Unavailable(full) from None
        finally:
            if not waiting.enqueued:
                waiting.settled()
        if waiting.error is not None:
            raise Unavailable(f"the journal cannot be written ({waiting.error}); try again later")


class _Waiting:
    """Somebody waits for a commit, at least for a while."""

    def __init__(self, settled: Callable[[], None]) -> None:
        self.answered = trio.Event()
        self.enqueued = False
        self.error: Exception | None = None
        self.settled = settled

    def enqueue(self, enqueue: Callable[[Done], None]) -> None:
        try:
            enqueue(self._done)
        except ValueError as error:
            raise InvalidArgument(f"the journal cannot hold this: {error}") from None
        self.enqueued = True

    def _done(self, error: Exception | None) -> None:
        self.error = error
        self.answered.set()
        # Also where `enqueue` answers at once, before it returns.
        self.enqueued = True
        self.settled()


def _nobody() -> None:
    """Nobody has to know."""
