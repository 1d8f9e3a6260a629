"""A replay from its file to its verdict: for the command line, and for tests in Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import attrs
import trio

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.recording.comparing import Difference, Manner
from fleetgate.gateway.recording.live import Place, open_live
from fleetgate.gateway.recording.reading import (
    End,
    Frame,
    Item,
    LinkUp,
    Recording,
    Unusable,
    read_recording,
)
from fleetgate.gateway.recording.replay import PATIENCE, Open, Played, Replay
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.api import Adapter
from fleetgate.protocols.explaining import SPEAKERS, Speaker

MOST_NAMED: Final = 8
"""Links that a sentence names."""


@attrs.frozen(slots=True)
class Wanted:
    """What is to be played. `side` is `controller` or `worker`, or the protocol's own word; `links`
    are numbers (empty: all); `partial`: of a recording that was cut off, what is whole. `patience`
    is seconds for each message, `token` stands where one was taken out."""

    path: str
    side: str
    manner: Manner = "values"
    links: Collection[int] = ()
    partial: bool = False
    patience: float = PATIENCE
    token: str | None = None


@attrs.frozen(slots=True)
class Part:
    """A recording that can be played, and by whom."""

    recording: Recording
    adapter: Adapter
    side: Speaker
    dials: bool
    """Whether our side dials its links."""


def read_part(wanted: Wanted) -> Part:
    """Read what is to be played.

    Raises: `Unusable`.
    """
    recording = read_recording(wanted.path, partial=wanted.partial)
    there = [item.number for item in recording.items if isinstance(item, LinkUp)]
    recording = attrs.evolve(recording, items=tuple(_chosen(recording.items, wanted.links)))
    ups = [item for item in recording.items if isinstance(item, LinkUp)]
    if not ups:
        raise Unusable(f"{wanted.path} holds no link{_not_there(wanted, there)}")
    adapter = _protocol(wanted.path, ups)
    recording.check_version(adapter.name, adapter.showing.version)
    side = adapter.showing.side(wanted.side)
    if side is None:
        words = ", ".join((*SPEAKERS, *adapter.showing.sides))
        raise Unusable(f"--as {wanted.side}: {adapter.name} has no such side; known: {words}")
    diallers = {up.dialler for up in ups}
    if len(diallers) > 1:
        raise Unusable(
            f"{wanted.path}: some links were dialled by either side; choose with --link N"
        )
    return Part(recording, adapter, side, diallers == {side})


def _not_there(wanted: Wanted, there: Sequence[int]) -> str:
    """Which links were asked for, and which there are."""
    if not wanted.links:
        return ""
    asked = ", ".join(map(str, sorted(wanted.links)))
    return f" {asked}; {f'it has {_some(map(str, there))}' if there else 'it has none'}"


def _some(links: Iterable[str]) -> str:
    named = list(links)
    return ", ".join([*named[:MOST_NAMED], "…"] if len(named) > MOST_NAMED else named)


def _protocol(path: str, ups: list[LinkUp]) -> Adapter:
    names = sorted({up.protocol for up in ups})
    if len(names) > 1:
        links = _some(f"{up.number} is {up.protocol}" for up in ups)
        raise Unusable(f"{path} holds {' and '.join(names)}; choose with --link N: {links}")
    known = adapters()
    if names[0] not in known:
        raise Unusable(f"{path} holds {names[0]}, which is not known here")
    return known[names[0]]


def _chosen(items: Collection[Item], links: Collection[int]) -> list[Item]:
    return [item for item in items if not links or _link_of(item) in links]


def _link_of(item: Item) -> int:
    match item:
        case LinkUp():
            return item.number
        case Frame() | End():
            return item.link


def _unheard() -> None:
    """Nobody asks how far a replay is."""


async def play(
    part: Part, wanted: Wanted, open: Open, spoken: Callable[[], None] = _unheard
) -> Played:
    """Play it on links that `open` brings about. `spoken`: as `Replay.play` has it.

    Raises: `Unusable`, and what `open` raises.
    """
    replay = Replay(
        part.recording,
        part.adapter.showing,
        part.side,
        wanted.manner,
        Clock()(),
        patience=wanted.patience,
        token=wanted.token,
    )
    return await replay.play(open, spoken)


async def play_at(
    wanted: Wanted,
    place: Place,
    bound: Callable[[str], None] = lambda address: None,
    spoken: Callable[[], None] = _unheard,
) -> Played:
    """Play a recording against the peer at a place.

    Raises: `Unusable`, `AddressError`, `LinkError`, `SecretUnreadable`.
    """
    part = read_part(wanted)
    async with open_live(part.adapter, part.side, place, bound) as open:
        return await play(part, wanted, open, spoken)


class Differs(AssertionError):
    """A peer does not keep to a recording."""

    def __init__(self, path: str, difference: Difference) -> None:
        super().__init__(f"{path}: {difference}")
        self.difference = difference


def replay(wanted: Wanted, place: Place) -> Played:
    """The same for code that has no event loop of trio's. For tests: a difference is raised.

    Raises: `Differs`, and as `play_at`.
    """
    played = trio.run(play_at, wanted, place)
    if played.difference is not None:
        raise Differs(wanted.path, played.difference)
    return played
