"""A route's promise, told and as JSON."""

from __future__ import annotations

import json

import attrs

from fleetgate.gateway.commands.promised import NOT_MEASURED, route_line, told
from fleetgate.gateway.config import parse
from fleetgate.gateway.promise import ORDER, promise, showing
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.route_words import RouteWords, words_of

TEXT = """\
[gateway]
journal = "sqlite:j.db"
[[south]]
name = "nodes"
protocol = "iop"
listen = "tcp://127.0.0.1:1"
reconnect_grace = 45
[[north]]
name = "gui"
protocol = "agency"
listen = "unix:/run/gui"
[[north]]
name = "plane"
protocol = "rvbox"
connect = "ws://127.0.0.1:2"
[[route]]
from = "*"
to = "nodes"
"""


def _words() -> RouteWords:
    known = adapters()
    config = parse(TEXT, "gw.toml", known)
    return words_of(config, config.routes[0], known)


def test_each_sentence_stands_once_under_all_that_it_holds_for() -> None:
    lines = list(told(_words()))
    promised = promise("iop", durable=True)
    assert lines.count(f"     link lost, gateway restarted: {promised.link_lost}") == 1
    assert f"     replay: {promised.replay}" in lines
    assert f"     order: {ORDER}" in lines
    assert "     as set: reconnect_grace = 45" in lines


def test_whoever_may_ask_is_named_with_what_is_lost_on_the_way() -> None:
    lines = list(told(_words()))
    at = [lines.index(f"   with controllers of {name}:") for name in ("gui", "plane", "admin")]
    assert at == sorted(at)
    gui = lines[at[0] : at[1]]
    assert f"     delivery: {showing('agency', durable=True).delivery}" in gui
    assert "     as set: replay_bound = 2048" in gui
    assert "     events dropped: none" in gui
    assert "     orders converted: SignalRun" in gui
    (without,) = (line for line in gui if "may arrive without" in line)
    assert "CancelRun (reason)" in without
    assert lines[-1] == f"     events converted or dropped: {NOT_MEASURED}"


def test_as_json() -> None:
    words = _words()
    line = json.loads(json.dumps(route_line(words)))
    assert line["promise"] == attrs.asdict(words.promise)
    assert (line["protocol"], line["settings"]) == ("iop", {"reconnect_grace": 45.0})
    gui, _, admin = line["controllers"]
    assert (gui["from"], gui["protocol"]) == ("gui", "agency")
    assert gui["settings"] == {"replay_bound": 2048}
    assert set(gui["losses"]) == {"events", "orders", "requests"}
    assert "SendInput" in gui["losses"]["orders"]["dropped"]
    assert (admin["from"], admin["losses"]) == ("admin", None)
