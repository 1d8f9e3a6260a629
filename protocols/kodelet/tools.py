"""What a runner's manifest can offer, and the run that each starts: tools and slash commands."""

from __future__ import annotations

from typing import Any, Final

import attrs

from fleetgate.core.adaptation import Adaptation, Target, ToCommand, ToPrompt
from fleetgate.core.templates import parse


@attrs.frozen(slots=True)
class ToolSettings:
    """A tool of the manifest and the run that a call of it starts. Without `prompt`, `argv` and
    `line` the call goes on as it is, for a route to adapt. They are templates: `{input.NAME}`
    stands for a member of the call's input, `{input}` for all of it."""

    name: str
    description: str = ""
    schema: Any = attrs.field(factory=lambda: {"type": "object"})
    prompt: str | None = None
    argv: tuple[str, ...] | None = None
    line: str | None = None

    def __attrs_post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a tool needs a name")
        if not isinstance(self.schema, dict):
            raise ValueError(f"the schema of {self.name} must be a table")
        if sum(each is not None for each in (self.prompt, self.argv, self.line)) > 1:
            raise ValueError(f"{self.name} takes one of prompt, argv and line")
        self.adaptation()

    def adaptation(self) -> Adaptation:
        """What becomes of a call. Raises: `TemplateError`, a `ValueError`."""
        return Adaptation(tool=self._target())

    def _target(self) -> Target | None:
        if self.prompt is not None:
            return ToPrompt(parse(self.prompt))
        if self.argv is not None:
            return ToCommand(argv=tuple(map(parse, self.argv)))
        return None if self.line is None else ToCommand(line=parse(self.line))


@attrs.frozen(slots=True)
class CommandSettings:
    """A slash command of the manifest. `/NAME TEXT` starts a run with `prompt`, in which
    `{input.text}` stands for the text, and responds with what it says."""

    name: str
    description: str = ""
    prompt: str = "{input.text}"

    def __attrs_post_init__(self) -> None:
        if not self.name.strip() or "/" in self.name or any(c.isspace() for c in self.name):
            raise ValueError("a command needs a name of one word, without its slash")
        self.adaptation()

    def adaptation(self) -> Adaptation:
        """What becomes of it. Raises: `TemplateError`, a `ValueError`."""
        return Adaptation(tool=ToPrompt(parse(self.prompt)))


BASH_SCHEMA: Final[Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "description": {"type": "string"},
        "timeout": {"type": "integer"},
    },
    "required": ["command"],
}
BASH: Final = ToolSettings("bash", "Run a shell command", BASH_SCHEMA, line="{input.command}")


def distinct(_: Any, member: attrs.Attribute[Any], value: tuple[Any, ...]) -> None:
    """For a list of tools or commands: no name comes twice. Raises: `ValueError`."""
    names = [each.name for each in value]
    if len(set(names)) != len(names):
        raise ValueError(f"two of {member.name} have one name")
