"""Log lines: one vocabulary, no payload, no secret.

On a terminal lines are for people, elsewhere each is one JSON object. A line says what
happened, where, and why, and holds no control characters of a peer's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, unique
from itertools import islice
from json import dumps
from traceback import extract_tb
from typing import Any, Final, TextIO, TypeAlias, cast

from fleetgate.gateway.log_rate import LogRate
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
    JOURNAL_FAILING = ("journal_failing", "error")
    JOURNAL_RECOVERED = ("journal_recovered", "info")
    JOURNAL_FULL = ("journal_full", "error")
    JOURNAL_HAS_ROOM = ("journal_has_room", "info")
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
    LISTENER_REPORT = ("listener_report", "warning")
    LIBRARY_WARNING = ("library_warning", "warning")
    ADMIN_LISTENING = ("admin_listening", "info")
    ADMIN_FAULT = ("admin_fault", "error")
    FAKE_ENDED = ("fake_ended", "warning")
    RECORDING_FAILED = ("recording_failed", "error")

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
        "argv",
        "authorization",
        "body",
        "data",
        "env",
        "environment",
        "frame",
        "headers",
        "input",
        "password",
        "payload",
        "prompt",
        "script",
        "secret",
        "stdin",
        "text",
        "token",
        "tokens",
        "value",
    }
)
"""Members of a line that are never written, whoever passes them."""

MAX_LEAVES: Final = 8
"""Errors of a group that are looked at: one fault rarely has two."""

REDACTED: Final = "[redacted]"
MAX_MEMBER: Final = 500
"""Characters of one member: a sentence or two; a peer's own words may have any length."""


Members: TypeAlias = dict[str, Any]
"""A line before it is text."""


class Log:
    """Writes lines, of one kind and entry no more in a time than `log_rate` lets through. `level`
    may be changed at any time, and so may `left_out`: it is called for each line that is too many,
    or that cannot be written: the disk is full, or who read the log is gone. The next line that is
    written tells how many were.
    """

    def __init__(
        self,
        level: LogLevel = "info",
        stream: TextIO | None = None,
        terminal: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = sys.stderr if stream is None else stream
        pretty: bool = self._out.isatty() if terminal is None else terminal
        self.level: LogLevel = level
        self.left_out: Callable[[], None] | None = None
        self._rate = LogRate(clock)
        self._unwritten = 0
        self._text = _text_for_people() if pretty else _json

    def say(self, said: Said, *, level: LogLevel | None = None, **members: object) -> None:
        """Write a line, at another level than its own if one is given. Members that are None are
        left out."""
        loudness = said.level if level is None else level
        if LEVELS[loudness] < LEVELS[self.level]:
            return
        left_out = self._rate.take((said, members.get("entry")))
        if left_out is None:
            self._tell_left_out()
            return
        line = {"level": loudness, **_redacted(members)}
        if left_out := left_out + self._unwritten:
            line["left_out"] = left_out
        line |= {"event": said.event, "timestamp": _now()}
        try:
            self._out.write(f"{self._text(line)}\n")
            self._out.flush()
        except OSError:  # runs are worth more than words about them
            self._unwritten = left_out + 1
            self._tell_left_out()
        else:
            self._unwritten = 0

    def _tell_left_out(self) -> None:
        if self.left_out is not None:
            self.left_out()


def _now() -> str:
    """ISO 8601, in UTC, with microseconds."""
    seconds, micros = divmod(time.time_ns() // 1000, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{micros:06}Z"


def _redacted(members: Mapping[str, object]) -> Members:
    """Without what must not be in a line."""
    return {
        key: REDACTED if key in SECRET_KEYS else _fit(value)
        for key, value in members.items()
        if value is not None
    }


def _fit(value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case list() | tuple():
            return [_fit(item) for item in cast(Sequence[object], value)]
        case _:
            text = printable(str(value), newlines=False)
            return text if len(text) <= MAX_MEMBER else f"{text[:MAX_MEMBER]}…"


def _json(line: Members) -> str:
    return dumps(line, ensure_ascii=False)


def _text_for_people() -> Callable[[Members], str]:
    # Imported where a line is for people: structlog brings rich and asyncio, a tenth of a second
    # that a gateway in the background, or a fake in a test, would wait for in vain.
    import structlog.dev

    renderer = structlog.dev.ConsoleRenderer(colors=True, pad_event_to=22)
    return lambda line: renderer(None, "", line)


def kind_of(error: BaseException) -> str:
    """What an error is: the type, or for a group the types, that were raised in the first place."""
    kinds = dict.fromkeys(type(leaf).__name__ for leaf in islice(_leaves(error), MAX_LEAVES))
    return ", ".join(kinds)


def trace_of(error: BaseException) -> list[str]:
    """Where an error came from, as `file:line function`, innermost last: not its text, which
    may hold what a peer sent. A group came from where the first of its errors did."""
    frames = extract_tb(next(_leaves(error)).__traceback__)[-8:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, however deep; an error that is no group is its own leaf."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast(BaseExceptionGroup[BaseException], error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
