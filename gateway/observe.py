"""What the operator sees: log lines of one vocabulary, and counters.

On a terminal lines are for people, elsewhere each is one JSON object. A line says what
happened, where, and why; it never holds a payload or a secret, and no control characters
of a peer's. Something that repeats is logged once for each change, and counted each time.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum, unique
from traceback import extract_tb
from typing import Any, Final, TextIO, cast

import structlog

from fleetgate.gateway.config import ConfigError
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.printable import printable
from fleetgate.gateway.settings import LogLevel

LEVELS: Final[Mapping[str, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}


@unique
class Said(Enum):
    """Everything that the log can say, and how loudly."""

    GATEWAY_STARTING = ("gateway_starting", "info")
    GATEWAY_READY = ("gateway_ready", "info")
    GATEWAY_DRAINING = ("gateway_draining", "info")
    GATEWAY_STOPPED = ("gateway_stopped", "info")
    GATEWAY_FAILED = ("gateway_failed", "error")
    DRAIN_OVERDUE = ("drain_overdue", "warning")
    CONFIG_RELOADED = ("config_reloaded", "info")
    CONFIG_REFUSED = ("config_refused", "error")
    CONFIG_NEEDS_RESTART = ("config_needs_restart", "warning")
    ENTRY_LISTENING = ("entry_listening", "info")
    ENTRY_FAILED = ("entry_failed", "error")
    LINK_UP = ("link_up", "info")
    LINK_DOWN = ("link_down", "info")
    LINK_FAULT = ("link_fault", "error")
    LINK_REPORT = ("link_report", "warning")
    DIAL_RETRYING = ("dial_retrying", "warning")
    DIAL_REPEATED = ("dial_repeated", "debug")
    DIAL_GIVEN_UP = ("dial_given_up", "error")
    ADMIN_LISTENING = ("admin_listening", "info")
    ADMIN_FAULT = ("admin_fault", "error")

    @property
    def event(self) -> str:
        """The name in the line."""
        return self.value[0]

    @property
    def level(self) -> str:
        """How loudly it is said."""
        return self.value[1]


SECRET_KEYS: Final = frozenset(
    {
        "arguments",
        "authorization",
        "body",
        "data",
        "environment",
        "frame",
        "headers",
        "input",
        "password",
        "payload",
        "prompt",
        "secret",
        "stdin",
        "text",
        "token",
        "tokens",
        "value",
    }
)
"""Members of a line that are never written, whoever passes them."""

REDACTED: Final = "[redacted]"
MAX_MEMBER: Final = 500
"""Characters of one member: a sentence or two; a peer's own words may have any length."""

MAX_REPORTS: Final = 20
"""Log lines of one link with the same report. From there on they are only counted, so that a
peer cannot fill a disk."""


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


class Log:
    """Writes lines. `level` may be changed at any time."""

    def __init__(
        self, level: LogLevel = "info", stream: TextIO | None = None, terminal: bool | None = None
    ) -> None:
        out = sys.stderr if stream is None else stream
        pretty: bool = out.isatty() if terminal is None else terminal
        self.level: LogLevel = level
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(out),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                redact,
                _renderer(pretty),
            ],
            wrapper_class=structlog.BoundLogger,
            cache_logger_on_first_use=True,
        )

    def say(self, said: Said, **members: object) -> None:
        """Write a line. Members that are None are left out."""
        if LEVELS[said.level] >= LEVELS[self.level]:
            present = {key: value for key, value in members.items() if value is not None}
            self._logger.msg(said.event, level=said.level, **present)


def redact(_: object, __: str, line: structlog.types.EventDict) -> structlog.types.EventDict:
    """Take out of a line what must not be in it. A structlog processor."""
    for key, value in line.items():
        if key in SECRET_KEYS:
            line[key] = REDACTED
        else:
            line[key] = _fit(value)
    return line


def _fit(value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case list() | tuple():
            return [_fit(item) for item in cast(Sequence[object], value)]
        case _:
            text = printable(str(value), newlines=False)
            return text if len(text) <= MAX_MEMBER else f"{text[:MAX_MEMBER]}…"


def _renderer(terminal: bool) -> Any:
    if terminal:
        return structlog.dev.ConsoleRenderer(colors=True, pad_event_to=22)
    return structlog.processors.JSONRenderer(ensure_ascii=False)


def trace_of(error: BaseException) -> list[str]:
    """Where an error came from, as `file:line function`, innermost last: not its text, which
    may hold what a peer sent."""
    frames = extract_tb(error.__traceback__)[-8:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


class LinkObserver:
    """What one link says."""

    def __init__(self, log: Log, counters: Counters, entry: str, peer: str) -> None:
        self._log = log
        self._counters = counters
        self._members = {"entry": entry, "peer": peer}
        self._lines: Counter[str] = Counter()

    def report(self, what: str, detail: str, run: str | None) -> None:
        """An adapter, or the driver, reports something."""
        self._counters.count(what)
        self._lines[what] += 1
        if self._lines[what] > MAX_REPORTS:
            return
        last = self._lines[what] == MAX_REPORTS
        more = "further ones are only counted" if last else None
        self._log.say(
            Said.LINK_REPORT, what=what, detail=detail or None, run=run, note=more, **self._members
        )

    def fault(self, error: BaseException) -> None:
        """A fault of ours ends this link."""
        self._counters.count("link_faults")
        kind = type(error).__name__
        self._log.say(Said.LINK_FAULT, error=kind, trace=trace_of(error), **self._members)


class EntryObserver:
    """What one entry of the config says."""

    def __init__(self, log: Log, counters: Counters, entry: Entry) -> None:
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

    def entry(self, entry: Entry) -> EntryObserver:
        """The observer of one entry."""
        return EntryObserver(self.log, self.counters, entry)

    def failed(self, entry: Entry, error: Exception) -> None:
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
