"""The journal: where a run's one sequence is made durable.

A journal has one writer, the hub, and any number of readers. Writes go through
`enqueue`, in order, in group commits: everything that waits when the last commit
ends goes into the next. A write is durable (fsynced) when its `done` is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from fleetgate.core.commands import Order
from fleetgate.core.events import Recorded
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.run import Run
from fleetgate.core.values import value


@value
class PutRun:
    """Write the run's row, new or known: everything of `Run`, its numbers too."""

    run: Run


@value
class Append:
    """Append events of one run: contiguous, the first one right after the run's last.

    `run` is the run as it is after them, or None where only its numbers changed; then
    the journal moves `last_seq` and `native_seq` of the row to those given here.
    """

    id: RunId
    events: tuple[Recorded, ...]
    native_seq: int
    run: Run | None = None


@value
class PutOrder:
    """Remember an order until it is settled. Put again, it is one that was not sent."""

    order: Order


@value
class PutKey:
    """Remember the key of a command that was given to a run, so that a repeat of it is
    recognised (I6); with `number` None, forget it. `number` is that of the run's last order by
    then: keys are as old as they are low. A key is known as long as its run is kept, unless it
    is forgotten: the hub does that with the oldest above `Limits.run_keys`."""

    run: RunId
    key: str
    number: OrderNumber | None


@value
class MarkOrder:
    """`sent`: handed to a worker that cannot recognise a repeat. `settled`: the worker
    confirmed or refused it, so it is not handed over again."""

    run: RunId
    number: OrderNumber
    settled: bool


@value
class PutNote:
    """Keep a small value (at most 64 KiB) under a name; None forgets it."""

    space: str
    key: str
    value: bytes | None


@value
class ForgetRun:
    """Forget a run that has ended, with all that is known of it; its id is free again. One that
    is not there is forgotten already, an open one is a conflict. Its events cannot be read from
    then on; what they take is given back by `FreeForgotten`."""

    run: RunId


@value
class FreeForgotten:
    """Give back some of what forgotten runs took: little enough to delay nobody. See
    `Journal.unfreed`."""


Write: TypeAlias = (
    PutRun | Append | PutOrder | PutKey | MarkOrder | PutNote | ForgetRun | FreeForgotten
)

Done: TypeAlias = Callable[[Exception | None], None]
"""Called in the trio thread, in the order of the writes: with None once they are durable,
with `JournalFailing` where they were given up (and left no trace), with
`JournalConflict` where they contradict what is there."""


@value
class OpenOrder:
    """An order that is not settled. `sent`: it was handed to its worker."""

    order: Order
    sent: bool


@value
class OpenRun:
    """A run that has not ended, as the journal holds it, with its unsettled orders in
    order, and every command key that it knows, the oldest first."""

    run: Run
    orders: tuple[OpenOrder, ...]
    keys: Mapping[str, OrderNumber]


@value
class RunFilter:
    """Which runs to list. Members as in `fleetgate.core.commands.ListRuns`."""

    link: str | None = None
    open_only: bool = False
    unacknowledged: bool = False


@value
class Pressure:
    """How full the queue before the next commit is."""

    items: int
    size: int
    failing: str | None
    """Why commits fail at present, or none has ended for too long, in words; None while they
    succeed."""
    damaged: bool = False
    """Whether a run was left out of a list, since its record cannot be read."""


class JournalError(Exception):
    """A journal cannot be opened or used as asked. The text says what to do."""


class JournalLocked(JournalError):
    """Another process has the journal open."""


class JournalTooNew(JournalError):
    """The journal was written by a newer version of this program."""


class JournalFailing(JournalError):
    """Commits fail: a full disk, a read-only file system, an I/O error."""


class JournalDamaged(JournalFailing):
    """What is asked for was committed, and does not stand in the file as it was written.
    `what` is wrong with it, without a payload."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the journal's record of it is damaged ({what}); stop the gateway, have `gateway "
            "journal verify` say what else is, and restore the file from a copy"
        )


class JournalConflict(JournalError):
    """A write contradicts the journal: a mistake of its caller, such as events that do not
    stand right after their run's last one (I1). Only the writes enqueued with it are lost."""


class Journal(ABC):
    """A journal that is open. Open one with its module's `open_…` context manager;
    leaving it commits what was enqueued, or gives it up if commits fail.

    A commit that fails is tried again, first after 0.1 s and then ever more rarely, up
    to every 5 s; until one succeeds `pressure().failing` says why. Writes enqueued with
    `may_fail` are taken out of a failing commit and answered `JournalFailing`; all
    others wait and are never given up while the journal is open. An `Append` must
    not be `may_fail`: later events of its run stand on its number.

    Where a commit neither succeeds nor fails within `HUNG_AFTER` (`stalls`), `pressure().failing`
    says so as well, until it does one of the two. Nothing is given up meanwhile: nobody knows what
    of it will be durable.

    Reading raises `JournalFailing` where the storage cannot be read.
    """

    @abstractmethod
    def enqueue(self, writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        """Put `writes` in line: all of them in one commit, or none. Never blocks.

        The queue has a soft bound (`pressure`); callers that can, wait for room first.
        `done` is called later, never from within.

        Raises: `ValueError`: something in them cannot be kept (a number beyond 63 bits, text
        without a UTF-8 form, a note that is too large); `JournalError`: the journal is closed.
        Nothing is in line then, and `done` is not called.
        """

    @abstractmethod
    def pressure(self) -> Pressure:
        """The queue as it is now."""

    @abstractmethod
    def watch(self, changed: Callable[[str | None], None]) -> None:
        """Have `changed` told why, when commits begin to fail or to hang, and None when one
        succeeds again, in place of whoever was told before. It must not block or raise."""

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether the queue is under its bound."""

    @abstractmethod
    async def wait_room(self) -> None:
        """Wait until the queue is under its bound. Cancelling it leaves nothing behind."""

    @abstractmethod
    async def commit(self, writes: Sequence[Write]) -> None:
        """Enqueue with `may_fail` and wait until it is durable.

        Raises: `JournalFailing`. Cancelled, the writes may or may not become durable.
        """

    @abstractmethod
    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
        """Committed events with a number above `after`, in order: at most `items`, and no
        more than `size` bytes of records, but at least one if there is one."""

    @abstractmethod
    async def get(self, run: RunId) -> Run | None:
        """A run as committed."""

    @abstractmethod
    async def find(
        self, which: RunFilter, *, after: str = "", items: int | None = None
    ) -> Sequence[Run]:
        """Runs as committed, ordered by id in byte order: those whose id is above `after`, at
        most `items` of them (None: all). The cost is that of the runs that are answered. One whose
        record cannot be read is left out, which `pressure().damaged` tells from then on."""

    @abstractmethod
    async def latest(self, link: str, *, items: int) -> Sequence[Run]:
        """The runs of a northbound entry that ended last, the last one first, at most `items`.
        The cost is that of those. Left out is what `find` leaves out."""

    @abstractmethod
    async def open_runs(self) -> Sequence[OpenRun]:
        """Every run that has not ended, ordered by creation."""

    @abstractmethod
    async def knows(self, run: RunId, key: str) -> bool:
        """Whether a command key of a run, open or ended, was put and not forgotten."""

    @abstractmethod
    async def ended(self, before: int, *, acknowledged: bool, items: int) -> Sequence[RunId]:
        """Runs that ended before an instant, the earliest first, at most `items`: those whose
        controllers have acknowledged their last event, or those whose have not."""

    @abstractmethod
    async def used(self) -> int:
        """Bytes that it takes, without room that it has for more."""

    @abstractmethod
    async def unfreed(self) -> bool:
        """Whether forgotten runs still take something."""

    @abstractmethod
    async def notes(self, space: str) -> Mapping[str, bytes]:
        """All notes of a space."""
