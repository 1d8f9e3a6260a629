"""A route's promise, told and as JSON."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import attrs
import pytest

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


@pytest.mark.parametrize(
    ("setting", "said"), [("45.5", "45.5"), ("1048576", "1048576"), ("0.1", "0.1")]
)
def test_a_number_is_written_as_in_the_file(setting: str, said: str) -> None:
    known = adapters()
    config = parse(TEXT.replace("= 45", f"= {setting}"), "gw.toml", known)
    lines = told(words_of(config, config.routes[0], known))
    assert f"     as set: reconnect_grace = {said}" in lines


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


NORTH = {
    "agency": 'listen = "unix:/run/gui"',
    "iop": 'connect = "tcp://127.0.0.1:2"',
    "kodelet": 'connect = "ws://127.0.0.1:2"\nworkspace = "/srv/work"',
    "rvbox": 'connect = "ws://127.0.0.1:2"',
}
SOUTH = {
    "agency": 'connect = "unix:/run/daemon"',
    "iop": 'listen = "tcp://127.0.0.1:1"',
    "kodelet": 'listen = "ws://127.0.0.1:1"',
    "rvbox": 'listen = "ws://127.0.0.1:1"',
}
PAGE = " ".join((Path(__file__).parents[3] / "docs" / "guarantees.md").read_text().split())


@pytest.mark.parametrize("journal", ["sqlite:j.db", "memory:"])
@pytest.mark.parametrize(("north", "south"), list(product(NORTH, SOUTH)))
def test_check_says_of_every_pair_and_journal_what_the_guarantees_page_says(
    north: str, south: str, journal: str
) -> None:
    known = adapters()
    text = (
        f'[gateway]\njournal = "{journal}"\n'
        f'[[north]]\nname = "asks"\nprotocol = "{north}"\n{NORTH[north]}\n'
        f'[[south]]\nname = "does"\nprotocol = "{south}"\n{SOUTH[south]}\n'
        '[[route]]\nfrom = "asks"\nto = "does"\n'
    )
    config = parse(text, "gw.toml", known)
    said: dict[str, dict[str, str]] = {"": {}}
    part = ""
    for line in told(words_of(config, config.routes[0], known)):
        if line.startswith("   with "):
            part = line.strip(" :")
            said[part] = {}
        elif line.startswith("     "):
            names, _, words = line.strip().partition(": ")
            said[part] |= dict.fromkeys(names.split(", "), words)
    general, workers, controllers = said.values()
    assert list(said)[1:] == ["with workers of does", "with controllers of asks"]
    durable = journal != "memory:"
    assert general["order"] == ORDER
    for words, made in ((workers, promise(south, durable)), (controllers, showing(north, durable))):
        for name, sentence in attrs.asdict(made).items():
            assert words[name.replace("_", " ")] == sentence
            assert sentence in PAGE
    for what in ("events converted", "events dropped", "orders converted", "orders dropped"):
        assert controllers[what]
    forgotten = "forgotten with the journal in memory"
    for words in (workers, controllers):
        assert (forgotten in words["gateway restarted"]) is not durable
