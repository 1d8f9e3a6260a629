"""What each `ui.*` request carries (W 12.1), to read it: bad JSON types are refused (W 12.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from fleetgate.core.json import Json
from fleetgate.core.values import value
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet.structs import read
from fleetgate.protocols.kodelet.wire import Question
from fleetgate.protocols.strict import U64, expect

_PERCENT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)%", re.ASCII)

# --- the interactive ones


@value
class _Input:
    id: str = ""
    title: str = ""
    help_text: str = ""
    message: str = ""
    placeholder: str = ""
    default_value: str = ""
    submit_button_text: str = ""
    cancel_button_text: str = ""
    required: bool = False
    secret: bool = False


@value
class _Confirm:
    id: str = ""
    title: str = ""
    message: str = ""
    confirm_button_text: str = ""
    cancel_button_text: str = ""


@value
class _Select:
    id: str = ""
    title: str = ""
    message: str = ""
    options: tuple[str, ...] | None = None
    submit_button_text: str = ""
    cancel_button_text: str = ""


@value
class _Notify:
    title: str = ""
    message: str = ""


# --- the persistent ones


@value
class _Style:
    foreground: str = ""
    background: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strikethrough: bool = False
    reverse: bool = False


@value
class _Span:
    text: str = ""
    style: _Style = _Style()


@value
class _Line:
    spans: tuple[_Span, ...] | None = None


@value
class _Frame:
    sequence: U64 = 0
    lines: tuple[Json, ...] | None = None

    def __attrs_post_init__(self) -> None:
        for line in self.lines or ():
            if not isinstance(line, str):
                read(_Line, line)


@value
class _Margin:
    top: int = 0
    right: int = 0
    bottom: int = 0
    left: int = 0


@value
class _Options:
    width: Json = None
    height: Json = None
    max_width: Json = None
    max_height: Json = None
    anchor: str = ""
    offset_x: int = 0
    offset_y: int = 0
    margin: _Margin = _Margin()
    non_capturing: bool = False

    def __attrs_post_init__(self) -> None:
        for size in (self.width, self.height, self.max_width, self.max_height):
            _check_size(size)


def _check_size(size: Json) -> None:
    """Cells, or a part of what there is."""
    if isinstance(size, str):
        found = _PERCENT.fullmatch(size)
        good = found is not None and 0 < float(found[1]) <= 100
    else:
        good = size is None or (type(size) is int and size > 0)
    if not good:
        raise expect('a number of cells, a percentage such as "75%" or null', size)


@value
class _Widget:
    scope_id: str = ""
    id: str = ""
    placement: str = ""
    frame: _Frame = _Frame()


@value
class _Shown:
    scope_id: str = ""
    id: str = ""
    frame: _Frame = _Frame()


@value
class _Gone:
    scope_id: str = ""
    id: str = ""
    sequence: U64 = 0


@value
class _Append:
    scope_id: str = ""
    title: str = ""
    message: str = ""


@value
class _Surface:
    scope_id: str = ""
    id: str = ""
    options: _Options = _Options()
    frame: _Frame = _Frame()


_QUESTIONS: Final[Mapping[str, type[Any]]] = {
    "ui.input": _Input,
    "ui.confirm": _Confirm,
    "ui.select": _Select,
    "ui.notify": _Notify,
}
_PERSISTENT: Final[Mapping[str, type[Any]]] = {
    "ui.widget.set": _Widget,
    "ui.widget.frame": _Shown,
    "ui.widget.remove": _Gone,
    "ui.transcript.append": _Append,
    "ui.surface.open": _Surface,
    "ui.surface.frame": _Shown,
    "ui.surface.close": _Gone,
}


def read_question(method: str, request: Json) -> Question | None:
    """The question of an interactive method; None for a persistent one, whose request is only
    checked: it is answered in one way whatever it says.

    Raises: `Malformed`.
    """
    try:
        if method in _PERSISTENT:
            read(_PERSISTENT[method], request)
            return None
        members = read(_QUESTIONS[method], request)
    except Malformed as error:
        raise Malformed(f"request: {error}") from None
    return Question(**attrs.asdict(members, recurse=False))
