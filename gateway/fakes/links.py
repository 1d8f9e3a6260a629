"""The links of a fake: what goes wrong on them, and who looks on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakSet

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.gateway.recording.witness import Witness, our_part
from fleetgate.protocols.api import Adapter
from fleetgate.transports.api import Link
from fleetgate.transports.faults import Faults, FaultyLink


class FakeLink(FaultyLink):
    """A link of a fake. While it is half open whoever closes it waits: a machine that has lost its
    power dials nothing in its place."""

    _released = False

    async def close(self, code: int | None, reason: str = "") -> None:
        await super().close(code, reason)
        while self.half_open and not self._released:
            await self.wait_changed()
            await super().close(code, reason)

    async def release(self) -> None:
        self._released = True
        await super().release()


class FakeLinks:
    """Puts faults around each link, and a tap under them where somebody looks on. The same `seed`
    gives the same faults: link by link, in the order in which they come up."""

    def __init__(self, seed: int = 0, faults: Sequence[Faults] = ()) -> None:
        self._seed = seed
        self._faults = tuple(faults)
        self._up: WeakSet[FakeLink] = WeakSet()
        self._count = 0
        self.onlookers: Onlookers | None = None

    def wrap(self, known: Mapping[str, Adapter], entry: Entry, link: Link) -> Link:
        """A link, as the fake drives it."""
        self._count += 1
        showing = known[entry.protocol].showing
        eyes = Witness(0, showing, our_part(entry, link, showing), link.opening.path)
        if self.onlookers is not None:
            link = self.onlookers.wrap(entry, link)
        faulty = FakeLink(link, None, f"{self._seed}:{self._count}", eyes.is_answer())
        faulty.suffer(*self._faults)
        self._up.add(faulty)
        return faulty

    def suffer(self, *faults: Faults) -> None:
        """What goes wrong from now on, on every link, in place of what did."""
        self._faults = faults
        for link in self._up:
            link.suffer(*faults)

    async def release(self) -> None:
        """Drop the links that are half open: the fake ends."""
        for link in tuple(self._up):
            if link.half_open:
                await link.release()
