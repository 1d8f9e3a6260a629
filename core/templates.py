"""Templates: a run's input of one kind, written as an input of another.

`{prompt}` in a template stands for a value of the input; `{{` and `}}` are braces. A
template is read once, and each value is put in as it is: nothing in a value is read as a
template again, and nothing is quoted for a shell.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from fleetgate.core.commands import Input, Prompt, ShellCommand, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.json import Json
from fleetgate.core.worker import InputKind

NAMES: Final[Mapping[InputKind, frozenset[str]]] = {
    InputKind.PROMPT: frozenset({"prompt", "system", "provider", "model", "effort", "messages"}),
    InputKind.SHELL: frozenset({"line", "cwd", "shell", "stdin"}),
    InputKind.TOOL: frozenset({"name", "input"}),
}
"""What a template may name of each kind of input. A tool's `input.MEMBER` beside these."""

_PART: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")

Values: TypeAlias = Callable[[str], Json]
"""Looks a name of a template up. Raises `UnsupportedInput` where this input has no such value."""


class TemplateError(ValueError):
    """A template, or what it is used for, is wrong. The text says what is allowed."""


@attrs.frozen(slots=True)
class Name:
    """A place in a template that a value goes to."""

    name: str


@attrs.frozen(slots=True)
class Template:
    """A text with places in it: literal parts and names in turn."""

    text: str
    parts: tuple[str | Name, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names it mentions."""
        return frozenset(part.name for part in self.parts if isinstance(part, Name))

    @property
    def whole(self) -> str | None:
        """The name that is all of it, if it is one name and nothing else."""
        match self.parts:
            case (Name(name),):
                return name
            case _:
                return None

    def fill(self, values: Values) -> str:
        """The text with every name replaced, once."""
        return "".join(
            part if isinstance(part, str) else _as_text(values(part.name)) for part in self.parts
        )


def parse(text: str) -> Template:
    """Read a template.

    Raises: `TemplateError` for a brace that stands alone.
    """
    parts: list[str | Name] = []
    literal: list[str] = []
    at = 0
    for found in _PART.finditer(text):
        literal.append(text[at : found.start()])
        at = found.end()
        token = found.group()
        if token in ("{{", "}}"):
            literal.append(token[0])
        elif found.group(1) is None:
            raise TemplateError(
                f"a lone {token} at character {found.start() + 1}; write {token * 2} for a brace"
            )
        else:
            parts.extend(("".join(literal), Name(found.group(1))))
            literal.clear()
    parts.append("".join(literal) + text[at:])
    return Template(text, tuple(part for part in parts if part != ""))


def check_names(names: frozenset[str], kind: InputKind) -> None:
    """Raise `TemplateError` unless an input of `kind` has all these names."""
    for name in sorted(names):
        if name in NAMES[kind] or (kind is InputKind.TOOL and name.startswith("input.")):
            continue
        known = ", ".join(f"{{{each}}}" for each in sorted(NAMES[kind]))
        more = " and {input.MEMBER}" if kind is InputKind.TOOL else ""
        raise TemplateError(
            f"{{{name}}} is nothing that a {kind.value} input has; it has {known}{more}. "
            "Write {{ and }} for braces"
        )


def values_of(given: Input) -> Values:
    """What the names in a template stand for."""
    match given:
        case Prompt():
            return lambda name: _of_prompt(given, name)
        case ShellCommand():
            return lambda name: _of_command(given, name)
        case ToolCall():
            return lambda name: _of_tool(given, name)


def _as_text(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Json) -> object:
    """Mappings and sequences of any class as those that `json` knows."""
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _of_prompt(given: Prompt, name: str) -> Json:
    values: dict[str, Json] = {
        "prompt": given.text,
        "system": given.system,
        "provider": given.provider,
        "model": given.model,
        "effort": given.effort,
        "messages": given.messages,
    }
    return values[name]


def _of_command(given: ShellCommand, name: str) -> Json:
    match name:
        case "line":
            return _line(given)
        case "stdin":
            return _stdin(given)
        case "cwd":
            return given.cwd
        case _:
            return given.shell


def _line(given: ShellCommand) -> str:
    if given.line is not None:
        return given.line
    if given.argv is not None:
        return shlex.join(given.argv)
    raise UnsupportedInput(
        "the run is an uploaded script, which has no command line; "
        "route it to a worker that takes shell commands, without `adapt`"
    )


def _stdin(given: ShellCommand) -> str:
    try:
        return (given.stdin or b"").decode()
    except UnicodeDecodeError:
        raise UnsupportedInput(
            "the command's standard input is not UTF-8, so {stdin} cannot stand for it; "
            "route it to a worker that takes shell commands"
        ) from None


def _of_tool(given: ToolCall, name: str) -> Json:
    if name == "name":
        return given.name
    if name == "input":
        return given.input
    member = name.removeprefix("input.")
    if isinstance(given.input, Mapping) and member in given.input:
        return given.input[member]
    raise UnsupportedInput(
        f"the route's template wants {{{name}}}, which this tool call does not have; "
        "let the caller send it, or take it out of the route's `adapt`"
    )
