"""In which room a program is at a moment: what a profile is told by."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final

import fleetgate

_FOLDERS: Final = {
    f"{(Path(fleetgate.__file__).parent / room).resolve()}/": room
    for room in ("core", "gateway", "protocols", "schemas", "transports")
}
"""Where each room of ours is. In a checkout that is reached by links."""

TRIO: Final = "trio"
OTHER: Final = "other"

ROOMS: Final[tuple[str, ...]] = (
    "transports",
    "protocols",
    "core",
    "journal",
    "gateway",
    TRIO,
    OTHER,
)
"""`journal` is what of the core lies in its folder, with SQLite; `protocols` has the schemas. Time
of a library that is not trio is the room's that calls it."""

_MADE: Final = re.compile(r"<attrs generated .*? fleetgate\.([\w.]+)>")
"""The name of a file that attrs makes for a class, with where that is."""

_TRIO: Final = re.compile(r"/site-packages/(trio|outcome)/")


def place_of(frame: FrameType | None) -> tuple[str, str]:
    """The room of the innermost frame that has one, and the innermost function itself: with where
    it is, in words that are the same on each machine."""
    if frame is None:
        return OTHER, "nothing"
    # By words and not by the code: functions of two files that are written alike are equal.
    function, at = function_of(frame.f_code.co_filename, frame.f_code.co_qualname), frame
    while (room := room_of(at.f_code.co_filename)) is None:
        if at.f_back is None:
            return OTHER, function
        at = at.f_back
    return room, function


@cache
def room_of(name: str) -> str | None:
    """The room that a file's functions are in; None for one of a library."""
    if (where := _where(name)) is not None:
        return _room(where)
    return TRIO if _TRIO.search(name) else None


def _where(name: str) -> str | None:
    """The module of ours that a file is, or the class for which attrs made it."""
    if (made := _MADE.match(name)) is not None:
        return made[1]
    real = str(Path(name).resolve())
    for folder, room in _FOLDERS.items():
        if real.startswith(folder):
            return f"{room}.{_module(real.removeprefix(folder))}"
    return None


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _room(module: str) -> str:
    first = module.partition(".")[0]
    if module.startswith("core.journal."):
        return "journal"
    return "protocols" if first == "schemas" else first


@cache
def function_of(name: str, function: str) -> str:
    """What a function of a file is called."""
    where = _where(name)
    if where is None:
        _, installed, path = name.rpartition("/site-packages/")
        where = _module(path if installed else Path(path).name)
    return f"{where}.{function}"
