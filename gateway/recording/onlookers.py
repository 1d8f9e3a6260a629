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
        ours = our_part(entry, link, self._known[entry.protocol].showing)
        dialler = other(ours) if entry.listens else ours
        return self.seen(link, entry.protocol, ours, dialler, entry.address, entry.name)

    def seen(
        self,
        link: Link,
        protocol: str,
        ours: Speaker,
        dialler: Speaker,
        address: str,
        entry: str = "",
    ) -> Link:
        """A link with a tap. What goes out of it is said by `ours`."""
        self._links += 1
        showing = self._known[protocol].showing
        witness = Witness(self._links, showing, ours, link.opening.path)
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
