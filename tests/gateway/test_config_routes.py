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


@pytest.mark.parametrize(
    ("route", "keys"),
    [
        (Route("gui", "hosts"), []),
        (Route("*", "hosts"), []),
        (Route("admin", "hosts"), []),
        (Route("hosts", "hosts"), ["from"]),
        (Route("gui", "gui"), ["to"]),
        (Route("x", "y"), ["from", "to"]),
    ],
)
def test_routes_lead_from_and_to_what_there_is(route: Route, keys: list[str]) -> None:
    flaws = check_ends(route, ("route", 0), ["gui"], ["hosts"])
    assert [flaw.path[-1] for flaw in flaws] == keys
