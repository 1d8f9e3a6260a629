"""Settings: the genuine defaults, and what is refused."""

from typing import Any

import pytest

from fleetgate.core.adaptation import ToCommand, ToPrompt
from fleetgate.protocols.kodelet.settings import (
    BASH,
    CommandSettings,
    ControlPlaneSettings,
    RunnerSettings,
    ToolSettings,
    control_plane_carriage,
    nanos,
    runner_carriage,
)


@pytest.mark.parametrize(
    "carriage",
    [control_plane_carriage(ControlPlaneSettings()), runner_carriage(RunnerSettings())],
)
def test_the_carriage_is_the_genuine_one(carriage: Any) -> None:
    use = carriage.websocket
    assert (carriage.stream, carriage.limit) == (None, 4_194_304)
    assert (use.binary, use.path) == (False, "/api/runner/v1/connect")
    assert use.subprotocols == ("kodelet.runner.v1.jsonrpc",)
    assert (use.ping_every, use.dead_after) == (30, 45)


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (ControlPlaneSettings, {"heartbeat_timeout": 0}),
        (RunnerSettings, {"update_every": -1}),
        (RunnerSettings, {"tools": (BASH, BASH)}),
        (RunnerSettings, {"commands": (CommandSettings("a"), CommandSettings("a"))}),
        (ToolSettings, {"name": " "}),
        (ToolSettings, {"name": "a", "schema": []}),
        (ToolSettings, {"name": "a", "prompt": "x", "line": "{input.y}"}),
        (ToolSettings, {"name": "a", "prompt": "{nothing}"}),
        (ToolSettings, {"name": "a", "line": "rm {input.x}"}),
        (CommandSettings, {"name": "/a"}),
        (CommandSettings, {"name": "a b"}),
        (CommandSettings, {"name": "a", "prompt": "{"}),
    ],
)
def test_what_is_refused(kind: Any, members: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        kind(**members)


def test_what_a_tool_becomes() -> None:
    assert isinstance(BASH.adaptation().tool, ToCommand)
    assert isinstance(ToolSettings("a", prompt="x").adaptation().tool, ToPrompt)
    assert ToolSettings("a").adaptation().tool is None
    assert nanos(1.5) == 1_500_000_000
