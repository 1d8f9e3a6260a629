"""In which room a function is."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import trio
from outcome import Value

from fleetgate.core import events as e
from fleetgate.core import run
from fleetgate.core.journal import rows
from fleetgate.gateway.bench.rooms import OTHER, ROOMS, TRIO, function_of, place_of, room_of
from fleetgate.protocols.agency import codec
from fleetgate.transports import framing


@pytest.mark.parametrize(
    ("function", "room", "name"),
    [
        (run.evolve, "core", "core.run.evolve"),
        (codec.decode_server, "protocols", "protocols.agency.codec.decode_server"),
        (framing.make_framer, "transports", "transports.framing.make_framer"),
        (room_of.__wrapped__, "gateway", "gateway.bench.rooms.room_of"),
        (rows.EventRows.__init__, "journal", "core.journal.rows.EventRows.__init__"),
        (e.TextProduced.__init__, "core", "core.events.TextProduced.__init__"),
        (trio.Event.set, TRIO, "trio._sync.Event.set"),
        (Value.send, TRIO, "outcome._impl.Value.send"),
        (json.loads, None, "__init__.loads"),
    ],
)
def test_a_function_is_in_the_room_that_its_file_is_in(
    function: Any, room: str | None, name: str
) -> None:
    assert room_of(function.__code__.co_filename) == room
    assert room is None or room in ROOMS
    assert function_of(function.__code__.co_filename, function.__code__.co_qualname) == name


def call(inner: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    return inner()


def at(path: str) -> Callable[[Callable[[], tuple[str, str]]], tuple[str, str]]:
    """The same function, as if it stood in another file."""
    return FunctionType(call.__code__.replace(co_filename=path), {})


def test_a_library_is_at_work_for_the_room_that_called_it() -> None:
    ours, json, loop = at(run.__file__), at("/usr/lib/json/decoder.py"), at(trio.__file__)

    def look() -> tuple[str, str]:
        return place_of(sys._getframe(1))

    assert ours(lambda: json(look)) == ("core", "decoder.call")
    assert ours(lambda: loop(lambda: json(look))) == (TRIO, "decoder.call")
    assert loop(lambda: ours(look)) == ("core", "core.run.call")


def test_where_nobody_of_ours_is_it_is_somewhere_else() -> None:
    assert place_of(None) == (OTHER, "nothing")
