"""Events between wire and core, both ways: what a tool says, and how it ended. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fleetgate.core.events import (
    MAX_BODY,
    Diagnosed,
    Event,
    Outcome,
    OutputProduced,
    Reason,
    RunState,
    Stream,
    TextProduced,
)
from fleetgate.core.json import Json
from fleetgate.protocols.kodelet import go_json, metadata, wire
from fleetgate.protocols.kodelet.errors import RESULT_TOO_LARGE, RpcError
from fleetgate.protocols.kodelet.structs import read, write
from fleetgate.protocols.kodelet.translate import NATIVE

MAX_NATIVE: Final = 64 * 1024
"""Bytes of a tool's result that are kept with the outcome; a longer one is left out, and said."""

_WRAPPED: Final = re.compile(r"<(result|error)>\n(.*)\n</\1>\n", re.DOTALL)
_NO_OUTPUT: Final = "(No output)"
_PIECE: Final = MAX_BODY // 4
"""Characters that surely fit into an event's body."""

UNCERTAIN: Final = (
    "runner tool response was not received; execution may have started and side effects are "
    "uncertain: "
)


def read_executed(value: Any) -> wire.ToolExecuted:
    """The result of a `tool.execute`; null is an empty one (W 11.3).

    Raises: `Malformed`.
    """
    executed = read(wire.ToolExecuted, value)
    metadata.check(executed.result.structured)
    return executed


def read_update(value: Any) -> wire.ToolUpdate:
    """A `tool.update`. Raises: `Malformed`."""
    update = read(wire.ToolUpdate, value)
    metadata.check(update.result.structured)
    return update


class Shown:
    """What was shown of a tool's output, told from snapshots of all of it."""

    def __init__(self, *, shell: bool) -> None:
        self.shell = shell
        self._text = ""
        self._offset = 0

    def news(self, result: wire.ToolResult) -> tuple[Event, ...]:
        """What a newer snapshot adds. One that does not go on where the last one ended is shown
        whole, on a line of its own."""
        return self.said(text_of(result))

    def said(self, text: str) -> tuple[Event, ...]:
        """As `news`, of the text itself."""
        old, self._text = self._text, text
        if text.startswith(old):
            fresh = text[len(old) :]
        else:
            fresh = text if old.endswith("\n") else f"\n{text}"
        if 0 < len(fresh) <= _PIECE:
            return (self._event(fresh),)
        return tuple(self._event(fresh[at : at + _PIECE]) for at in range(0, len(fresh), _PIECE))

    def _event(self, piece: str) -> Event:
        if not self.shell:
            return TextProduced(piece)
        data = piece.encode("utf-8", "replace")
        offset = self._offset
        self._offset += len(data)
        return OutputProduced(Stream.STDOUT, data, offset)


def text_of(result: wire.ToolResult) -> str:
    """What a result says, for people: a command's own output where there is one."""
    about = result.structured.metadata
    if result.structured.metadata_type == "bash" and isinstance(about, Mapping):
        output = go_json.member(about, "output")
        if isinstance(output, str):
            return output
    if result.display_output:
        return result.display_output
    return unwrapped(result.assistant_facing)


def unwrapped(text: str) -> str:
    """What a model is told of a tool, without what the genuine runner puts around it."""
    wrapped = _WRAPPED.fullmatch(text)
    inside = text if wrapped is None else wrapped[2]
    return "" if inside == _NO_OUTPUT else inside


def to_outcome(executed: wire.ToolExecuted, *, shell: bool) -> tuple[Outcome, tuple[Event, ...]]:
    """How a run ended whose tool has answered, and what is to be said before that."""
    result = executed.result
    failed = bool(result.error) or not result.structured.success
    native, said = _native(executed)
    exit_code = _exit_code(result) if shell else None
    outcome = Outcome(
        RunState.FAILED if failed else RunState.SUCCEEDED,
        Reason.ERROR if failed and not shell else Reason.EXITED,
        _message(result, exit_code) if failed else "",
        exit_code=exit_code,
        text=None if shell else text_of(result)[:_PIECE],
        native=native,
    )
    return outcome, said


def _message(result: wire.ToolResult, exit_code: int | None) -> str:
    """What went wrong. A command's exit code says it by itself, and needs no words."""
    said = wire.cut(result.error or result.structured.error)
    if exit_code and exit_code > 0:
        return "" if said == exit_text(exit_code) else said
    return said or "the tool failed"


def exit_text(code: int) -> str:
    """What a failure is called of which nothing but the exit code is known."""
    return f"exit code {code}"


def _native(executed: wire.ToolExecuted) -> tuple[Json, tuple[Event, ...]]:
    written: Any = go_json.unspelt(write(executed))
    size = len(go_json.dump(written))
    if size <= MAX_NATIVE:
        return {NATIVE: written}, ()
    text = f"the tool's own result of {size} bytes is not kept; its text is"
    return None, (Diagnosed(text, "result_not_kept"),)


def _exit_code(result: wire.ToolResult) -> int | None:
    about = result.structured.metadata
    code = go_json.member(about, "exitCode") if isinstance(about, Mapping) else None
    if type(code) is int:
        return code
    return 0 if result.structured.success and not result.error else None


def from_error(error: RpcError) -> Outcome:
    """How a run ended whose tool came to no answer of its own (W 11.3)."""
    code = RESULT_TOO_LARGE if error.reason == RESULT_TOO_LARGE else str(error.code)
    native: Json = {NATIVE: {"error": {"code": error.code, "message": error.message[:_PIECE]}}}
    text = f"the runner answered {code}: {error.message[:_PIECE]}"
    return Outcome(RunState.FAILED, Reason.ERROR, text, native=native)


def to_command_outcome(value: Any) -> tuple[Outcome, tuple[Event, ...]]:
    """How a slash command ended, and what it said. Raises: `Malformed`."""
    result = read(wire.CommandResult, value)
    if result.matched and result.action == "respond":
        ended = Outcome(RunState.SUCCEEDED, Reason.EXITED, text=result.response[:_PIECE])
        return ended, Shown(shell=False).said(result.response)
    if not result.matched:
        text = "the runner has no such command"
    else:
        text = (
            f"the command wants an agent ({wire.cut(result.action, 64)}), and a runner has no "
            "model; route its prompt to an agent, or adapt it to a tool"
        )
    return Outcome(RunState.FAILED, Reason.REFUSED, text), ()
