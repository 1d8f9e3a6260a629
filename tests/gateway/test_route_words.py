"""Routes as people say them."""

from __future__ import annotations

import pytest

from fleetgate.core.adaptation import Adaptation, ToCommand, ToPrompt, ToTool
from fleetgate.core.routing import Route
from fleetgate.core.templates import parse
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.promise import LOCAL, promise
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.route_words import sentence, words_of
from fleetgate.gateway.settings import GatewaySettings

CONFIG = Config(
    "gw.toml",
    GatewaySettings("memory:"),
    (
        Entry("south", "hosts", "rvbox", "ws://127.0.0.1:1", True, None),
        Entry("south", "agents", "agency", "unix:/a", False, None),
    ),
    (),
    (),
    local=(LocalPool("here", ("ollama", "shell")),),
)


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (Route("gui", "hosts"), "a run from gui goes to hosts"),
        (Route("*", "hosts"), "any run goes to hosts"),
        (Route("admin", "hosts"), "a run of the operator goes to hosts"),
        (
            Route("gui", "hosts", {"input": ("shell", "tool"), "zone": ("eu",)}),
            "a run from gui whose input is shell or tool and zone is eu goes to hosts",
        ),
    ],
)
def test_sentences(route: Route, words: str) -> None:
    assert sentence(route) == words


ARGV = ToCommand(argv=(parse("claude"), parse(""), parse("say {prompt}")))


@pytest.mark.parametrize(
    ("route", "inputs"),
    [
        (
            Route("*", "hosts"),
            {"prompt": "refused (no adapt)", "shell": "as it is", "tool": "refused (no adapt)"},
        ),
        (
            Route("*", "hosts", {"input": ("prompt",)}, adapt=Adaptation(prompt=ARGV)),
            {"prompt": "the command claude '' 'say {prompt}'"},
        ),
        (
            Route(
                "*",
                "hosts",
                {"provider": ("x",)},
                adapt=Adaptation(prompt=ToCommand(line=parse("{prompt}"))),
            ),
            {"prompt": "the command {prompt}"},
        ),
        (Route("*", "hosts", {"tool": ("x",)}), {"tool": "refused (no adapt)"}),
        (Route("*", "hosts", {"tool": ("x",), "model": ("y",)}), {}),
        (
            Route("*", "agents", adapt=Adaptation(shell=ToPrompt(parse("Run {line}")))),
            {
                "prompt": "as it is",
                "shell": "the prompt 'Run {line}'",
                "tool": "refused (no adapt)",
            },
        ),
        (
            Route("*", "agents", {"input": ("prompt",)}, adapt=Adaptation(prompt=ToTool("ask"))),
            {"prompt": "refused (a call of the tool ask is not taken there)"},
        ),
    ],
)
def test_what_becomes_of_each_input(route: Route, inputs: dict[str, str]) -> None:
    words = words_of(CONFIG, route, adapters())
    assert words.inputs == {InputKind(kind): text for kind, text in inputs.items()}
    protocol = "rvbox" if route.to == "hosts" else "agency"
    assert words.promise == promise(protocol, durable=False)


def test_a_local_pool_takes_what_its_adapters_take_and_has_its_own_promise() -> None:
    words = words_of(CONFIG, Route("*", "here"), adapters())
    assert words.inputs == {
        InputKind.PROMPT: "as it is",
        InputKind.SHELL: "as it is",
        InputKind.TOOL: "refused (no adapt)",
    }
    assert words.promise == promise(LOCAL, durable=False)
