"""Every input has a text to say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleetgate.core.commands import Prompt, RunSpec, Script, ShellCommand, ToolCall
from fleetgate.core.events import RunFinished, TextProduced
from fleetgate.core.hub_testing import read_until, started
from fleetgate.gateway.fakes.acting import PIECE, Act
from fleetgate.gateway.fakes.echo import echoes, text_of


@pytest.fixture
def acts() -> Callable[[RunSpec], Act]:
    return echoes


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Prompt("hi"), "hi"),
        (ShellCommand(line="ls -l"), "ls -l"),
        (ShellCommand(argv=("a", "b c")), "a 'b c'"),
        (ShellCommand(script=Script(2, b"", data=b"x\xff")), "x\ufffd"),
        (ShellCommand(script=Script(2, b"")), ""),
        (ToolCall("t", {"é": [1]}), '{"é": [1]}'),
    ],
)
def test_an_input_is_one_text(given, text: str) -> None:
    assert text_of(given) == text


async def test_a_long_input_is_said_whole(stage) -> None:
    hub, seen = stage
    text = "é" * (PIECE + 1)
    run = await started(hub, "r", RunSpec(Prompt(text)))
    events = [each.event for each in await read_until(hub, run, 5)]
    assert "".join(event.text for event in events if isinstance(event, TextProduced)) == text
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome.exit_code == 0
    assert seen.faults == []
