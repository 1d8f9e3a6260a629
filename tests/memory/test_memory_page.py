"""The figures of docs/guarantees.md are those that the tests here compare with."""

from __future__ import annotations

from pathlib import Path

from memory_gateway import MIB, kept
from test_dead_journal import LINK
from test_endless import SLACK
from test_huge_line import UNDER_WAY
from test_idle_links import IDLE_LINK
from test_silent import EACH
from test_silent import SLACK as SILENT_SLACK
from test_watcher import LONG_RUN, SQLITE

from fleetgate.transports.api import Options

PAGE = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text()


def _cell(row: str) -> str:
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {row}"))
    return line.split("|")[2].strip()


def _mib(size: float) -> int:
    return -int(-size // MIB)


def test_what_the_page_states_is_what_is_measured() -> None:
    long_run = _mib(kept(LONG_RUN))
    silent = _mib(Options().max_handshakes_each * EACH + SILENT_SLACK)
    assert _cell("5,000 idle links") == str(_mib(5_000 * IDLE_LINK))
    assert _cell("a run of any length") == str(long_run)
    assert _cell("the same on a disk") == f"{long_run}; {_mib(LINK)}"
    assert _cell("a line of 100 MiB") == str(_mib(kept(SQLITE + UNDER_WAY)))
    assert _cell("a line, frame, header") == f"{_mib(SLACK)} and its limit"
    assert _cell("5,000 peers that connect") == f"{silent}; {_mib(5_000 * EACH + SILENT_SLACK)}"
