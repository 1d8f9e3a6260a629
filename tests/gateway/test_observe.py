"""One vocabulary of log lines, without payloads and secrets."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.config import ConfigError, Problem
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.observe import (
    LEVELS,
    MAX_MEMBER,
    MAX_REPORTS,
    REDACTED,
    SECRET_KEYS,
    Counters,
    EntryObserver,
    GatewayObserver,
    LinkObserver,
    Log,
    Said,
)
from fleetgate.gateway.settings import LogLevel

ENTRY = Entry("south", "hosts", "rvbox", "wss://h:1", True, None)


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


def test_on_a_terminal_a_line_is_for_people() -> None:
    stream = io.StringIO()
    Log("info", stream, terminal=True).say(Said.LINK_DOWN, reason="bye")
    assert "link_down" in stream.getvalue()
    assert "reason" in stream.getvalue()
    with pytest.raises(json.JSONDecodeError):
        json.loads(stream.getvalue())


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


def test_long_members_are_cut() -> None:
    log, stream = _log()
    log.say(Said.LINK_DOWN, reason="x" * 10_000)
    assert _lines(stream)[0]["reason"] == "x" * MAX_MEMBER + "…"


def test_reports_become_a_line_and_a_counter_and_are_muted_when_they_repeat() -> None:
    log, stream = _log()
    counters = Counters()
    link = LinkObserver(log, counters, "hosts", "peer")
    for _ in range(MAX_REPORTS + 30):
        link.report("frame_ignored", "kind 9", "hosts/r")
    link.report("other", "", None)
    lines = _lines(stream)
    assert len(lines) == MAX_REPORTS + 1
    assert lines[0]["what"] == "frame_ignored"
    assert lines[0]["run"] == "hosts/r"
    assert "note" not in lines[0]
    assert lines[MAX_REPORTS - 1]["note"] == "further ones are only counted"
    assert counters.snapshot() == {"frame_ignored": MAX_REPORTS + 30, "other": 1}


def test_a_fault_is_told_by_its_kind_and_place_and_not_its_text() -> None:
    log, stream = _log()
    try:
        json.loads("the-payload")
    except ValueError as error:
        LinkObserver(log, Counters(), "hosts", "peer").fault(ValueError("the-payload"))
        LinkObserver(log, Counters(), "hosts", "peer").fault(error)
    assert "the-payload" not in stream.getvalue()
    first, second = _lines(stream)
    assert first["error"] == "ValueError"
    assert second["error"] == "JSONDecodeError"
    assert any("test_observe.py" in frame for frame in second["trace"])


def test_dialling_again_is_said_once_for_each_reason() -> None:
    log, stream = _log("info")
    counters = Counters()
    entry = EntryObserver(log, counters, ENTRY)
    for reason in ("refused", "refused", "refused", "timeout", "timeout"):
        entry.retrying(reason, 1.234)
    entry.up("peer")
    entry.retrying("timeout", 1.0)
    said = [(line["event"], line.get("reason")) for line in _lines(stream)]
    assert said == [
        ("dial_retrying", "refused"),
        ("dial_retrying", "timeout"),
        ("link_up", None),
        ("dial_retrying", "timeout"),
    ]
    assert counters.snapshot()["dial_retries"] == 6


def test_every_call_of_the_observers_says_its_word() -> None:
    log, stream = _log()
    gateway = GatewayObserver(log, Counters())
    entry = gateway.entry(ENTRY)
    entry.listening("wss://h:1")
    entry.down("peer", "bye")
    entry.gave_up("401")
    gateway.failed(ENTRY, OSError("in use"))
    gateway.ready()
    gateway.draining()
    gateway.drain_overdue(3.0)
    gateway.reloaded()
    gateway.needs_restart(("name",))
    assert [line["event"] for line in _lines(stream)] == [
        "entry_listening",
        "link_down",
        "dial_given_up",
        "entry_failed",
        "gateway_ready",
        "gateway_draining",
        "drain_overdue",
        "config_reloaded",
        "config_needs_restart",
    ]
    assert gateway.counters.snapshot() == {
        "dials_given_up": 1,
        "entries_failed": 1,
        "links_closed": 1,
        "reloads": 1,
    }


def test_a_refused_reload_says_every_problem() -> None:
    log, stream = _log()
    problems = (Problem(2, "gateway.nam", "unknown key"), Problem(9, "route[1].to", "nothing"))
    GatewayObserver(log, Counters()).reload_refused(ConfigError("gw.toml", problems))
    assert [line["reason"] for line in _lines(stream)] == [
        "gw.toml:2: gateway.nam: unknown key",
        "gw.toml:9: route[1].to: nothing",
    ]
