"""Routes; their refusals are in `test_config.py`, with their lines."""

from __future__ import annotations

import pytest

from fleetgate.core.adaptation import Adaptation, ToCommand, ToPrompt
from fleetgate.core.routing import Overrides, Route
from fleetgate.core.templates import parse
from fleetgate.gateway.config_reader import Flawed
from fleetgate.gateway.config_routes import check_ends, read_route


def test_every_setting() -> None:
    table = {
        "from": "*",
        "to": "hosts",
        "when": {"zone": "eu", "input": ["shell", "tool"]},
        "set": {
            "provider": "p",
            "model": "m",
            "permission": "",
            "timeout": 0.25,
            "workspace": ["/a", "/b"],
            "approvals": True,
            "interactive": False,
            "labels": {"x": "y"},
        },
        "adapt": {
            "shell": {"prompt": "Run {line}", "system": "{cwd}"},
            "prompt": {"line": "{prompt}", "shell": "bash", "stdin": "{system}"},
        },
    }
    assert read_route(table, ()) == Route(
        "*",
        "hosts",
        {"zone": ("eu",), "input": ("shell", "tool")},
        Overrides("p", "m", "", 250_000_000, ("/a", "/b"), True, False, {"x": "y"}),
        Adaptation(
            shell=ToPrompt(parse("Run {line}"), parse("{cwd}")),
            prompt=ToCommand(line=parse("{prompt}"), stdin=parse("{system}"), shell="bash"),
        ),
    )


def test_all_flaws_of_a_route_at_once() -> None:
    table = {
        "from": "*",
        "to": "x",
        "when": {"a": 1},
        "set": {"timeout": -1},
        "adapt": {"prompt": {"argv": ["{nope}"]}, "shell": {"argv": [], "shell": "bash"}},
    }
    with pytest.raises(Flawed) as caught:
        read_route(table, ("route", 0))
    assert [flaw.path[2:] for flaw in caught.value.flaws] == [
        ("when", "a"),
        ("set", "timeout"),
        ("adapt", "prompt"),
        ("adapt", "shell"),
    ]


def test_what_is_wrong_in_one_part_of_a_route_hides_nothing_in_another() -> None:
    table = {
        "from": 1,
        "to": "x",
        "unknown": 1,
        "set": {"permission": "foo", "timeout": -1},
        "adapt": {
            "prompt": {"line": "claude {prompt}", "shell": "fish"},
            "shell": "no table",
            "tool": {"argv": 1, "stdin": 2},
        },
    }
    with pytest.raises(Flawed) as caught:
        read_route(table, ("route", 0))
    assert [flaw.path[2:] for flaw in caught.value.flaws] == [
        ("from",),
        ("unknown",),
        ("set", "permission"),
        ("set", "timeout"),
        ("adapt", "prompt", "shell"),
        ("adapt", "prompt"),
        ("adapt", "shell"),
        ("adapt", "tool", "argv"),
        ("adapt", "tool", "stdin"),
    ]


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ({"from": "gui", "to": "hosts"}, []),
        ({"from": "*", "to": "hosts"}, []),
        ({"from": "admin", "to": "hosts"}, []),
        ({"from": "hosts", "to": "hosts"}, ["from"]),
        ({"from": "gui", "to": "gui"}, ["to"]),
        ({"from": "x", "to": "y", "set": 1}, ["from", "to"]),
        ({"from": 1}, []),
        ("no table", []),
    ],
)
def test_routes_lead_from_and_to_what_there_is(table: object, keys: list[str]) -> None:
    flaws = check_ends(table, ("route", 0), ["gui"], ["hosts"])
    assert [flaw.path[-1] for flaw in flaws] == keys
