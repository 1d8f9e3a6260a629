"""What the operator sees: the observers of the gateway, its entries and its links.

Something that repeats is logged once for each change, and counted each time.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from fleetgate.gateway.config import ConfigError
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.logs import Log, Said, kind_of, trace_of
from fleetgate.transports.api import LinkError

if TYPE_CHECKING:
    from fleetgate.gateway.local.pool import LocalPool

MAX_REPORTS: Final = 20
"""Lines of the log of one link with the same report. From there on they are only counted, so that a
peer cannot fill a disk."""


HARMLESS: Final = frozenset({"rvbox_reconciled"})
"""Reports of what went well."""


class Counters:
    """How often each thing happened since the start. Names are constants of the code."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, name: str, by: int = 1) -> None:
        """Count something that happened."""
        self._counts[name] += by

    def snapshot(self) -> dict[str, int]:
        """All counts, by name."""
        return dict(sorted(self._counts.items()))


class LinkObserver:
    """What one link says."""

    __slots__ = ("_counters", "_entry", "_lines", "_log", "_peer")

    def __init__(self, log: Log, counters: Counters, entry: str, peer: str) -> None:
        self._log = log
        self._counters = counters
        self._entry = entry
        self._peer = peer
        self._lines: Counter[str] | None = None
        """None until it has said something: most links are idle."""

    def report(self, what: str, detail: str, run: str | None) -> None:
        """An adapter, or the driver, reports something."""
        self._counters.count(what)
        if self._lines is None:
            self._lines = Counter()
        self._lines[what] += 1
        if self._lines[what] > MAX_REPORTS:
            return
        last = self._lines[what] == MAX_REPORTS
        self._log.say(
            Said.LINK_REPORT,
            level="info" if what in HARMLESS else None,
            what=what,
            detail=detail or None,
            run=run,
            note="further ones are only counted" if last else None,
            entry=self._entry,
            peer=self._peer,
        )

    def fault(self, error: BaseException) -> None:
        """A fault of ours ends this link."""
        self._counters.count("link_faults")
        self._log.say(
            Said.LINK_FAULT,
            error=kind_of(error),
            trace=trace_of(error),
            entry=self._entry,
            peer=self._peer,
        )


class EntryObserver:
    """What one entry of the config says."""

    def __init__(self, log: Log, counters: Counters, entry: Entry | LocalPool) -> None:
        self._log = log
        self._counters = counters
        self._entry = entry.name
        self._reason: str | None = None

    def listening(self, address: str) -> None:
        """It is bound."""
        self._log.say(Said.ENTRY_LISTENING, entry=self._entry, address=address)

    def up(self, peer: str) -> LinkObserver:
        """A link is up."""
        self._reason = None
        self._counters.count("links_opened")
        self._log.say(Said.LINK_UP, entry=self._entry, peer=peer)
        return LinkObserver(self._log, self._counters, self._entry, peer)

    def down(self, peer: str, reason: str) -> None:
        """A link has ended."""
        self._counters.count("links_closed")
        self._log.say(Said.LINK_DOWN, entry=self._entry, peer=peer, reason=reason)

    def retrying(self, reason: str, seconds: float) -> None:
        """It dials again soon. Said aloud only when the reason is a new one."""
        self._counters.count("dial_retries")
        said = Said.DIAL_REPEATED if reason == self._reason else Said.DIAL_RETRYING
        self._reason = reason
        self._log.say(said, entry=self._entry, reason=reason, seconds=round(seconds, 1))

    def gave_up(self, reason: str) -> None:
        """The peer refused for good."""
        self._counters.count("dials_given_up")
        self._log.say(
            Said.DIAL_GIVEN_UP,
            entry=self._entry,
            reason=reason,
            note="nothing is dialled until the config changes or the gateway restarts",
        )


class GatewayObserver:
    """What the gateway as a whole says."""

    def __init__(self, log: Log, counters: Counters) -> None:
        self.log = log
        self.counters = counters
        log.left_out = partial(counters.count, "log_lines_left_out")

    def entry(self, entry: Entry) -> EntryObserver:
        """The observer of one entry."""
        return EntryObserver(self.log, self.counters, entry)

    def pool(self, pool: LocalPool) -> EntryObserver:
        """The observer of one local pool."""
        return EntryObserver(self.log, self.counters, pool)

    def failed(self, entry: Entry | LocalPool, error: Exception) -> None:
        """An entry could not start."""
        self.counters.count("entries_failed")
        self.log.say(Said.ENTRY_FAILED, entry=entry.name, address=entry.address, reason=str(error))

    def ready(self) -> None:
        """Every entry was started."""
        self.log.say(Said.GATEWAY_READY)

    def draining(self) -> None:
        """The first signal to end has come."""
        self.log.say(Said.GATEWAY_DRAINING, note="a second signal ends at once")

    def drain_overdue(self, seconds: float) -> None:
        """Not every peer could be told in time."""
        self.log.say(Said.DRAIN_OVERDUE, seconds=seconds)

    def journal_changed(self, failing: str | None) -> None:
        """Commits begin to fail, or succeed again."""
        if failing is None:
            self.log.say(Said.JOURNAL_RECOVERED, note="new work is accepted again")
            return
        self.counters.count("journal_failures")
        note = "new work is refused; what was accepted waits, and is kept"
        self.log.say(Said.JOURNAL_FAILING, reason=failing, note=note)

    def journal_full(self, full: bool) -> None:
        """The journal has reached its size and nothing of it may go; or it is below it again."""
        if full:
            note = "new work is refused until runs may be forgotten; those that are open go on"
            self.log.say(Said.JOURNAL_FULL, note=note)
        else:
            self.log.say(Said.JOURNAL_HAS_ROOM, note="new work is accepted again")

    def reloaded(self) -> None:
        """A new config is at work."""
        self.counters.count("reloads")
        self.log.say(Said.CONFIG_RELOADED)

    def reload_refused(self, error: Exception) -> None:
        """A new config cannot be used; one line for each problem."""
        self.counters.count("reloads_refused")
        lines = error.lines() if isinstance(error, ConfigError) else [str(error)]
        for line in lines:
            self.log.say(Said.CONFIG_REFUSED, reason=line, note="the running config stays")

    def needs_restart(self, keys: tuple[str, ...]) -> None:
        """Settings that changed in the file and count only after a restart."""
        self.log.say(Said.CONFIG_NEEDS_RESTART, keys=keys)


class LoggingBridge(logging.Handler):
    """What transports and libraries say by Python's own logging, as lines of ours.

    Of others only the sentence is taken, not what is put into it. What repeats is logged
    `MAX_REPORTS` times, and then each time that its count has doubled.
    """

    def __init__(self, log: Log, counters: Counters) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._counters = counters
        self._seen: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        match record.args:
            case (str(what), reason) if record.name == TRANSPORTS:
                if (count := self._counted(what)) is not None:
                    words = str(reason) if isinstance(reason, LinkError) else type(reason).__name__
                    self._log.say(Said.LISTENER_REPORT, what=what, reason=words, count=count)
            case _:
                if (count := self._counted(record.name)) is not None:
                    note = str(record.msg)
                    self._log.say(Said.LIBRARY_WARNING, logger=record.name, note=note, count=count)

    def _counted(self, what: str) -> int | None:
        """The count, or None where nothing is to be logged."""
        self._counters.count(what)
        self._seen[what] += 1
        count = self._seen[what]
        return None if count > MAX_REPORTS and count & (count - 1) else count


TRANSPORTS: Final = "fleetgate.transports"
"""The logger of listeners, whose records have what happened and why."""


@contextmanager
def bridged_logging(log: Log, counters: Counters) -> Generator[None]:
    """Send Python's own logging of this process to `log`, and nowhere else, as long as the block
    lasts: behind it the handlers are those of before."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers[:] = [LoggingBridge(log, counters)]
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])
