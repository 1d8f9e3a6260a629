"""What the worker of a pair says, made into frames before anything is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.hub_testing import DONE
from fleetgate.core.ids import RunId
from fleetgate.gateway.bench.pairs.dam import MARK, Dam, mark_of
from fleetgate.gateway.fidelity.bridge import Bridge, until

AT_ONCE: Final = 64
"""Texts that a worker says together, and frames of one write of a load."""

SNAPSHOTS: Final = "kodelet"
"""The protocol whose worker shows all that a run has said so far, now and then, in place of what is
new. With that there is no event of 256 bytes. Its worker says in each frame that what it shows is
another text of that size, as a program does whose output begins anew."""


@attrs.frozen(slots=True)
class Work:
    """So many runs at the same time, and events in all, with texts of `size` bytes of ASCII."""

    runs: int
    events: int
    size: int = 256

    @property
    def each(self) -> int:
        """Events of one run: all alike, so that the last one ends when the others do."""
        return max(1, self.events // max(1, self.runs))

    def texts(self, nth: int) -> Iterator[str]:
        """What the run of that number says. No two in a row are alike; the last has its mark."""
        for at in range(self.each - 1):
            yield f"{at:020d}".ljust(self.size - 1, ".") + "\n"
        yield mark_of(nth).decode().ljust(self.size - 1, ".") + "\n"


async def fill_dam(bridge: Bridge, dam: Dam, runs: Sequence[RunId], work: Work) -> None:
    """Have the worker say all of it behind the dam: runs take turns, and each has ended."""
    dam.shut()
    if bridge.host.config.north[0].protocol == SNAPSHOTS:
        await _show(bridge, dam, runs, work)
    else:
        await _say(bridge, dam, runs, work)


async def _say(bridge: Bridge, dam: Dam, runs: Sequence[RunId], work: Work) -> None:
    texts = [[e.TextProduced(text) for text in work.texts(nth)] for nth in range(len(runs))]
    for at in range(0, work.each, AT_ONCE):
        for run, said in zip(runs, texts, strict=True):
            end = (DONE,) if at + AT_ONCE >= work.each else ()
            bridge.say(run, *said[at : at + AT_ONCE], *end)
            await bridge.host.hub.wait_room()
    await until(lambda: sum(MARK in frame for frame in dam.kept) >= len(runs))


async def _show(bridge: Bridge, dam: Dam, runs: Sequence[RunId], work: Work) -> None:
    """Each run says one text and ends; its frame is made into as many as there shall be, and its
    result says what the last of them does."""
    shown: list[tuple[bytes, bytes]] = []
    for nth, run in enumerate(runs):
        text = mark_of(nth).decode().ljust(work.size - 1, ".")
        mark = text.encode()
        bridge.say(run, e.TextProduced(text + "\n"))
        shown.append((await _frame_with(dam, mark), mark))
        bridge.say(run, DONE)
    await until(lambda: sum(MARK in frame for frame in dam.kept) >= len(runs))
    ways = [_updates(update, mark, work, nth) for nth, (update, mark) in enumerate(shown)]
    dam.kept[:0] = in_turns(ways, work)


def in_turns(ways: Sequence[Iterator[bytes]], work: Work) -> list[bytes]:
    """So many frames of each run, and so on, as `_say` does it."""
    turns = range(0, work.each, AT_ONCE)
    return [frame for _ in turns for way in ways for frame in islice(way, AT_ONCE)]


async def _frame_with(dam: Dam, mark: bytes) -> bytes:
    """Wait for the frame in which it stands, and take it out."""
    await until(lambda: any(mark in frame for frame in dam.kept))
    (found,) = (frame for frame in dam.kept if mark in frame)
    dam.kept.remove(found)
    return found


def _updates(update: bytes, shown: bytes, work: Work, nth: int) -> Iterator[bytes]:
    first = b'"sequence":1,'
    assert update.count(first) == 1, "the first update of a run is the pattern of the others"
    for at, text in enumerate(work.texts(nth), 1):
        numbered = update.replace(first, b'"sequence":%d,' % at)
        yield numbered.replace(shown, text.encode().rstrip(b"\n"))
