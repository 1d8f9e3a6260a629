"""One run at a daemon as its client sees it: where its events stand, and which of them are
safe. Rules only; `southbound` turns them into messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from fleetgate.core.ids import RunId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.sequence import Arrival, arrival
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.encode import written
from fleetgate.protocols.json_text import load
from fleetgate.protocols.utf8 import Utf8

LAST_SEQUENCE: Final = 2**63 - 1
"""The highest event number that is believed: storage counts so far, and no run gets there."""


@attrs.define(slots=True)
class Tracked:
    """`last` is the number of the last event taken, `safe` of the last that is durable, `acked`
    of the last that the daemon was told of. `request` is what it was started with, or would
    be. `unsure`: whether the daemon's run of that id is ours is not known yet; `refusal` is
    why the daemon would not start it. `session` is the provider's name for it. `tries` is how
    many attachments behind `last` have brought nothing, `notes` what is kept with the run."""

    run: RunId
    request: wire.RunRequest
    last: int = 0
    session: str | None = None
    unsure: bool = False
    refusal: wire.Error | None = None
    ended: bool = False
    safe: int = 0
    acked: int = 0
    acking: bool = False
    tries: int = 0
    notes: Mapping[str, Json] = NOTHING
    input: Utf8 = attrs.field(factory=Utf8)
    """Joins characters that two inputs share."""

    def is_news(self, sequence: int) -> bool:
        """Whether an event of this number was not taken yet, and may still come."""
        return not self.ended and arrival(self.last, sequence) is not Arrival.DUPLICATE

    def arrive(self, sequence: int) -> tuple[int, int] | None:
        """Take the number of an event that is news. Answers the numbers that are missing
        before it, both ends included, or None where none is."""
        gap = arrival(self.last, sequence) is Arrival.GAP
        missing = (self.last + 1, sequence - 1) if gap else None
        self.skip_to(sequence)
        return missing

    def skip_to(self, sequence: int) -> None:
        """Nothing up to `sequence` is wanted any more, and what came of earlier attachments
        says nothing about the next one."""
        self.last, self.tries = sequence, 0

    def owed(self, snapshot: wire.RunSnapshot) -> int:
        """The number of the last event that the daemon still has and we do not; 0 for none.
        What any client acknowledged it has no more."""
        latest = min(snapshot.latest_sequence, LAST_SEQUENCE)
        gone = min(snapshot.acknowledged_sequence, latest)
        return latest if latest > max(self.last, gone) else 0

    @property
    def done(self) -> bool:
        """Whether it has ended, and that is durable."""
        return self.ended and self.safe >= self.last

    def is_ours(self, snapshot: wire.RunSnapshot) -> bool:
        """Whether a run that the daemon already knew by this id can be the one we asked for."""
        asked = self.request
        return (
            asked.provider == snapshot.provider
            and asked.model == snapshot.model
            and asked.workspace_roots == snapshot.workspace_roots
            and _read_back(asked.metadata) == _read_back(snapshot.metadata)
        )


def _read_back(value: Json) -> Json:
    """The value as a peer reads what we write of it: tuples as lists, and so on."""
    read: Json = load(written(value).encode("utf-8", "replace"))
    return read
