"""What observers say, how often, and what they count."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core.ids import RunId
from fleetgate.core.routing import OPERATOR
from fleetgate.gateway.config import ConfigError, Problem
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.small import open_small
from fleetgate.gateway.fidelity.bridge import make_entry
from fleetgate.gateway.log_rate import BURST, RATE
from fleetgate.gateway.logs import Log
from fleetgate.gateway.observe import (
    MAX_REPORTS,
    TRANSPORTS,
    Counters,
    EntryObserver,
    GatewayObserver,
    LinkObserver,
    LoggingBridge,
    bridged_logging,
)
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.settings import LogLevel
from fleetgate.transports.api import LinkBroken

ENTRY = Entry("south", "hosts", "rvbox", "wss://h:1", True, None)


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _log(level: LogLevel = "debug") -> tuple[Log, io.StringIO]:
    stream = io.StringIO()
    return Log(level, stream), stream


@pytest.mark.limit("gateway/observe.MAX_REPORTS")
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


def test_i9_links_that_break_in_a_loop_have_so_many_lines() -> None:
    now = [0.0]
    stream = io.StringIO()
    observer = GatewayObserver(Log("debug", stream, clock=lambda: now[0]), Counters())
    entry = observer.entry(ENTRY)
    for at in range(3 * BURST):
        now[0] = at / BURST  # three seconds in all
        link = entry.up("1.2.3.4:5")
        for _ in range(MAX_REPORTS + 1):
            link.report("bad_frame", "kind 9", None)
        entry.down("1.2.3.4:5", "a frame that is none")
    lines = Counter(line["event"] for line in _lines(stream))
    assert set(lines) == {"link_up", "link_report", "link_down"}
    assert max(lines.values()) <= BURST + 3 * RATE
    counts = observer.counters.snapshot()
    assert counts["links_opened"] == 3 * BURST
    assert counts["bad_frame"] == 3 * BURST * (MAX_REPORTS + 1)
    left_out = 3 * BURST * (2 + MAX_REPORTS) - lines.total()
    assert counts["log_lines_left_out"] == left_out


def test_a_report_warns_unless_it_tells_what_went_well() -> None:
    log, stream = _log()
    link = LinkObserver(log, Counters(), "hosts", "peer")
    link.report("frame_ignored", "", None)
    link.report("rvbox_reconciled", "2 runs", None)
    seen = [(line["event"], line["level"]) for line in _lines(stream)]
    assert seen == [("link_report", "warning"), ("link_report", "info")]


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


def test_a_fault_in_a_group_is_told_by_the_kind_of_what_was_raised() -> None:
    log, stream = _log()
    group = ExceptionGroup("tasks", [ExceptionGroup("tasks", [KeyError("the-payload")])])
    LinkObserver(log, Counters(), "hosts", "peer").fault(group)
    (line,) = _lines(stream)
    assert line["error"] == "KeyError"


def test_fault_24_dialling_again_is_said_once_for_each_reason() -> None:
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
    gateway.journal_changed("the disk is full")
    gateway.journal_changed(None)
    gateway.journal_full(True)
    gateway.journal_full(False)
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
        "journal_failing",
        "journal_recovered",
        "journal_full",
        "journal_has_room",
        "config_reloaded",
        "config_needs_restart",
    ]
    assert gateway.counters.snapshot() == {
        "dials_given_up": 1,
        "entries_failed": 1,
        "journal_failures": 1,
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


def _logger(name: str, log: Log, counters: Counters) -> logging.Logger:
    logger = logging.Logger(name)
    logger.addHandler(LoggingBridge(log, counters))
    return logger


def test_what_listeners_report_becomes_a_line() -> None:
    log, stream = _log()
    counters = Counters()
    logger = _logger(TRANSPORTS, log, counters)
    logger.warning("%s: %r", "handshake_failed", LinkBroken("no TLS handshake: bad\x1b"))
    logger.warning("%s: %r", "handler_failed", ValueError("the-payload"))
    logger.info("%s: %r", "links_full", None)
    lines = [(line["event"], line["what"], line["reason"]) for line in _lines(stream)]
    assert lines == [
        ("listener_report", "handshake_failed", "no TLS handshake: bad^["),
        ("listener_report", "handler_failed", "ValueError"),
    ]
    assert counters.snapshot() == {"handler_failed": 1, "handshake_failed": 1}


def test_of_a_library_only_the_sentence_is_taken() -> None:
    log, stream = _log()
    _logger("some.library", log, Counters()).error("bad frame %s", "the-payload")
    (line,) = _lines(stream)
    assert (line["logger"], line["note"]) == ("some.library", "bad frame %s")


def test_a_flood_of_reports_is_a_few_lines() -> None:
    log, stream = _log()
    counters = Counters()
    logger = _logger(TRANSPORTS, log, counters)
    for _ in range(1000):
        logger.warning("%s: %r", "handshake_failed", LinkBroken("no"))
    counts = [line["count"] for line in _lines(stream)]
    assert counts == [*range(1, MAX_REPORTS + 1), 32, 64, 128, 256, 512]
    assert counters.snapshot() == {"handshake_failed": 1000}


def test_the_bridge_takes_the_place_of_other_handlers_and_gives_it_back() -> None:
    log, stream = _log()
    root = logging.getLogger()
    before = root.handlers[:], root.level
    with bridged_logging(log, Counters()):
        logging.getLogger("x.y").warning("odd")
        assert len(root.handlers) == 1
    logging.getLogger("x.y").warning("even")
    assert [line["note"] for line in _lines(stream)] == ["odd"]
    assert (root.handlers, root.level) == before


@pytest.mark.parametrize("protocol", ["agency", "iop", "kodelet", "rvbox"])
async def test_what_a_run_is_asked_and_given_is_never_logged(
    protocol: str, autojump_clock: MockClock
) -> None:
    """At the loudest level, on both sides, from the start to a cancel and a lost link."""
    text = io.StringIO()
    both = [GatewayObserver(Log("debug", text), Counters()) for _ in range(2)]
    adapter = adapters(())[protocol]
    listens = protocol != "agency"
    worker = make_entry("north", "plane", protocol, "memory:x", listens=not listens)
    asks = make_entry("south", "hosts", protocol, "memory:x", listens=listens)
    secret = {"NAME_OF_IT": "hunter2-environment"}
    given: c.Input = c.Prompt("hunter2-prompt")
    if protocol == "rvbox":
        given = c.ShellCommand(argv=("prog", "hunter2-argv"), stdin=b"hunter2-stdin")
    elif protocol == "kodelet":
        given = c.ToolCall("bash", {"command": "hunter2-line"})
    async with open_small(asks, "a", "memory:", both[0]) as controller:
        inputs = adapter.southbound.inputs
        async with open_small(worker, "b", "memory:", both[1], inputs) as there:
            await trio.sleep(5)
            spec = c.RunSpec(given, environment=secret, workspace=("/srv/work",))
            run = RunId("r")
            await controller.hub.submit(c.StartRun(run, spec, c.Origin(OPERATOR, "r")))
            await trio.sleep(5)
            (taken,) = (await there.hub.submit(c.ListRuns())).runs
            assert "hunter2" in str(taken.spec), "it came across"
            await controller.hub.submit(c.CancelRun(run))
            await trio.sleep(5)
        await trio.sleep(5)
    assert len(text.getvalue().splitlines()) > 3, "something was said"
    assert "hunter2" not in text.getvalue()
