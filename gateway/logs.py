"""Log lines: one vocabulary, no payload, no secret.

On a terminal lines are for people, elsewhere each is one JSON object. A line says what
happened, where, and why, and holds no control characters of a peer's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, unique
from itertools import islice
from traceback import extract_tb
from typing import Any, Final, TextIO, cast

import structlog

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

    def say(self, said: Said, *, level: LogLevel | None = None, **members: object) -> None:
        """Write a line, at another level than its own if one is given. Members that are None are
        left out."""
        loudness = said.level if level is None else level
        if LEVELS[loudness] >= LEVELS[self.level]:
            present = {key: value for key, value in members.items() if value is not None}
            self._logger.msg(said.event, level=loudness, **present)


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
