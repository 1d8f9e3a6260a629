"""Genuine peers, as they are measured. They themselves are met by the lane agency-rust."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fleetgate.gateway.bench import genuine
from fleetgate.gateway.bench.genuine import (
    BRIDGED,
    DIRECT,
    GenuinePlan,
    GenuineSample,
    Heard,
    Programs,
)
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.parts import PARTS

TEXT = '{"as":"a","frame":{"event":{"payload":"...","type":"text"},"sequence":2}}'
END = '{"as":"a","frame":{"event":{"type":"finished"},"sequence":9}}'

STANDS_IN = """\
#!{python}
import json, sys, time
def say(id, **ok):
    print(json.dumps({{"id": id, "ok": ok}}, separators=(",", ":")), flush=True)
if {daemon}:
    print("AgencyProxy listening on", sys.argv[2], flush=True)
    time.sleep(60)
for line in sys.stdin:
    asked = json.loads(line)
    starts = asked.get("message", {{}}).get("type") == "start_run"
    say(asked["id"], type="error" if starts and {refuses} else "accepted")
    if asked["id"] == "attach":
        print({text!r}, flush=True)
        print('{{"as":"a","lagged":{lagged}}}', flush=True)
        print({end!r}, flush=True)
"""


def stand_in(place: Path, *, daemon: bool, lagged: int = 8, refuses: bool = False) -> Path:
    """A program that talks as the genuine one does."""
    path = place / ("daemon" if daemon else "client")
    words = {"python": sys.executable, "daemon": daemon, "text": TEXT, "end": END}
    path.write_text(STANDS_IN.format(**words, lagged=lagged, refuses=refuses))
    path.chmod(0o755)
    return path


def measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **client: int
) -> tuple[list[GenuineSample], list[str]]:
    found = Programs(stand_in(tmp_path, daemon=True), stand_in(tmp_path, daemon=False, **client))
    monkeypatch.setattr(genuine, "programs", lambda: found)
    losses = Losses()
    return genuine.measure(tmp_path, GenuinePlan(events=10, rounds=1), losses), losses.lines


def test_both_ways_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, lost = measured(tmp_path, monkeypatch)
    assert lost == []
    assert [(each.way, each.events) for each in samples] == [(DIRECT, 10), (BRIDGED, 10)]
    # There is none on the way, and ten events may take less than the kernel's clock tells.
    assert samples[0].gateway == 0 <= samples[1].gateway
    assert all(each.daemon >= 0 and each.seconds > 0 for each in samples)


def test_a_run_of_which_events_are_missing_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, lost = measured(tmp_path, monkeypatch, lagged=7)
    assert samples == []
    assert lost[0] == f"genuine peers, {DIRECT}: the genuine client heard 9 events of 10"


def test_a_peer_that_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, lost = measured(tmp_path, monkeypatch, refuses=True)
    assert samples == []
    assert lost[0].startswith(f"genuine peers, {DIRECT}: the genuine peer refused: ")


def test_where_they_were_not_built_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert genuine.programs().daemon.is_relative_to(tmp_path)
    found = PARTS["genuine"](tmp_path, True)
    assert (found.samples, found.figures, found.table) == ([], [], genuine.ABSENT)


def test_what_the_client_let_go_has_come_too() -> None:
    heard = Heard()
    assert heard.take('{"id":"attach","ok":{}}') is None
    assert heard.take(TEXT)
    assert heard.take('{"as":"a","lagged":41}')
    assert not heard.ended
    assert heard.take(END)
    assert (heard.events, heard.ended) == (43, True)
    assert 0 < heard.first <= heard.last


def test_a_rate_stands_beside_that_of_peers_that_talk_directly() -> None:
    samples = [
        GenuineSample(DIRECT, 1000, 1.0, 0.01, 0.0),
        GenuineSample(BRIDGED, 1000, 2.0, 0.02, 0.04),
    ]
    direct, bridged = map(genuine.row, genuine.sum_up(samples))
    assert direct == (DIRECT, "1000", "1000 to 1000", "1.00", "10.0", "")
    assert bridged == (BRIDGED, "500", "500 to 500", "0.50", "20.0", "40.0")
    assert genuine.row(genuine.sum_up(samples[1:])[0])[3] == ""
