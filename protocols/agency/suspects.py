"""Runs with an event that never arrives: a daemon cannot send it, or we cannot read it, and
the link ends at each attachment. Such a run must not take the daemon's others along.

Kept with the run is how often in a row it was attached to behind one and the same event,
had events to bring, and brought none. The note is durable before the attachment goes out,
as a link that breaks may take the daemon's answer along, and is void once an event came.
So it also counts links that broke for other reasons: counting makes a run wait for its
turn, and only a last attempt on a link that is good makes it be given up.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from typing import Final

from fleetgate.core.ids import RunId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.protocols.agency.settings import AgencySouthboundSettings
from fleetgate.protocols.agency.tracking import Tracked
from fleetgate.protocols.agency.translate import NAME
from fleetgate.protocols.api import Annotate

_KEY: Final = "attach"


def tries_of(run: Run) -> int:
    """How many attachments behind the run's last event have brought nothing."""
    tried = notes_of(run).get(_KEY)
    if not isinstance(tried, Mapping) or tried.get("after") != run.native_seq:
        return 0
    tries = tried.get("tries")
    return tries if isinstance(tries, int) else 0


def notes_of(run: Run) -> Mapping[str, Json]:
    """What this protocol keeps with a run."""
    kept = run.notes.get(NAME)
    return kept if isinstance(kept, Mapping) else NOTHING


def tried(tracked: Tracked) -> Annotate:
    """The run is attached to and has events to bring: until one comes this counts."""
    tracked.tries += 1
    tracked.notes = {**tracked.notes, _KEY: {"after": tracked.last, "tries": tracked.tries}}
    return Annotate(tracked.run, NAME, tracked.notes)


@unique
class Standing(Enum):
    """What is to be done about a run that the daemon has."""

    TRUSTED = "trusted"
    """Attach at once."""
    SUSPECT = "suspect"
    """Attach alone, once all others have what they were owed; for the last time only on a link
    that has stood for a while, as a network that is bad by itself rarely lets it."""
    GIVEN_UP = "given_up"
    """Attach no more."""


class Suspects:
    """One link's replays under way, its suspects, which wait for them, and the runs that were
    given up. None of them is more than the runs that the link has."""

    def __init__(self, settings: AgencySouthboundSettings) -> None:
        self._suspect_after = settings.suspect_after
        self._give_up_after = settings.give_up_after
        self._poll = nanos(settings.suspect_poll)
        self._behind: dict[RunId, int] = {}
        self._waiting: dict[RunId, tuple[Tracked, int]] = {}
        self._given_up: dict[RunId, Tracked] = {}
        self._stood = False
        self.next_at: int | None = None
        """When to look again; None while there is nobody to look after."""

    @property
    def calm(self) -> bool:
        """Whether nothing that comes could be of any matter here."""
        return not (self._behind or self._waiting or self._given_up)

    def judge(self, tracked: Tracked, owed: int) -> Standing:
        """`owed` is the number of the last event that the daemon still has to bring, 0 for
        none: then an attachment is safe whatever came before."""
        if not owed or tracked.tries < self._suspect_after:
            return Standing.TRUSTED
        return Standing.SUSPECT if tracked.tries < self._give_up_after else Standing.GIVEN_UP

    def replay(self, run: RunId, owed: int) -> None:
        """The run is attached, and events up to `owed` are to come."""
        if owed:
            self._behind[run] = owed
        else:
            self._behind.pop(run, None)

    def reached(self, run: RunId, sequence: int) -> None:
        """An event of an attached run came."""
        if sequence >= self._behind.get(run, sequence + 1):
            del self._behind[run]

    def hold(self, tracked: Tracked, owed: int, now: int) -> None:
        """A suspect: it waits for its turn."""
        self._waiting[tracked.run] = (tracked, owed)
        self._look_again(now)

    def give_up(self, tracked: Tracked, now: int) -> None:
        """A run that is not attached any more; it is looked after by the daemon's list."""
        self._given_up[tracked.run] = tracked
        self._look_again(now)

    def forget(self, run: RunId) -> None:
        """The run is nobody's concern any more."""
        self._behind.pop(run, None)
        self._waiting.pop(run, None)
        self._given_up.pop(run, None)

    def turn(self) -> Tracked | None:
        """The suspect to be attached now: one at a time, and none beside a replay."""
        if self._behind or not self._waiting:
            return None
        tracked, owed = next(filter(self._may_try, self._waiting.values()), (None, 0))
        if tracked is not None:
            del self._waiting[tracked.run]
            self._behind[tracked.run] = owed
        return tracked

    def _may_try(self, waiting: tuple[Tracked, int]) -> bool:
        return self._stood or waiting[0].tries + 1 < self._give_up_after

    def due(self, now: int) -> bool:
        """Whether it is time to look again. Replays that are still not through then keep no
        suspect waiting any longer: a daemon may never send what it owes."""
        if self.next_at is None or now < self.next_at:
            return False
        self._stood = True
        self._behind.clear()
        self.next_at = None
        if self._waiting or self._given_up:
            self._look_again(now)
        return True

    def given_up(self) -> tuple[Tracked, ...]:
        """The runs to be looked up in the daemon's list."""
        return tuple(self._given_up.values())

    def _look_again(self, now: int) -> None:
        if self.next_at is None:
            self.next_at = now + self._poll
