"""All links of a process, and those who look on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.recording.witness import Witness, our_part
from fleetgate.gateway.render import Line
from fleetgate.protocols.api import Adapter
from fleetgate.protocols.explaining import Speaker, other
from fleetgate.transports.api import Link
from fleetgate.transports.tap import Crossed, Crossing, TappedLink

Sink: TypeAlias = Callable[[Line], None]
"""Is given each item. It must not raise, nor wait."""


class Onlookers:
    """Puts a tap on each link, and gives what it tells to every sink, in order. Links and frames
    have numbers, from 1."""

    def __init__(self, known: Mapping[str, Adapter], clock: Clock, *sinks: Sink) -> None:
        self._known = known
        self._clock = clock
        self._sinks = sinks
        self._links = 0
        self._frames = 0

    def wrap(self, entry: Entry, link: Link) -> Link:
        """A link of an entry, with a tap."""
        witness = self.witness(entry, link)
        dialler = other(witness.ours) if entry.listens else witness.ours
        return self.tapped(link, witness, entry.protocol, dialler, entry.name, entry.address)

    def witness(self, entry: Entry, link: Link) -> Witness:
        """Who sees the next link."""
        showing = self._known[entry.protocol].showing
        self._links += 1
        return Witness(self._links, showing, our_part(entry, link, showing), link.opening.path)

    def tapped(
        self,
        link: Link,
        witness: Witness,
        protocol: str,
        dialler: Speaker,
        entry: str,
        address: str,
    ) -> Link:
        """The link with a tap, and the item that says that it is up."""
        self._give(witness.link(self._clock(), protocol, entry, address, dialler))
        return TappedLink(link, partial(self._see, witness))

    def _see(self, witness: Witness, crossing: Crossing) -> None:
        time = self._clock.at(crossing.time)
        if isinstance(crossing, Crossed):
            self._frames += 1
            self._give({**witness.frame(crossing, time), "number": self._frames})
        else:
            self._give(witness.over(crossing, time))

    def _give(self, line: Line) -> None:
        for sink in self._sinks:
            sink(line)
