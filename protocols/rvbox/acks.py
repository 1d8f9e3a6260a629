"""When a server acknowledges: the first of so many events or so much time."""

from __future__ import annotations

from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import Command


class Acks:
    """Acknowledgements that are due. Only what is durable is ever acknowledged (I3)."""

    def __init__(self, events: int) -> None:
        self._events = events
        self._due: dict[str, Command] = {}

    @property
    def waiting(self) -> bool:
        """Whether any is due by time."""
        return bool(self._due)

    def committed(self, command: Command, through: int) -> w.EventAck | None:
        """Events up to `through` are durable: what to send at once, if anything."""
        command.committed = max(command.committed, through)
        ended = 0 < command.exit_seq <= command.committed
        if ended or command.committed - command.acked >= self._events:
            return self._ack(command)
        if command.committed > command.acked:
            self._due[command.uuid] = command
        return None

    def again(self, command: Command) -> None:
        """The client sent what it was acknowledged before: tell it once more."""
        self._due[command.uuid] = command

    def flush(self) -> list[w.EventAck]:
        """All that are due; none is then."""
        due, self._due = self._due, {}
        return [self._ack(command) for command in due.values()]

    def forget(self, command: Command) -> None:
        """The command has ended here."""
        self._due.pop(command.uuid, None)

    def _ack(self, command: Command) -> w.EventAck:
        self._due.pop(command.uuid, None)
        command.acked = command.committed
        return w.EventAck(command.uuid, command.committed)
