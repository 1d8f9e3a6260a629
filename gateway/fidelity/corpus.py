"""Everything that can be said, asked for and ordered: each member at each of its values.

Generated from the core's own classes, so that a new kind or member is in it from the start.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import RunId
from fleetgate.gateway.fidelity.values import DEFAULT, TYPICAL, Value, values_of

RUN: Final = RunId("r")
"""In place of a run's id, in orders."""

APPROVAL: Final = "a1"
ASKED: Final = e.ApprovalRequested(APPROVAL, "May I?")

Make: TypeAlias = Callable[[str, int], list[Value]]
"""A member's values, around a token and a number."""


@attrs.frozen(slots=True)
class Item:
    """One thing to try: `subject` is an event, an order, or a run's spec; `path` leads to the
    member that is looked at, and is empty for the kind itself. `before`: what the worker says
    first. `token` and `number` are recognised wherever they arrive. `sign` is in the input of
    the run that a spec makes, and tells its start at the worker; empty: the token is."""

    row: str
    label: str
    subject: Any
    path: tuple[str, ...]
    value: Any
    token: str
    number: int
    before: tuple[e.Event, ...] = ()
    sign: str = ""

    @property
    def name(self) -> str:
        """The item by its own name, which no other has."""
        return f"{self.token}-{self.label}"


def at(subject: Any, path: tuple[str, ...]) -> Any:
    """The member that a path leads to."""
    for name in path:
        subject = getattr(subject, name)
    return subject


class Marks:
    """Tokens and numbers, no two alike."""

    def __init__(self, first: int = 1) -> None:
        self._numbers = count(first)

    def next(self) -> tuple[str, int]:
        """Another token with its number."""
        number = next(self._numbers)
        return f"item{number:04}z", 7_000_000 + number

    def values(self, make: Make) -> Iterator[tuple[Value, str, int]]:
        """The values of a member, each around marks of its own."""
        for index in range(len(make("", 0))):
            token, number = self.next()
            yield make(token, number)[index], token, number


def _exactly(*values: Any) -> Make:
    first, *others = values
    named = [Value(TYPICAL, first)]
    named += [Value(str(getattr(each, "value", each)), each) for each in others]
    return lambda token, number: named


_OWN: Final[Mapping[tuple[type[Any], str], Make]] = {
    (e.StateChanged, "state"): _exactly(e.RunState.RUNNING, e.RunState.FINISHING),
    (e.ApprovalResolved, "approval"): _exactly(APPROVAL),
    (e.InputAccepted, "through"): _exactly(1, 2),
    (e.GapFound, "from_seq"): lambda token, number: [Value(TYPICAL, number)],
    (c.ResolveApproval, "approval"): _exactly(APPROVAL),
    (c.ResizeTerminal, "rows"): _exactly(24, 65_535),
    (c.ResizeTerminal, "columns"): _exactly(80, 65_535),
}
"""Members whose values have a meaning beyond their type."""

_BESIDE: Final[Mapping[tuple[type[Any], str], Mapping[str, Any]]] = {
    (e.ApprovalResolved, "value"): {"decision": e.Decision.VALUE},
    (c.ResolveApproval, "value"): {"decision": e.Decision.VALUE},
    (e.GapFound, "to_seq"): {"from_seq": 1},
}
"""What else a member's value goes with."""

_ALONE: Final = frozenset({e.RunAssigned, e.RunFinished})
"""The first is the gateway's own; the last has a corpus of its own."""

ORDERS: Final[Mapping[type[Any], tuple[e.Event, ...]]] = {
    c.SendInput: (),
    c.CloseInput: (),
    c.SignalRun: (),
    c.CancelRun: (),
    c.ResizeTerminal: (),
    c.ResolveApproval: (ASKED,),
}
"""Orders to a run at work, and what its worker says before."""


def events(marks: Marks) -> Iterator[Item]:
    """Each kind of event that a worker reports before the end."""
    for kind in typing.get_args(e.Event):
        if kind not in _ALONE:
            before = (ASKED,) if kind is e.ApprovalResolved else ()
            yield from _items(kind, marks, before)


def orders(marks: Marks) -> Iterator[Item]:
    """Each kind of order."""
    for kind, before in ORDERS.items():
        yield from _items(kind, marks, before)


def _items(kind: type[Any], marks: Marks, before: tuple[e.Event, ...]) -> Iterator[Item]:
    token, number = marks.next()
    whole = kind(**{name: make(token, number)[0].value for name, make in _makes(kind).items()})
    yield Item(kind.__name__, TYPICAL, whole, (), None, token, number, before)
    for name, make in _makes(kind).items():
        default = attrs.fields_dict(kind)[name].default
        if name in ("run", "scope"):  # a session's runs are cancelled one by one
            continue
        if default is not attrs.NOTHING:
            yield _item(kind, name, Value(DEFAULT, default), *marks.next(), marks, before)
        for value, token, number in marks.values(make):
            yield _item(kind, name, value, token, number, marks, before)


def _item(
    kind: type[Any],
    name: str,
    value: Value,
    token: str,
    number: int,
    marks: Marks,
    before: tuple[e.Event, ...],
) -> Item:
    """An item with one member's value, beside the typical ones of those that must be there."""
    beside = marks.next()
    required = [each.name for each in attrs.fields(kind) if each.default is attrs.NOTHING]
    given = {each: _makes(kind)[each](*beside)[0].value for each in required}
    subject = kind(**{**given, **_BESIDE.get((kind, name), {}), name: value.value})
    row = f"{kind.__name__}.{name}"
    return Item(row, value.label, subject, (name,), value.value, token, number, before)


def _makes(kind: type[Any]) -> dict[str, Make]:
    hints = typing.get_type_hints(kind)
    return {
        field.name: _OWN.get((kind, field.name)) or _by_type(hints[field.name], field.name)
        for field in attrs.fields(kind)
    }


def _by_type(hint: Any, name: str) -> Make:
    if name == "run":
        return _exactly(RUN)
    return lambda token, number: values_of(hint, token, number)
