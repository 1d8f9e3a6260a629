"""The steps of a script: a closed union of values, and how each is read from a table.

A step is a table with one key that says what it is. Wherever one comes from, a file or a
line of JSON, it is read here, strictly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs

from fleetgate.core.events import (
    ApprovalRequested,
    Event,
    ReasoningProduced,
    Stream,
    TextProduced,
    ToolCalled,
    ToolReturned,
    UsageReported,
)
from fleetgate.core.json import Json
from fleetgate.core.values import value
from fleetgate.gateway.config_reader import Flaw, Flawed, named, nearest, read
from fleetgate.gateway.local.bodies import split_text
from fleetgate.gateway.toml_lines import Path

MAX_REPEAT: Final = 1_000_000_000
"""Times that steps are repeated: years of work, and an integer that every platform has."""

MAX_SLEEP: Final = 86_400_000
"""Milliseconds of one sleep: a day, which no test waits for."""

MAX_EXIT: Final = 255
"""The largest exit code of a process."""

MAX_NESTED: Final = 32
"""Repeats in each other. A script needs two or three; each costs a frame of the stack."""


@value
class Say:
    """Report these events."""

    events: tuple[Event, ...]


@value
class Write:
    """Write to an output stream."""

    stream: Stream
    data: bytes


@value
class Ask:
    """Ask for an approval, and wait until it is resolved, whichever way."""

    request: ApprovalRequested


@value
class ReadInput:
    """Wait for one input (or for the end of the input), and confirm it."""


@value
class Sleep:
    """Wait for some seconds."""

    seconds: float


@value
class Repeat:
    """Do `steps` several times."""

    times: int
    steps: tuple[Step, ...]


@value
class Drop:
    """Cut the link to the controller, without a goodbye. The run goes on."""


@value
class Hang:
    """Do nothing more, until steps are appended."""


@value
class Finish:
    """End: well with exit code 0, else failed."""

    exit: int = 0
    text: str | None = None


@value
class Fail:
    """End with an error of the worker's own."""

    message: str


Step: TypeAlias = Say | Write | Ask | ReadInput | Sleep | Repeat | Drop | Hang | Finish | Fail


def say_text(text: str) -> Say:
    """The step that says a text, in as many events as it needs."""
    return Say(tuple(map(TextProduced, split_text(text))))


def read_steps(value: object, path: Path = (), depth: int = 0) -> tuple[Step, ...]:
    """Read a list of steps that stands at `path`.

    Raises: `Flawed` with everything that is wrong in it.
    """
    if not isinstance(value, list | tuple):
        raise Flawed([Flaw(path, f"expected an array of steps, got {named(value)}")])
    if depth > MAX_NESTED:
        raise Flawed([Flaw(path, f"repeats are nested at most {MAX_NESTED} deep")])
    flaws: list[Flaw] = []
    steps: list[Step] = []
    for at, table in enumerate(cast(Sequence[object], value)):
        try:
            steps.append(_read_step(table, (*path, at), depth))
        except Flawed as error:
            flaws.extend(error.flaws)
    if flaws:
        raise Flawed(flaws)
    for at, step in enumerate(steps[:-1]):
        if _ends(step):
            raise Flawed([Flaw((*path, at + 1), "nothing comes behind a step that ends the run")])
    return tuple(steps)


def _ends(step: Step) -> bool:
    match step:
        case Finish() | Fail():
            return True
        case Repeat(times=times, steps=steps):
            return times > 0 and bool(steps) and _ends(steps[-1])
        case _:
            return False


def place_of(path: Path) -> str:
    """A place in a script in words; what stands first in a list is number 1."""
    words = (f".{part}" if isinstance(part, str) else f"[{part + 1}]" for part in path)
    return "".join(words).removeprefix(".")


def _read_step(table: object, path: Path, depth: int) -> Step:
    if not isinstance(table, dict):
        raise Flawed([Flaw(path, f"expected a step as a table, got {named(table)}")])
    members = cast(dict[str, Any], table)
    if "repeat" in members:
        return _repeat(members, path, depth)
    if unknown := sorted(members.keys() - _READERS.keys()):
        hint = nearest(unknown[0], (*_READERS, "repeat"))
        raise Flawed([Flaw((*path, unknown[0]), f"no step has this name; {hint}")])
    if len(members) != 1:
        count = len(members)
        raise Flawed([Flaw(path, f"a step has exactly one key; this one has {count}")])
    ((key, value),) = members.items()
    return _READERS[key](value, (*path, key))


# --- each kind


def _repeat(members: dict[str, Any], path: Path, depth: int) -> Repeat:
    flaws = [
        Flaw((*path, key), f"goes with no repeat; {nearest(key, ('repeat', 'do'))}")
        for key in sorted(members.keys() - {"repeat", "do"})
    ]
    if "do" not in members:
        flaws.append(Flaw((*path, "do"), "is missing: the steps to repeat"))
    if flaws:
        raise Flawed(flaws)
    times = _number(members["repeat"], (*path, "repeat"), MAX_REPEAT)
    return Repeat(times, read_steps(members["do"], (*path, "do"), depth + 1))


def _number(value: object, path: Path, most: int) -> int:
    number = read(int, value, path)
    if not 0 <= number <= most:
        raise Flawed([Flaw(path, f"expected 0 to {most}")])
    return number


def _only_true(step: Step) -> Callable[[object, Path], Step]:
    def reader(value: object, path: Path) -> Step:
        if value is not True:
            raise Flawed([Flaw(path, "expected true; leave the step out otherwise")])
        return step

    return reader


def _text(value: object, path: Path) -> Step:
    return say_text(read(str, value, path))


def _reasoning(value: object, path: Path) -> Step:
    return Say(tuple(map(ReasoningProduced, split_text(read(str, value, path)))))


def _writes(stream: Stream) -> Callable[[object, Path], Step]:
    return lambda value, path: Write(stream, read(str, value, path).encode(errors="replace"))


@value
class _Call:
    name: str
    input: Any = None
    id: str | None = None


def _tool_call(value: object, path: Path) -> Step:
    raw = read(_Call, value, path)
    return Say((ToolCalled(raw.name, read_json(raw.input, (*path, "input")), raw.id),))


@value
class _Result:
    output: str
    ok: bool | None = None
    id: str | None = None


def _tool_result(value: object, path: Path) -> Step:
    raw = read(_Result, value, path)
    pieces = list(split_text(raw.output)) or [""]
    return Say(tuple(ToolReturned(piece, raw.ok, raw.id) for piece in pieces))


@value
class _Approval:
    id: str = attrs.field(metadata={"minLength": 1})
    title: str = ""
    detail: Any = None


def _approval(value: object, path: Path) -> Step:
    raw = read(_Approval, value, path)
    if not raw.id:
        raise Flawed([Flaw((*path, "id"), "expected a name, got nothing")])
    detail = read_json(raw.detail, (*path, "detail"))
    return Ask(ApprovalRequested(raw.id, raw.title or raw.id, detail))


@value
class _Usage:
    input_tokens: int | None = attrs.field(default=None, metadata={"minimum": 0})
    output_tokens: int | None = attrs.field(default=None, metadata={"minimum": 0})
    detail: Any = None


def _usage(value: object, path: Path) -> Step:
    raw = read(_Usage, value, path)
    for key in ("input_tokens", "output_tokens"):
        count = getattr(raw, key)
        if count is not None and count < 0:
            raise Flawed([Flaw((*path, key), "expected 0 or more")])
    detail = read_json(raw.detail, (*path, "detail"))
    return Say((UsageReported(raw.input_tokens, raw.output_tokens, detail),))


def _sleep(value: object, path: Path) -> Step:
    return Sleep(_number(value, path, MAX_SLEEP) / 1000)


@value
class _Finish:
    exit: int = attrs.field(default=0, metadata={"minimum": 0, "maximum": MAX_EXIT})
    text: str | None = None


def _finish(value: object, path: Path) -> Step:
    raw = read(_Finish, value, path)
    return Finish(_number(raw.exit, (*path, "exit"), MAX_EXIT), raw.text)


def _fail(value: object, path: Path) -> Step:
    return Fail(read(str, value, path))


_READERS: Final[Mapping[str, Callable[[object, Path], Step]]] = {
    "text": _text,
    "reasoning": _reasoning,
    "stdout": _writes(Stream.STDOUT),
    "stderr": _writes(Stream.STDERR),
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "approval": _approval,
    "usage": _usage,
    "read_input": _only_true(ReadInput()),
    "sleep_ms": _sleep,
    "drop": _only_true(Drop()),
    "hang": _only_true(Hang()),
    "finish": _finish,
    "fail": _fail,
}


SHAPES: Final[Mapping[str, Any]] = {
    "text": str,
    "reasoning": str,
    "stdout": str,
    "stderr": str,
    "tool_call": _Call,
    "tool_result": _Result,
    "approval": _Approval,
    "usage": _Usage,
    "read_input": True,
    "sleep_ms": int,
    "drop": True,
    "hang": True,
    "finish": _Finish,
    "fail": str,
}
"""What stands behind the key of each step but `repeat`: for the schema of scripts."""


def read_json(value: object, path: Path) -> Json:
    """A free-form value as JSON has it.

    Raises: `Flawed` for what JSON has not, such as a date.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            items = cast(Sequence[object], value)
            return tuple(read_json(item, (*path, at)) for at, item in enumerate(items))
        case Mapping():
            members = cast(Mapping[str, object], value)
            return {key: read_json(member, (*path, key)) for key, member in members.items()}
        case _:
            raise Flawed([Flaw(path, f"JSON has no {type(value).__name__}; write a string")])


def unrolled(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps with their repeats carried out, one at a time: nothing is copied."""
    for step in steps:
        if isinstance(step, Repeat):
            for _ in range(step.times):
                yield from unrolled(step.steps)
        else:
            yield step
