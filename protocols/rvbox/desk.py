"""What the parts of a server's connection share."""

from __future__ import annotations

from enum import StrEnum, unique

import attrs

from fleetgate.core.events import Event
from fleetgate.protocols.api import Record, ReportCapacity
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.acks import Acks
from fleetgate.protocols.rvbox.assigned import Assigned, Command
from fleetgate.protocols.rvbox.session import Session
from fleetgate.protocols.rvbox.settings import ServerSettings
from fleetgate.protocols.rvbox.state import Peer


@unique
class Due(StrEnum):
    """What a server's deadlines are for."""

    HELLO = "hello"
    """The client has to have said who it is."""
    SNAPSHOT = "snapshot"
    """The client has to have said what it retains."""
    ANSWER = "answer"
    """The oldest dispatch without an answer has waited long enough: compare anew."""
    ACK = "ack"
    """What is durable has to be acknowledged."""
    FULL = "full"
    """What was refused for want of room is tried again."""
    EXPIRY = "expiry"
    """A command that was not taken has expired."""
    EXIT = "exit"
    """A command that has ended at its client has to have sent its exit."""
    KILL = "kill"
    """A canceled command has had its time to end."""
    SCRIPT = "script"
    """The next pieces of scripts go out."""
    CALM = "calm"
    """Until then, an input out of order brings about no further reconcile."""


class Capacity:
    """How much more a client takes. Its own figures count every command that it accepted
    before them; what it accepted after them, and what it has not answered, is subtracted."""

    def __init__(self) -> None:
        self._room = 0
        self._taken_since = 0

    def reported(self, figures: w.ClientCapacity) -> None:
        """The client told its figures."""
        queue = figures.max_queued_commands - figures.queued_commands
        self._room = queue + figures.max_running_commands - figures.running_commands
        self._taken_since = 0

    def taken(self, commands: int = 1) -> None:
        """The client holds so many more commands than its figures say."""
        self._taken_since += commands

    def exhausted(self) -> None:
        """The client says that it has no room, whatever its figures were."""
        self._room = self._taken_since = 0

    def free(self, books: Assigned) -> int:
        """How many more runs it takes, beside those that it was given."""
        room = self._room - self._taken_since - books.room_taken
        return max(0, min(room, limits.RETAINED - len(books.by_uuid)))

    def open_for(self, books: Assigned) -> int:
        """How many of the runs that it refused for want of room it takes now."""
        return max(0, self._room - self._taken_since - len(books.unanswered))


@attrs.define(slots=True, eq=False)
class Desk:
    """One link's settings, session, books, acknowledgements, deadlines and capacity."""

    settings: ServerSettings
    session: Session = attrs.field(factory=lambda: Session(Peer.SERVER))
    books: Assigned = attrs.field(init=False)
    acks: Acks = attrs.field(init=False)
    deadlines: Deadlines = attrs.field(factory=Deadlines)
    capacity: Capacity = attrs.field(factory=Capacity)
    shells: frozenset[int] = frozenset()
    """What the client's hello offers."""
    wants_reconcile: bool = False
    """Something does not fit together: compare anew as soon as the session allows it."""

    def __attrs_post_init__(self) -> None:
        self.books = Assigned(self.settings.known_ended)
        self.acks = Acks(self.settings.ack_events)

    def report_capacity(self) -> ReportCapacity:
        """What the hub should know of the room at this client."""
        return ReportCapacity(self.capacity.free(self.books))

    def end(self, command: Command, event: Event) -> Record:
        """End a command here, by an event that is ours and not the client's."""
        self.books.end(command)
        self.acks.forget(command)
        return Record(command.run, (event,))
