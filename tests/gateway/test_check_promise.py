"""Warnings about what weakens a promise."""

from __future__ import annotations

import pytest

from fleetgate.gateway.check import check
from fleetgate.gateway.config import parse
from fleetgate.gateway.registry import adapters

SQLITE = '[gateway]\njournal = "sqlite:j.db"\n'
NODES = """
[[south]]
name = "nodes"
protocol = "iop"
listen = "tcp://127.0.0.1:1"
"""
GUI = """
[[north]]
name = "gui"
protocol = "agency"
listen = "unix:/run/gui"
"""
ROUTE = '[[route]]\nfrom = "gui"\nto = "nodes"\n'


def _warned(text: str) -> dict[str, str]:
    known = adapters()
    found = check(parse(text, "gw.toml", known), known).warnings
    assert all(each.line for each in found)
    return {each.key: each.message for each in found}


def test_by_default_nothing_is_weak() -> None:
    assert _warned(SQLITE + NODES + GUI + ROUTE) == {}
    assert _warned(SQLITE + "lost_after = 3600\n" + NODES + GUI + ROUTE) == {}


@pytest.mark.parametrize(
    ("gateway", "key", "words"),
    [
        ('journal = "memory:"', "journal", "a restart forgets every run"),
        ("lost_after = 60", "lost_after", "is away for 60 s are lost"),
        ("keep_ended = 60", "keep_ended", "repeated later is a new run"),
        ("keep_unacknowledged = 9", "keep_unacknowledged", "9 s after its end"),
        ("journal_size = 1048576", "journal_size", "starts are refused"),
    ],
)
def test_what_the_gateway_itself_keeps(gateway: str, key: str, words: str) -> None:
    head = f"[gateway]\n{gateway}\n" if key == "journal" else f"{SQLITE}{gateway}\n"
    warned = _warned(head + NODES + GUI + ROUTE)
    assert list(warned) == [f"gateway.{key}"]
    assert words in warned[f"gateway.{key}"]


def test_settings_that_a_promise_names_are_looked_at_once_and_by_their_defaults() -> None:
    weak = NODES + "reconnect_grace = 5\n" + GUI + "replay_bound = 7\n"
    warned = _warned(SQLITE + weak + ROUTE.replace("]\n", ']\nwhen = { input = "tool" }\n') + ROUTE)
    assert set(warned) == {"south.nodes.reconnect_grace", "north.gui.replay_bound"}
    assert (
        "it is 5, and 30 by default: the run goes on, if" in warned["south.nodes.reconnect_grace"]
    )
    long = NODES + "reconnect_grace = 90\n" + GUI + "replay_bound = 0\n"
    assert _warned(SQLITE + long + ROUTE) == {}


def test_a_switch_and_a_local_pool() -> None:
    control = GUI.replace("agency", "iop").replace("unix:/run/gui", "grpc://127.0.0.1:2")
    pool = '[[local]]\nname = "here"\nadapters = ["shell"]\n'
    text = SQLITE + "drain_timeout = 1\n" + pool + control + "cancel_on_disconnect = true\n"
    warned = _warned(text + ROUTE.replace("nodes", "here"))
    assert set(warned) == {"gateway.drain_timeout", "north.gui.cancel_on_disconnect"}
    assert "it is true, and false by default" in warned["north.gui.cancel_on_disconnect"]


def test_who_has_no_route_is_promised_nothing() -> None:
    weak = NODES + "reconnect_grace = 5\n"
    assert set(_warned(SQLITE + weak)) == {"south.nodes"}
