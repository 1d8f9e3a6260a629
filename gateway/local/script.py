"""Scripts: what a mock worker does with a run, read from TOML or from JSON values.

A script is a list of `[[when]]` rules. The first whose `match` is found in a run's prompt,
command line or tool name gives the run its steps; no rule echoes the input.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from fleetgate.core.commands import Input, Prompt, ShellCommand, ToolCall
from fleetgate.core.json import Json
from fleetgate.core.values import value
from fleetgate.gateway.config import ConfigError, Problem, parse_toml, read_text
from fleetgate.gateway.config_reader import Flaw, Flawed, named, read, unknown_key
from fleetgate.gateway.local.script_steps import (
    MAX_SLEEP,
    Say,
    Step,
    place_of,
    read_json,
    read_steps,
    say_text,
)
from fleetgate.gateway.toml_lines import Path, line_numbers, line_of


@value
class Rule:
    """What is done with a run in whose subject `match` is found."""

    match: re.Pattern[str]
    steps: tuple[Step, ...]


@value
class UsageTable:
    """The answer to questions about an account's usage, given after `delay` seconds."""

    report: Mapping[str, Json]
    delay: float = 0.0


@value
class Script:
    """Rules, the first that fits counts; and what usage questions are answered with."""

    rules: tuple[Rule, ...] = ()
    usage: UsageTable | None = None

    def steps_for(self, given: Input) -> tuple[Step, ...]:
        """The steps of a run with this input."""
        subject = given.name if isinstance(given, ToolCall) else text_of(given)
        for rule in self.rules:
            if rule.match.search(subject):
                return rule.steps
        return (echo(given),)


ECHO: Final = Script()
"""Without rules every run echoes its input."""


def echo(given: Input) -> Say:
    """The step that says an input back."""
    return say_text(text_of(given))


def text_of(given: Input) -> str:
    """An input as one text: the prompt, the command line, or a tool's input as JSON."""
    match given:
        case Prompt(text=text):
            return text
        case ShellCommand(line=str(line)):
            return line
        case ShellCommand(argv=argv) if argv is not None:
            return shlex.join(argv)
        case ShellCommand(script=script):
            data = None if script is None else script.data
            return "" if data is None else data.decode(errors="replace")
        case ToolCall(input=value):
            return json.dumps(value, ensure_ascii=False)


def load_script(path: str | os.PathLike[str]) -> Script:
    """Read a script file.

    Raises: `ConfigError` with every problem by file, line and key.
    """
    name = os.fspath(path)
    return parse_script(read_text(name), name)


def parse_script(text: str, path: str) -> Script:
    """Read the text of a script that lies at `path`.

    Raises: `ConfigError`.
    """
    document = parse_toml(text, path)
    try:
        return read_script(document)
    except Flawed as error:
        lines = line_numbers(text)
        problems = [
            Problem(line_of(lines, flaw.path), place_of(flaw.path), flaw.message)
            for flaw in dict.fromkeys(error.flaws)
        ]
        raise ConfigError(path, sorted(problems, key=lambda each: each.line)) from None


@value
class _Document:
    when: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, Any] | None = None


@value
class _When:
    match: str
    do: Any


def read_script(document: Mapping[str, Any]) -> Script:
    """The script that a document describes, of what TOML or JSON can say.

    Raises: `Flawed`, with every problem.
    """
    raw = read(_Document, document, ())
    flaws: list[Flaw] = []
    rules: list[Rule] = []
    for at, table in enumerate(raw.when):
        try:
            rules.append(_rule(table, ("when", at)))
        except Flawed as error:
            flaws.extend(error.flaws)
    usage = None
    if raw.usage is not None:
        try:
            usage = _usage(raw.usage, ("usage",))
        except Flawed as error:
            flaws.extend(error.flaws)
    if flaws:
        raise Flawed(flaws)
    return Script(tuple(rules), usage)


def _rule(table: Mapping[str, Any], path: Path) -> Rule:
    raw = read(_When, table, path)
    flaws: list[Flaw] = []
    pattern = re.compile("")
    try:
        pattern = re.compile(raw.match)
    except re.error as error:
        flaws.append(Flaw((*path, "match"), f"is no regular expression: {error}"))
    try:
        steps = read_steps(raw.do, (*path, "do"))
    except Flawed as error:
        raise Flawed([*flaws, *error.flaws]) from None
    if flaws:
        raise Flawed(flaws)
    return Rule(pattern, steps)


USAGE_KEYS: Final = (
    "raw_output",
    "daily_limit",
    "daily_reset_time",
    "weekly_limit",
    "weekly_reset_time",
    "metadata",
    "delay_ms",
)
"""What `[usage]` may hold."""


def _usage(table: Mapping[str, Any], path: Path) -> UsageTable:
    for key in sorted(table.keys() - set(USAGE_KEYS)):
        raise Flawed([Flaw((*path, key), unknown_key(key, USAGE_KEYS))])
    delay = table.get("delay_ms", 0)
    if type(delay) is not int or not 0 <= delay <= MAX_SLEEP:
        said = f"expected milliseconds, 0 to {MAX_SLEEP}, got {named(delay)}"
        raise Flawed([Flaw((*path, "delay_ms"), said)])
    report = {key: value for key, value in table.items() if key != "delay_ms"}
    return UsageTable({key: read_json(report[key], (*path, key)) for key in report}, delay / 1000)
