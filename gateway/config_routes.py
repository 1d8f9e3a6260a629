"""The `[[route]]` tables of a config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

import attrs

from fleetgate.core.adaptation import (
    Adaptation,
    Target,
    TemplateTree,
    ToCommand,
    ToPrompt,
    ToTool,
)
from fleetgate.core.json import NOTHING
from fleetgate.core.routing import ANY_LINK, OPERATOR, Overrides, Route
from fleetgate.core.templates import Template, TemplateError, parse
from fleetgate.core.times import nanos
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config_reader import (
    Flaw,
    Flawed,
    named,
    nearest,
    read,
    read_sound,
    unknown_key,
)
from fleetgate.gateway.toml_lines import Path

_KINDS: Final = tuple(kind.value for kind in InputKind)


@attrs.frozen(slots=True)
class _Set:
    provider: str | None = None
    model: str | None = None
    permission: Literal["", "read_only", "plan", "edit", "auto", "bypass"] | None = None
    timeout: float | None = None
    workspace: tuple[str, ...] | None = None
    approvals: bool | None = None
    interactive: bool | None = None
    labels: Mapping[str, str] = NOTHING


@attrs.frozen(slots=True)
class _RouteTable:
    from_: str
    to: str
    when: Mapping[str, Any] = NOTHING
    set: Any = attrs.field(factory=dict[str, Any])
    adapt: Mapping[str, Any] = NOTHING


def read_route(table: object, path: Path) -> Route:
    """Read one route.

    Raises: `Flawed`.
    """
    flaws: list[Flaw] = []
    raw = read_sound(_RouteTable, table, path, flaws, {"from": "", "to": ""})
    when = _read_when(raw.when, (*path, "when"), flaws)
    overrides = _read_set(raw.set, (*path, "set"), flaws)
    adapt = _read_adapt(raw.adapt, (*path, "adapt"), flaws)
    if flaws:
        raise Flawed(flaws)
    return Route(raw.from_, raw.to, when, overrides, adapt)


def check_ends(table: object, path: Path, north: Sequence[str], south: Sequence[str]) -> list[Flaw]:
    """What is wrong with where a route leads from and to, whatever else is wrong with it."""
    flaws: list[Flaw] = []
    ends = cast(dict[str, object], table) if isinstance(table, dict) else {}
    start, to = ends.get("from", ANY_LINK), ends.get("to")
    if isinstance(start, str) and start not in (ANY_LINK, OPERATOR, *north):
        hint = nearest(start, (*north, OPERATOR))
        flaws.append(Flaw((*path, "from"), f"no [[north]] entry is named {start}; {hint} (or *)"))
    if isinstance(to, str) and to not in south:
        said = f"no [[south]] or [[local]] entry is named {to}; {nearest(to, south)}"
        flaws.append(Flaw((*path, "to"), said))
    return flaws


def _read_when(
    raw: Mapping[str, Any], path: Path, flaws: list[Flaw]
) -> Mapping[str, tuple[str, ...]]:
    when: dict[str, tuple[str, ...]] = {}
    for key, value in raw.items():
        given: object = value
        words = cast(list[object], given) if isinstance(given, list) else [given]
        if not words or not all(isinstance(word, str) for word in words):
            flaws.append(
                Flaw((*path, key), f"expected a string or an array of strings, got {named(value)}")
            )
            continue
        when[key] = cast(tuple[str, ...], tuple(words))
        unknown = [word for word in when[key] if key == "input" and word not in _KINDS]
        if unknown:
            flaws.append(Flaw((*path, key), f"expected one of {', '.join(_KINDS)}"))
    return when


def _read_set(table: object, path: Path, flaws: list[Flaw]) -> Overrides:
    try:
        raw = read_sound(_Set, table, path, flaws, {})
    except Flawed as error:
        flaws.extend(error.flaws)
        return Overrides()
    timeout = None
    if raw.timeout is not None:
        timeout = nanos(raw.timeout)
        if timeout <= 0:
            flaws.append(Flaw((*path, "timeout"), "expected seconds above 0"))
    return Overrides(
        provider=raw.provider,
        model=raw.model,
        permission=raw.permission,
        timeout=timeout,
        workspace=raw.workspace,
        approvals=raw.approvals,
        interactive=raw.interactive,
        labels=raw.labels,
    )


def _read_adapt(raw: Mapping[str, Any], path: Path, flaws: list[Flaw]) -> Adaptation:
    made = Adaptation()
    for key, table in raw.items():
        if key not in _KINDS:
            flaws.append(Flaw((*path, key), unknown_key(key, _KINDS)))
            continue
        try:
            target = _read_target(table, (*path, key), flaws)
            made = attrs.evolve(made, **{key: target})
        except TemplateError as error:
            flaws.append(Flaw((*path, key), str(error)))
        except Flawed as error:
            flaws.extend(error.flaws)
    return made


@attrs.frozen(slots=True)
class _Command:
    argv: tuple[str, ...] | None = None
    line: str | None = None
    stdin: str | None = None
    shell: Literal["", "sh", "bash", "zsh", "powershell", "pwsh", "cmd"] = ""


@attrs.frozen(slots=True)
class _Prompt:
    prompt: str
    system: str | None = None


@attrs.frozen(slots=True)
class _Tool:
    tool: str
    input: Any = None


def _read_target(table: object, path: Path, flaws: list[Flaw]) -> Target:
    if not isinstance(table, dict):
        raise Flawed([Flaw(path, f"expected a table, got {named(table)}")])
    members = cast(dict[str, Any], table)
    if "prompt" in members:
        prompt = read(_Prompt, members, path)
        return ToPrompt(parse(prompt.prompt), _parse(prompt.system))
    if "tool" in members:
        tool = read(_Tool, members, path)
        return ToTool(tool.tool, _tree(tool.input, (*path, "input")))
    if not members.keys() & {"argv", "line"}:
        raise Flawed([Flaw(path, "expected one of the keys argv, line, prompt, tool")])
    wrong: list[Flaw] = []
    raw = read_sound(_Command, members, path, wrong, {})
    flaws.extend(wrong)
    if any(flaw.path[len(path)] in ("argv", "line") for flaw in wrong):
        raise Flawed([])
    argv = None if raw.argv is None else tuple(map(parse, raw.argv))
    return ToCommand(argv, _parse(raw.line), _parse(raw.stdin), raw.shell)


def _parse(text: str | None) -> Template | None:
    return None if text is None else parse(text)


def _tree(value: object, path: Path) -> TemplateTree:
    match value:
        case str():
            return parse(value)
        case None | bool() | int() | float():
            return value
        case list():
            items = cast(list[object], value)
            return tuple(_tree(item, (*path, at)) for at, item in enumerate(items))
        case dict():
            members = cast(dict[str, object], value)
            return {key: _tree(member, (*path, key)) for key, member in members.items()}
        case _:
            raise Flawed([Flaw(path, f"JSON has no {type(value).__name__}; write a string")])
