"""What run events say that no event of the core holds, kept beside it. Pure and total.

A foreign node's start or delta may have a message, an error, and metadata of its own names. Who
is told of the run in this protocol is told of them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from fleetgate.core.events import Event, RunStarted, SessionOpened, Source, Stamp
from fleetgate.core.ids import RunId
from fleetgate.core.json import NOTHING, Json
from fleetgate.protocols.api import Record
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.names import RESERVED, SEQ
from fleetgate.protocols.iop.translate import NATIVE

MOST: Final = 16 * 1024
"""Characters that are kept with one event."""


def own_metadata(event: w.RunEvent) -> dict[str, str]:
    """The metadata that is not reserved."""
    return {key: value for key, value in event.metadata.items() if key not in RESERVED}


def says_beside(event: w.RunEvent) -> bool:
    """Whether it says anything of the kind."""
    if event.error and event.type != "error":
        return True
    if event.message and event.type in ("start", "delta"):
        return True
    return not event.metadata.keys() <= RESERVED


def beside(event: w.RunEvent) -> Json:
    """What is kept; None: there is nothing, or too much."""
    if not says_beside(event):
        return None
    members: dict[str, Json] = {}
    own = own_metadata(event)
    size = sum(len(key) + len(value) for key, value in own.items())
    if own:
        members["metadata"] = own
    if event.type in ("start", "delta") and event.message:
        members["message"] = event.message
        size += len(event.message)
    if event.type != "error" and event.error:
        members["error"] = event.error
        size += len(event.error)
    return {NATIVE: members} if members and size <= MOST else None


def records(
    run: RunId, event: w.RunEvent, events: tuple[Event, ...], seq: int | None
) -> Iterator[Record]:
    """What the node reports, with its time (0 and below: none). What stands beside it goes with
    the start itself, or else with the last event."""
    time = event.timestamp if event.timestamp > 0 else None
    stamp = None if time is None else Stamp(time)
    kept = beside(event) if event.type in ("start", "delta") else None
    if kept is None or not events:
        yield Record(run, events, seq, stamp)
        return
    starts = [at for at, each in enumerate(events) if isinstance(each, RunStarted | SessionOpened)]
    at = starts[0] if starts and event.type == "start" else len(events) - 1
    if at:
        yield Record(run, events[:at], None, stamp)
    rest = events[at + 1 :]
    yield Record(run, events[at : at + 1], None if rest else seq, Stamp(time, kept))
    if rest:
        yield Record(run, rest, seq, stamp)


def kept_members(native: Json) -> Mapping[str, Json]:
    """What was kept under this protocol's name."""
    kept = native.get(NATIVE) if isinstance(native, Mapping) else None
    return kept if isinstance(kept, Mapping) else NOTHING


def put_back(event: w.RunEvent, kept: Mapping[str, Json]) -> w.RunEvent:
    """The event with what stood beside it; what it says itself counts."""
    metadata, message, error = kept.get("metadata"), kept.get("message"), kept.get("error")
    texts = {
        key: value
        for key, value in (metadata.items() if isinstance(metadata, Mapping) else ())
        if isinstance(value, str) and key not in RESERVED
    }
    return attrs.evolve(
        event,
        metadata={**texts, **event.metadata},
        message=event.message or (message if isinstance(message, str) else ""),
        error=event.error or (error if isinstance(error, str) else ""),
    )


def told_again(event: w.RunEvent, source: Source | None) -> w.RunEvent:
    """An event that was made of a recorded one, with what stood beside that."""
    if source is None or source.native is None or SEQ not in event.metadata:
        return event
    return put_back(event, kept_members(source.native))
