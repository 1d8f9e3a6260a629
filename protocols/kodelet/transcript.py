"""What a run said, as the result of the call that started it (W 11.3). No I/O, no clock.

`Transcript` is told a run's events and keeps their text up to a bound. The text only grows,
so that snapshots of it go on where the last one ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, RunState
from fleetgate.core.json import Json
from fleetgate.core.times import SECOND
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import go_json, wire
from fleetgate.protocols.kodelet.translate import NATIVE
from fleetgate.protocols.kodelet.translate_events import exit_text, read_executed
from fleetgate.protocols.utf8 import streams

DISPLAY_LIMIT: Final = 131_072
"""Bytes of `displayOutput`, its marker included (W 11.3)."""
MARKER: Final = "\n\n[output truncated for remote display]"
_DROPPED: Final = "\n\n[output beyond this was dropped]"
_SHELL: Final = "bash"


class Transcript:
    """The text of one run: `said` is all of it, `answer` without the agent's own doings."""

    def __init__(self, limit: int) -> None:
        self._room = {"said": limit, "answer": limit}
        self._parts: dict[str, list[str]] = {"said": [], "answer": []}
        self._texts = streams()

    @property
    def said(self) -> str:
        """Everything."""
        return self._joined("said")

    @property
    def answer(self) -> str:
        """What the agent said and the process wrote."""
        return self._joined("answer")

    def _joined(self, which: str) -> str:
        parts = self._parts[which]
        if len(parts) > 1:
            parts[:] = ["".join(parts)]
        return parts[0] if parts else ""

    def tell(self, event: e.Event) -> bool:
        """Take an event; whether it brought text."""
        match event:
            case e.TextProduced(text=text):
                return self._both(text)
            case e.OutputProduced(stream=stream, data=data):
                return self._both(self._texts[stream].decode(data))
            case e.MessageEnded():
                return self._put("said", "\n")
            case e.ReasoningProduced(text=text) | e.ToolProgressed(text=text):
                return self._put("said", text)
            case e.ToolCalled(name=name, input=given):
                shown = "" if given is None else f" {go_json.dump(given)}"
                return self._put("said", f"\n[{name}]{shown}\n")
            case e.ToolReturned(output=output):
                return self._put("said", f"{output}\n")
            case e.GapFound(from_seq=first, to_seq=last, reason=reason):
                return self._both(f"\n[events {first} to {last} are missing: {reason}]\n")
            case _:
                return False

    def _both(self, text: str) -> bool:
        self._put("answer", text)
        return self._put("said", text)

    def _put(self, which: str, text: str) -> bool:
        room = self._room[which]
        if not text or room < 0:
            return False
        size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        self._room[which] = room - size
        if size > room:
            text = wire.cut(text, room) + _DROPPED
        self._parts[which].append(text)
        return True


def display(text: str) -> str:
    """A text as `displayOutput`: whole, or cut with the marker behind it."""
    if len(text.encode("utf-8", "replace")) <= DISPLAY_LIMIT:
        return text
    return wire.cut(text, DISPLAY_LIMIT - len(MARKER)) + MARKER


@attrs.frozen(slots=True)
class Work:
    """What was called, and when it began (Unix nanoseconds)."""

    name: str
    input: Json
    workspace: str
    began: int


def stamp(now: int) -> str:
    """An instant as RFC 3339 has it, in whole seconds."""
    return datetime.fromtimestamp(now // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def snapshot(work: Work, text: str, now: int) -> wire.ToolResult:
    """What was said so far, as an update carries it."""
    return _result(work, text, text, None, now)


def conclude(work: Work, transcript: Transcript, outcome: Outcome, now: int) -> wire.ToolExecuted:
    """The result of a call whose run has ended. One that another runner gave goes on as it is."""
    kept = _kept(outcome)
    if kept is not None:
        return kept
    answer = outcome.text or transcript.answer
    failure = _failure(outcome)
    result = _result(work, answer, transcript.said, failure, now, outcome.exit_code)
    return wire.ToolExecuted(given(work.input), result)


def refuse(name: str, input: Json, message: str, now: int) -> wire.ToolExecuted:
    """The result of a call that started nothing: a failure in-band (W 11.3)."""
    result = _result(Work(name, input, "", now), "", "", message, now)
    structured = attrs.evolve(result.structured, metadata=None, metadata_type="")
    return wire.ToolExecuted(given(input), attrs.evolve(result, structured=structured))


def given(input: Json) -> Json:
    """A call's input as it is given back."""
    return {} if input is None else input


def _kept(outcome: Outcome) -> wire.ToolExecuted | None:
    native = outcome.native
    kept: Any = native.get(NATIVE) if isinstance(native, Mapping) else None
    if not isinstance(kept, dict) or "result" not in kept:
        return None
    try:
        return read_executed(kept)
    except Malformed:
        return None


def _failure(outcome: Outcome) -> str | None:
    if outcome.state is RunState.SUCCEEDED:
        return None
    if outcome.message:
        return outcome.message
    if outcome.exit_code is not None:
        return exit_text(outcome.exit_code)
    return f"the run ended as {outcome.state.value}"


def _result(
    work: Work, answer: str, said: str, failure: str | None, now: int, exit_code: int | None = None
) -> wire.ToolResult:
    body = f"<result>\n{answer or '(No output)'}\n</result>\n"
    if failure is not None:
        error = f"<error>\n{failure}\n</error>\n"
        body = error + body if answer else error
    shell = work.name == _SHELL
    return wire.ToolResult(
        body,
        "" if shell else display(said),
        failure or "",
        wire.Structured(
            work.name,
            failure is None,
            failure or "",
            "bash" if shell else "",
            _bash(work, answer, failure, now, exit_code) if shell else None,
            stamp(now),
        ),
    )


def _bash(work: Work, output: str, failure: str | None, now: int, exit_code: int | None) -> Json:
    command = work.input.get("command") if isinstance(work.input, Mapping) else None
    code = exit_code if exit_code is not None else int(failure is not None)
    return {
        "command": command if isinstance(command, str) else "",
        "exitCode": code,
        "output": output,
        "executionTime": max(0, now - work.began),
        "workingDir": work.workspace,
    }
