"""What a manifest can offer: what it becomes, and what is refused."""

from typing import Any

import pytest

from fleetgate.core.adaptation import ToCommand, ToPrompt
from fleetgate.protocols.kodelet.tools import BASH, CommandSettings, ToolSettings


@pytest.mark.parametrize(
    ("kind", "members"),
    [
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
    assert isinstance(ToolSettings("a", argv=("ls", "{input.x}")).adaptation().tool, ToCommand)
    assert ToolSettings("a").adaptation().tool is None


def test_what_a_command_becomes() -> None:
    assert isinstance(CommandSettings("a").adaptation().tool, ToPrompt)
