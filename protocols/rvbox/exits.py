"""Exits that a server waits for: of commands that have ended at their client, as it says itself."""

from __future__ import annotations

from typing import Final

from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Step, Steps
from fleetgate.protocols.rvbox.assigned import Command
from fleetgate.protocols.rvbox.desk import Desk, Due

UNTOLD: Final = RunFinished(
    Outcome(
        RunState.LOST,
        Reason.LOST,
        "its host says that it has ended, and does not send the exit",
    )
)


class Exits:
    """A client sends every exit. One that names a command as ended and sends nothing more of it
    for `exit_grace` has lost the exit, and the run would stay open for good."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._awaited: dict[str, tuple[int, int]] = {}
        """By uuid: when to look, and the last event that had come by then. Of open commands, but
        for those that have ended since the last look."""

    def expect(self, command: Command, now: int) -> None:
        """The command's exit has to come. Said again, its time runs on."""
        if command.exit_seq or command.uuid in self._awaited:
            return
        self._await(command, now)
        self._watch()

    def look(self, now: int) -> Steps:
        """End what has kept silent; where events came meanwhile, the exit may still follow."""
        desk = self._desk
        due = [(uuid, seen) for uuid, (at, seen) in self._awaited.items() if at <= now]
        steps: list[Step] = []
        for uuid, seen in due:
            del self._awaited[uuid]
            command = desk.books.by_uuid.get(uuid)
            if command is None or command.exit_seq:
                continue
            if command.taken > seen:
                self._await(command, now)
            else:
                steps.append(desk.end(command, UNTOLD))
        self._watch()
        if not steps:
            return NO_STEPS
        desk.wants_reconcile = True  # the client retains it, and is told not to
        return (*steps, desk.report_capacity())

    def _await(self, command: Command, now: int) -> None:
        at = now + nanos(self._desk.settings.exit_grace)
        self._awaited[command.uuid] = (at, command.taken)

    def _watch(self) -> None:
        first = min((at for at, _ in self._awaited.values()), default=None)
        self._desk.deadlines.put(Due.EXIT, first)
