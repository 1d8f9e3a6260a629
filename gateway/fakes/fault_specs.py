"""What is to go wrong, as `--fault` and the operation `fault` say it."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any, Final, Literal

import attrs

from fleetgate.gateway.config_reader import nearest
from fleetgate.transports.faults import Faults


@attrs.frozen(slots=True)
class Fault:
    """Make the links go wrong from now on, in place of what did; with no member: mend them."""

    drop_after: int | None = None
    delay_ms: int = 0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    truncate: float = 0.0
    lose_ack: float = 0.0
    half_open: bool = False
    slow_read: int | None = None
    byte_at_a_time: bool = False
    dir: Literal["in", "out", "both"] = "both"

    def faults(self) -> Faults:
        """The same for links.

        Raises: `ValueError`, which names what is out of range.
        """
        if self.dir != "both" and self == Fault(dir=self.dir):
            raise ValueError(ONLY_DIR)
        members = attrs.asdict(self)
        return Faults(direction=members.pop("dir"), **members)


ONLY_DIR: Final = "dir: it says which way a fault strikes, and there is none beside it"


class BadFault(ValueError):
    """A spec makes no sense; the text says why."""


_TYPES: Final[dict[str, Any]] = typing.get_type_hints(Fault)
_FLAGS: Final = frozenset(name for name, kind in _TYPES.items() if kind is bool)


def read_faults(specs: Sequence[str]) -> list[Faults]:
    """The faults of specs such as `drop_after=3,dir=out`. One that only says `dir` says it for
    those that do not.

    Raises: `BadFault`.
    """
    found = [_members(spec) for spec in specs]
    common = [each["dir"] for each in found if each.keys() == {"dir"}]
    if len(set(common)) > 1:
        raise BadFault(f"dir: {' and '.join(sorted(set(common)))} cannot both hold for all")
    rest: list[dict[str, Any]] = [each for each in found if each.keys() != {"dir"}]
    if common and not rest:
        raise BadFault(ONLY_DIR)
    default = common[0] if common else "both"
    try:
        return [_faults({"dir": default} | each) for each in rest]
    except ValueError as error:
        raise BadFault(str(error)) from None


def _faults(members: dict[str, Any]) -> Faults:
    return Fault(**members).faults()


def _members(spec: str) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for word in spec.split(","):
        name, equals, text = (part.strip() for part in word.partition("="))
        if name not in _TYPES:
            raise BadFault(f"{name or repr(word)}: no fault has this name; {nearest(name, _TYPES)}")
        if name in members:
            raise BadFault(f"{name}: it is there twice")
        members[name] = _value(name, bool(equals), text)
    return members


def _value(name: str, given: bool, text: str) -> Any:
    if name in _FLAGS:
        if given and text not in ("true", "false"):
            raise BadFault(f"{name}: expected true or false, or nothing behind it")
        return text != "false"
    if name == "dir":
        if text not in ("in", "out", "both"):
            raise BadFault(f"dir: expected in, out or both, got {text!r}")
        return text
    kind = float if _TYPES[name] is float else int
    try:
        return kind(text)
    except ValueError:
        words = "a probability from 0 to 1" if kind is float else "a whole number"
        raise BadFault(f"{name}: expected {words}, got {text!r}") from None
