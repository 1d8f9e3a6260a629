"""One vocabulary of log lines, without payloads and secrets."""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.log_rate import BURST
from fleetgate.gateway.logs import (
    LEVELS,
    MAX_LEAVES,
    MAX_MEMBER,
    REDACTED,
    SECRET_KEYS,
    Log,
    Said,
    kind_of,
    trace_of,
)
from fleetgate.gateway.settings import LogLevel


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _log(level: LogLevel = "debug") -> tuple[Log, io.StringIO]:
    stream = io.StringIO()
    return Log(level, stream), stream


def test_elsewhere_than_on_a_terminal_a_line_is_json() -> None:
    log, stream = _log()
    log.say(Said.LINK_UP, entry="hosts", peer="1.2.3.4:5", nothing=None, count=3)
    (line,) = _lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "link_up",
        "level": "info",
        "entry": "hosts",
        "peer": "1.2.3.4:5",
        "count": 3,
    }


class Full(io.StringIO):
    """A file on a disk that is full, for a while."""

    full = True

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_a_line_that_cannot_be_written_ends_nothing_and_is_told_with_the_next() -> None:
    stream, told = Full(), list[None]()
    log = Log("debug", stream)
    log.left_out = lambda: told.append(None)
    for _ in range(2):
        log.say(Said.LINK_UP)
    assert len(told) == 2
    stream.full = False
    log.say(Said.LINK_DOWN)
    log.say(Said.LINK_UP)
    down, up = _lines(stream)
    assert (down["event"], down["left_out"]) == ("link_down", 2)
    assert "left_out" not in up


def test_on_a_terminal_a_line_is_for_people() -> None:
    stream = io.StringIO()
    Log("info", stream, terminal=True).say(Said.LINK_DOWN, reason="bye")
    assert "link_down" in stream.getvalue()
    assert "reason" in stream.getvalue()
    with pytest.raises(json.JSONDecodeError):
        json.loads(stream.getvalue())


def test_i9_a_flood_of_lines_is_cut_and_what_is_left_out_is_told_and_counted() -> None:
    stream, now, left_out = io.StringIO(), [0.0], [0]
    log = Log("info", stream, clock=lambda: now[0])

    def count() -> None:
        left_out[0] += 1

    log.left_out = count
    for _ in range(BURST + 5):
        log.say(Said.LINK_UP, entry="flooded")
    log.say(Said.LINK_UP, entry="other")
    log.say(Said.LINK_DOWN, entry="flooded")
    now[0] = 1.0
    log.say(Said.LINK_UP, entry="flooded")
    lines = _lines(stream)
    assert len(lines) == BURST + 3
    assert [line.get("left_out") for line in lines[-3:]] == [None, None, 5]
    assert left_out == [5]


def test_the_level_counts_and_may_change() -> None:
    log, stream = _log("warning")
    log.say(Said.LINK_UP)
    log.level = "info"
    log.say(Said.LINK_DOWN)
    assert [line["event"] for line in _lines(stream)] == ["link_down"]


def test_the_vocabulary_has_known_levels_and_no_doubles() -> None:
    assert {said.level for said in Said} <= set(LEVELS)
    assert len({said.event for said in Said}) == len(Said)


@pytest.mark.parametrize("key", sorted(SECRET_KEYS))
def test_secrets_and_payloads_are_redacted(key: str) -> None:
    log, stream = _log()
    log.say(Said.LINK_REPORT, **{key: "hunter2"})
    assert "hunter2" not in stream.getvalue()
    assert _lines(stream)[0][key] == REDACTED


@given(st.text())
def test_a_line_is_one_line_whatever_a_peer_says(reason: str) -> None:
    log, stream = _log()
    log.say(Said.LINK_DOWN, reason=reason, keys=(reason, 1))
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert len(json.loads(text)["reason"]) <= 6 * MAX_MEMBER + 1


@pytest.mark.limit("gateway/logs.MAX_MEMBER")
def test_long_members_are_cut() -> None:
    log, stream = _log()
    log.say(Said.LINK_DOWN, reason="x" * 10_000)
    assert _lines(stream)[0]["reason"] == "x" * MAX_MEMBER + "…"


def _raise(error: Exception) -> None:
    raise error


def _caught(function: Callable[[], None]) -> Exception:
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_an_error_in_groups_is_told_by_its_own_kind_and_frames() -> None:
    leaf = _caught(lambda: _raise(KeyError("the-payload")))
    inner = _caught(lambda: _raise(ExceptionGroup("tasks", [leaf])))
    group = _caught(lambda: _raise(ExceptionGroup("tasks", [inner])))
    assert kind_of(group) == "KeyError"
    assert trace_of(group) == trace_of(leaf)
    assert trace_of(group)[-1].endswith(" _raise")
    assert trace_of(group) != trace_of(ExceptionGroup("", [ValueError()]))


def test_several_errors_of_a_group_are_named_each_once() -> None:
    group = ExceptionGroup("", [KeyError(), KeyError(), ExceptionGroup("", [ValueError()])])
    assert kind_of(group) == "KeyError, ValueError"
    assert trace_of(group) == []
    assert kind_of(ExceptionGroup("", [KeyError()] * 1000)) == "KeyError"


@pytest.mark.limit("gateway/logs.MAX_LEAVES")
def test_i9_so_many_errors_of_a_group_are_looked_at() -> None:
    first = [KeyError()] * (MAX_LEAVES - 1)
    assert kind_of(ExceptionGroup("", [*first, ValueError()])) == "KeyError, ValueError"
    assert kind_of(ExceptionGroup("", [*first, KeyError(), ValueError()])) == "KeyError"
