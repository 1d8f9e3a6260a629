"""Requests between wire and core, both ways. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.core.adaptation import rewrite
from fleetgate.core.commands import RunSpec, ShellCommand, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.ids import SessionId, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.times import nanos
from fleetgate.core.worker import InputKind, WorkerInfo
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.go_json import unspelt
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.kodelet.tools import CommandSettings, ToolSettings

NATIVE: Final = "kodelet"
COMMAND: Final = "command.execute"
"""A tool call of this name is a slash command: its input's `message` is what is said."""

INPUTS: Final = frozenset({InputKind.TOOL, InputKind.SHELL})
_SHELLS: Final = ("", "bash", "none")
_OTHER_SHELLS: Final = ("sh", "zsh")
_LONGEST_TIMEOUT: Final = 24 * 3600

# --- what a control plane asks of a runner


@attrs.frozen(slots=True)
class CallTool:
    """`tool.execute`."""

    name: str
    input: Json


@attrs.frozen(slots=True)
class SayCommand:
    """`command.execute`."""

    message: str


Ask: TypeAlias = CallTool | SayCommand


def from_spec(spec: RunSpec, bash: str) -> Ask:
    """What a run asks a runner for.

    Raises: `UnsupportedInput`, whose text names the setting that would help.
    """
    match spec.input:
        case ToolCall(name=name, input=given) if name == COMMAND:
            return _command(given)
        case ToolCall(name=name, input=given):
            return CallTool(name, {} if given is None else given)
        case ShellCommand():
            return CallTool(bash, _bash(spec, spec.input))
        case _:
            raise UnsupportedInput(
                "a runner executes tools and has no model of its own; set for example "
                'adapt = { prompt = { tool = "bash", input = { command = "claude -p {prompt}" } } }'
                ", or for slash commands "
                f'{{ tool = "{COMMAND}", input = {{ message = "{{prompt}}" }} }}, on the route'
            )


def _command(given: Json) -> SayCommand:
    message = given.get("message") if isinstance(given, Mapping) else None
    if not isinstance(message, str) or not message.startswith("/"):
        raise UnsupportedInput(
            f"{COMMAND} needs an input.message that begins with a slash: any other text is a "
            "prompt for a model, which a runner has not; adapt it to a tool on the route"
        )
    return SayCommand(message)


def _bash(spec: RunSpec, command: ShellCommand) -> Json:
    if command.stdin:
        raise UnsupportedInput(
            "a runner's shell tool takes no standard input; put {stdin} into the route's `adapt`"
        )
    lines = [_export(name, text) for name, text in spec.environment.items()]
    place = command.cwd or next(iter(spec.workspace), "")
    if place:
        lines.append(f"cd {shlex.quote(place)} || exit")
    text = "\n".join([*lines, _line(command)])
    given: dict[str, Json] = {"command": text, "description": "Run a command"}
    if spec.timeout is not None:
        given["timeout"] = min(max(1, -(-spec.timeout // nanos(1))), _LONGEST_TIMEOUT)
    return given


_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _export(name: str, text: str) -> str:
    """The name cannot be quoted, and whoever sends a run may not add to its command by it."""
    if not _VARIABLE.fullmatch(name):
        raise UnsupportedInput(
            f"the environment variable {name!r} has no name that a shell can export; rename it, "
            "or leave it out"
        )
    return f"export {name}={shlex.quote(text)}"


def _line(command: ShellCommand) -> str:
    if command.argv is not None:
        return shlex.join(command.argv)
    if command.line is None:
        raise UnsupportedInput(
            "a runner's shell tool takes no uploaded script; send a line or argv instead"
        )
    if command.shell in _SHELLS:
        return command.line
    if command.shell in _OTHER_SHELLS:
        return f"{command.shell} -c {shlex.quote(command.line)}"
    raise UnsupportedInput(
        f"a runner's shell tool is no {command.shell}; leave the shell out, or name sh, bash or zsh"
    )


def conversation_of(spec: RunSpec, run_id: str) -> str:
    """The conversation that a run belongs to: its session's, its own from an earlier hop, or
    one that nobody shares."""
    if spec.session:
        return spec.session
    kept = spec.native.get(NATIVE)
    named = kept.get("conversationId") if isinstance(kept, Mapping) else None
    return named if isinstance(named, str) and named else f"conversation_{run_id}"


def worker_id(link: str, runner_id: str) -> WorkerId:
    """The worker that a runner of this id is."""
    return WorkerId(f"{link}/{runner_id}")


def to_worker(link: str, runner_id: str, asked: wire.Register) -> WorkerInfo:
    """A runner as a worker. Its link's end is its runs' end (W 13.1)."""
    detail: Any = _short(write(attrs.evolve(asked, runner_id="", manifest_digest="")))
    return WorkerInfo(worker_id(link, runner_id), link, INPUTS, instance="", grace=0, detail=detail)


_SHOWN: Final = 1024
"""Bytes of a text, and items of a list, in a registration that are kept: it is with us for good."""


def _short(value: Json) -> Json:
    if isinstance(value, str):
        return wire.cut(value, _SHOWN)
    if isinstance(value, Mapping):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [_short(each) for each in value[:_SHOWN]]
    return value


# --- what a runner is asked for


ANYWHERE: Final = "/"
"""The workspace of a runner that is bound to none: its runs work wherever their worker does."""


def to_spec(
    tool: ToolSettings | CommandSettings,
    given: Json,
    opened: wire.RunOpen,
    call: str,
    settings: RunnerSettings,
) -> RunSpec:
    """The run that a call starts.

    Raises: `UnsupportedInput` where the tool's template wants what the input has not.
    """
    spec = RunSpec(
        ToolCall(tool.name, unspelt(given)),
        workspace=() if settings.workspace == ANYWHERE else (settings.workspace,),
        timeout=_timeout(given) if isinstance(tool, ToolSettings) else None,
        approvals=opened.client_capabilities.interactive_ui,
        session=SessionId(opened.conversation_id),
        labels={"conversation": opened.conversation_id, "kodelet_tool": tool.name},
        native={NATIVE: _kept(opened, call)},
    )
    return rewrite(tool.adaptation(), spec)


def _timeout(given: Json) -> int | None:
    """Seconds that the caller allows, where the tool's input says so as the genuine `bash`
    does."""
    seconds = given.get("timeout") if isinstance(given, Mapping) else None
    if type(seconds) is int and 0 < seconds <= _LONGEST_TIMEOUT:
        return nanos(seconds)
    return None


def _kept(opened: wire.RunOpen, call: str) -> Json:
    return {
        "runId": opened.run_id,
        "conversationId": opened.conversation_id,
        "toolCallId": call,
        "agent": write(opened.agent),
    }
