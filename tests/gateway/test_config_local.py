"""`[[local]]` tables become pools, or a list of what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.core.routing import Route
from fleetgate.gateway.config import ConfigError, parse
from fleetgate.gateway.config_local import state_of
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.settings import GatewaySettings

HEAD = '[gateway]\njournal = "memory:"\n'


def problems(local: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(HEAD + "[[local]]\n" + local, "/etc/gw.toml", {})
    return [line.removeprefix("/etc/gw.toml:") for line in caught.value.lines()]


def test_a_pool_and_a_route_to_it() -> None:
    text = """
[[local]]
name = "here"
adapters = ["mock", "shell"]
max_running = 2
workspace_root = "work"
script = "~/s.toml"
[[route]]
from = "admin"
to = "here"
"""
    config = parse(HEAD + text, "/etc/gw.toml", {})
    script = str(Path.home() / "s.toml")
    assert config.local == (
        LocalPool("here", ("mock", "shell"), 2, workspace_root="/etc/work", script=script),
    )
    assert config.routes == (Route("admin", "here"),)
    assert config.line("local.here.script") == 9


@pytest.mark.parametrize(
    ("local", "said"),
    [
        ('adapters = ["mock"]', ["3: local[1].name: is missing"]),
        ('name = "a"', ["3: local.a.adapters: is missing"]),
        ('name = "a"\nadapters = ["moc"]', ["5: local.a.adapters[1]: expected one of mock, "]),
        (
            'name = "A"\nadapters = ["moc"]\nmax_running = 0\nscript = "s"\nunknown = 1',
            [
                "4: local[1].name: expected 1 to 64 of",
                "5: local[1].adapters[1]: expected one of mock, ",
                "6: local[1].max_running: expected a number above 0",
                "8: local[1].unknown: unknown key",
            ],
        ),
        ('name = "a"\nadapters = []', ["5: local.a.adapters: expected one at least"]),
        ('name = "a"\nadapters = ["cli", "cli"]', ["5: local.a.adapters: names one twice"]),
        ('name = "A"\nadapters = ["mock"]', ["4: local[1].name: expected 1 to 64 of"]),
        ('name = "admin"\nadapters = ["mock"]', ["4: local.admin.name: expected 1 to 64 of"]),
        ('name = "a"\nadapters = ["mock"]\nmax_runing = 1', ["6: local.a.max_runing: unknown key"]),
        (
            'name = "a"\nadapters = ["mock"]\n[local.cli.x]\ncommand = "x"',
            ["3: local.a.cli: are profiles of cli, which is not among the adapters"],
        ),
        (
            'name = "a"\nadapters = ["cli"]\n[local.cli.x]\ncomand = "x"',
            [
                "6: local.a.cli.x.command: is missing",
                "7: local.a.cli.x.comand: unknown key; did you mean command?",
            ],
        ),
        (
            'name = "a"\nadapters = ["cli"]\n[local.cli.x]\ncommand = "x"\npersistent = true',
            ["8: local.a.cli.x.persistent: nothing says when an answer is complete"],
        ),
        (
            'name = "a"\nadapters = ["cli"]\nmax_running = 0\ncancel_grace = -1\nscript = "s"',
            [
                "6: local.a.max_running: expected a number above 0",
                "7: local.a.cancel_grace: expected seconds",
                "8: local.a.script: is what mock plays",
            ],
        ),
    ],
)
def test_flaws(local: str, said: list[str]) -> None:
    found = problems(local)
    assert len(found) == len(said)
    for line, words in zip(found, said, strict=True):
        assert line.startswith(words), line


def test_names_are_unique_across_all_entries_and_routes_name_what_is_there() -> None:
    text = '[[local]]\nname = "a"\nadapters = ["mock"]\n' * 2 + '[[route]]\nfrom = "*"\nto = "b"\n'
    with pytest.raises(ConfigError) as caught:
        parse(HEAD + text, "gw.toml", {})
    assert list(caught.value.lines()) == [
        "gw.toml:7: local.a.name: another entry is named a; names are unique",
        "gw.toml:11: route[1].to: no [[south]] or [[local]] entry is named b; known: a, a",
    ]


def test_state_lies_where_it_is_told_or_beside_the_journal(monkeypatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    pool, durable = LocalPool("here", ("mock",)), GatewaySettings("sqlite:/var/j.db")
    assert state_of(pool, durable) == Path("/var/j.db.local/here")
    assert state_of(LocalPool("here", ("mock",), state="/s"), durable) == Path("/s")
    memory = GatewaySettings("memory:", name="gw")
    assert state_of(pool, memory) == Path("/run/user/1/fleetgate/gw/local/here")
