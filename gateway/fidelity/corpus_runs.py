"""The corpus of how runs begin and end: specs with each kind of input, and outcomes."""

from __future__ import annotations

import hashlib
import time
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.times import SECOND
from fleetgate.gateway.fidelity.bridge import TOOL
from fleetgate.gateway.fidelity.corpus import Item, Make, Marks
from fleetgate.gateway.fidelity.values import DEFAULT, EXTREME, TYPICAL, Value, values_of

DAY: Final = 86_400 * SECOND


def _texts(*words: str) -> Make:
    named = [Value(TYPICAL if at == 0 else word, word) for at, word in enumerate(words)]
    return lambda token, number: named


def _script(token: str, number: int) -> list[Value]:
    typical, extreme = f"echo {token}\n".encode(), f"#{token}\n".encode() + bytes(range(256))
    return [
        Value(label, c.Script(len(data), hashlib.sha256(data).digest(), args, data))
        for label, data, args in ((TYPICAL, typical, ()), (EXTREME, extreme, ("a b", "", "é")))
    ]


def _argv(token: str, number: int) -> list[Value]:
    return [Value(TYPICAL, ("say", token)), Value(EXTREME, ("say", token, "", 'a "b" $c\n', "é"))]


def _messages(token: str, number: int) -> list[Value]:
    return [Value(TYPICAL, ({"role": "user", "content": token},))]


def _instants(token: str, number: int) -> list[Value]:
    return [Value(TYPICAL, time.time_ns() + DAY + number), Value(EXTREME, (1 << 63) - 1)]


def _durations(token: str, number: int) -> list[Value]:
    return [Value(TYPICAL, 3600 * SECOND + number * 1000), Value(EXTREME, 365 * DAY)]


_MAKES: Final[Mapping[tuple[type[Any], str], Make]] = {
    (c.RunSpec, "timeout"): _durations,
    (c.RunSpec, "expires"): _instants,
    (c.RunSpec, "permission"): _texts("edit", "read_only", "plan", "auto", "bypass"),
    (c.ShellCommand, "shell"): _texts("bash", "sh", "none"),
    (c.ShellCommand, "argv"): _argv,
    (c.ShellCommand, "script"): _script,
    (c.Prompt, "provider"): _texts("codex", "claude"),
    (c.Prompt, "messages"): _messages,
    (c.ToolCall, "name"): _texts(TOOL),
}
"""Members whose values have a meaning beyond their type."""

_EXCLUSIVE: Final = frozenset({"line", "argv", "script"})


def specs(marks: Marks) -> Iterator[Item]:
    """Runs with each member of a spec, and of each kind of input."""
    for field in attrs.fields(c.RunSpec):
        if field.name != "input":
            yield from _of(c.RunSpec, field, marks)
    for kind in typing.get_args(c.Input):
        for field in attrs.fields(kind):
            yield from _of(kind, field, marks)


def _of(kind: type[Any], field: attrs.Attribute[Any], marks: Marks) -> Iterator[Item]:
    make = _MAKES.get((kind, field.name)) or _typed(typing.get_type_hints(kind)[field.name])
    if field.default is not attrs.NOTHING and field.name not in _EXCLUSIVE:
        token, number = marks.next()
        default = getattr(_bare(kind, token), field.name)
        yield _spec(kind, field.name, Value(DEFAULT, default), token, number, token)
    for value, token, number in marks.values(make):
        sign, _ = marks.next()
        yield _spec(kind, field.name, value, token, number, sign)


def _bare(kind: type[Any], sign: str) -> Any:
    """The plainest of its kind that a worker can be given."""
    match kind:
        case c.Prompt:
            return c.Prompt(sign)
        case c.ShellCommand:
            return c.ShellCommand(argv=("say", sign))
        case c.ToolCall:
            return c.ToolCall(TOOL, {"word": sign})
        case _:
            return c.RunSpec(c.Prompt(sign))


_WHOLE: Final = frozenset(
    {(c.Prompt, "text"), (c.ToolCall, "input"), *((c.ShellCommand, each) for each in _EXCLUSIVE)}
)
"""Members that are all that an input says: their own token tells the run."""


def _spec(kind: type[Any], name: str, value: Value, token: str, number: int, sign: str) -> Item:
    bare = _bare(kind, sign)
    if name in _EXCLUSIVE:
        bare = attrs.evolve(bare, argv=None)
    subject = attrs.evolve(bare, **{name: value.value})
    path: tuple[str, ...] = (name,)
    if kind is not c.RunSpec:
        subject, path = c.RunSpec(subject), ("input", name)
    told_by = token if (kind, name) in _WHOLE else sign
    row = f"{kind.__name__}.{name}"
    return Item(row, value.label, subject, path, value.value, token, number, (), told_by)


# --- ends

_STATES: Final = {
    e.RunState.SUCCEEDED: e.Outcome(e.RunState.SUCCEEDED, e.Reason.EXITED, exit_code=0),
    e.RunState.FAILED: e.Outcome(e.RunState.FAILED, e.Reason.EXITED, exit_code=3),
    e.RunState.CANCELED: e.Outcome(e.RunState.CANCELED, e.Reason.CANCELED),
    e.RunState.LOST: e.Outcome(e.RunState.LOST, e.Reason.LOST),
}
_FAILED: Final = e.Outcome(e.RunState.FAILED, e.Reason.ERROR)
_DONE: Final = _STATES[e.RunState.SUCCEEDED]
_REASONS: Final = (e.Reason.CANCELED, e.Reason.LOST)
"""Reasons that go with a state of their own."""


def ends(marks: Marks) -> Iterator[Item]:
    """Ends of every state and reason, with each member of an outcome."""
    yield _end("", Value(TYPICAL, None), _DONE, *marks.next())
    for state, outcome in _STATES.items():
        yield _end("state", Value(state.value, state), outcome, *marks.next())
    for reason in e.Reason:
        if reason not in _REASONS:
            code = 3 if reason is e.Reason.EXITED else None
            outcome = attrs.evolve(_FAILED, reason=reason, exit_code=code)
            yield _end("reason", Value(reason.value, reason), outcome, *marks.next())
    hints = typing.get_type_hints(e.Outcome)
    for name, base in _BASES.items():
        default = attrs.fields_dict(e.Outcome)[name].default
        yield _end(name, Value(DEFAULT, default), base, *marks.next())
        make = _ENDS.get(name) or _typed(hints[name])
        for value, token, number in marks.values(make):
            outcome = attrs.evolve(base, **{name: value.value})
            yield _end(name, value, outcome, token, number)


def _typed(hint: Any) -> Make:
    return lambda token, number: values_of(hint, token, number)


_BASES: Final[Mapping[str, e.Outcome]] = {
    "message": _FAILED,
    "exit_code": attrs.evolve(_FAILED, reason=e.Reason.EXITED),
    "signal": _STATES[e.RunState.CANCELED],
    "text": _DONE,
    "native": _DONE,
}
"""The end that each member is tried with."""

_ENDS: Final[Mapping[str, Make]] = {
    "exit_code": lambda token, number: [
        Value(TYPICAL, 3),
        Value(EXTREME, (1 << 31) - 1),
        Value("-1", -1),
    ],
    "signal": _texts("SIGTERM", "SIGKILL"),
}


def _end(name: str, value: Value, outcome: e.Outcome, token: str, number: int) -> Item:
    row = f"RunFinished.{name}" if name else "RunFinished"
    path = ("outcome", name) if name else ()
    return Item(row, value.label, e.RunFinished(outcome), path, value.value, token, number)
