"""Making what is too large for a frame fit, and saying so (section 11, daemon, number 4).

A genuine daemon drops the connection instead, again and again at the same event. Sizes
are bytes on the wire, escapes counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

import attrs

from fleetgate.core.json import Json
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.encode import size_of, written
from fleetgate.protocols.json_text import quote

MARK: Final = "…(truncated)"
"""What a cut text ends with; providers' own cuts end so too."""

NAME_ROOM: Final = 16 * 1024
"""What a name, a title or an id may take of a frame that is too large: the rest is for the
part that people read."""

_NOTE: Final = "left out, the event would not fit into a frame"


def shorten(event: w.RunEvent, room: int) -> w.RunEvent:
    """The event with its longest parts cut so that its payload takes at most `room` bytes
    and some brackets. One that fits comes back equal."""
    match event:
        case w.Text() | w.Reasoning() | w.Failed() | w.ErrorEvent():
            return attrs.evolve(event, payload=cut(event.payload, room))
        case w.ToolResult(output=output):
            left = room - NAME_ROOM
            return attrs.evolve(event, id=_cut_name(event.id), output=cut(output, left))
        case w.ToolCall(id=id, name=name, input=input):
            left = room - 2 * NAME_ROOM
            return w.ToolCall(cut(name, NAME_ROOM), cut_value(input, left), id=_cut_name(id))
        case w.ApprovalRequested(approval_id=id, title=title, detail=detail):
            left = room - 2 * NAME_ROOM
            return w.ApprovalRequested(
                cut(id, NAME_ROOM), cut(title, NAME_ROOM), cut_value(detail, left)
            )
        case w.SessionOpened(provider_session_id=session, model=model):
            return w.SessionOpened(cut(session, NAME_ROOM), _cut_name(model))
        case w.StateChanged() | w.MessageBoundary():
            return event
        case _:
            return _shorten_value(event, room)


def _shorten_value(
    event: w.Finished | w.Usage | w.RateLimit | w.Compaction | w.Commands,
    room: int,
) -> w.RunEvent:
    match event:
        case w.Finished(payload=value):
            return w.Finished(cut_value(value, room))
        case w.Usage(payload=value):
            return w.Usage(cut_value(value, room))
        case w.RateLimit(payload=value):
            return w.RateLimit(cut_value(value, room))
        case w.Compaction(payload=value):
            return w.Compaction(cut_value(value, room))
        case w.Commands(payload=value):
            return w.Commands(cut_value(value, room))
        case _:
            assert_never(event)


def _cut_name(name: str | None) -> str | None:
    return None if name is None else cut(name, NAME_ROOM)


def cut(text: str, room: int) -> str:
    """The beginning of `text` and `MARK`, at most `room` bytes with quotes and escapes; the
    text itself if it fits."""
    size = size_of(quote(text))
    keep = len(text)
    made = text
    while size > room and keep > 0:
        keep = max(0, min(keep - 1, keep * (room - 32) // size))
        made = text[:keep] + MARK
        size = size_of(quote(made))
    return made


def cut_value(value: Json, room: int) -> Json:
    """`value` with its largest members cut until it takes at most `room` bytes. An object
    keeps its keys, so that an outcome stays an outcome; anything else that is too large
    becomes an object that says so."""
    size = size_of(written(value))
    if size <= room or not isinstance(value, Mapping):
        return _cut_member(value, size, room)
    shared = _shared_out(value, room)
    return shared if size_of(written(shared)) <= room else _left_out(size)


def _cut_member(value: Json, size: int, room: int) -> Json:
    if size <= room:
        return value
    return cut(value, room) if isinstance(value, str) else _left_out(size)


def _left_out(size: int) -> Json:
    return {"note": _NOTE, "original_bytes": size, "truncated": True}


def _shared_out(members: Mapping[str, Json], room: int) -> Json:
    """Each member whole if it fits into an even share of what smaller ones left over."""
    sizes = {key: size_of(written(member)) for key, member in members.items()}
    left = room - sum(size_of(quote(key)) + 2 for key in members)
    made: dict[str, Json] = {}
    for taken, key in enumerate(sorted(sizes, key=lambda key: sizes[key])):
        share = left // (len(sizes) - taken)
        made[key] = _cut_member(members[key], sizes[key], share)
        left -= min(sizes[key], share)
    return made
