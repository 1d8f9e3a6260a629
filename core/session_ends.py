"""Ending sessions: their runs, and what their workers keep of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted
from fleetgate.core.crew import Crew
from fleetgate.core.errors import SessionNotFound
from fleetgate.core.journal.api import PutNote
from fleetgate.core.ledger import Ledger
from fleetgate.core.roster import Roster
from fleetgate.core.sessions import session_of
from fleetgate.core.slots import Slot


class SessionEnds:
    """`give` performs a command about one run."""

    def __init__(
        self,
        ledger: Ledger,
        roster: Roster,
        crew: Crew,
        give: Callable[[c.RunCommand], Awaitable[Accepted]],
    ) -> None:
        self._ledger = ledger
        self._roster = roster
        self._crew = crew
        self._give = give

    async def cancel(self, command: c.CancelRun) -> Accepted:
        """Cancel a run, and every other run of its session."""
        slot = self._ledger.slots.get(command.run)
        first = await self._give(c.CancelRun(command.run, reason=command.reason))
        session = session_of(slot.run) if slot is not None else None
        if slot is not None and session is not None:
            for each in self._runs_of(session):
                if each is not slot and each.run.pool == slot.run.pool:
                    await self._give(c.CancelRun(each.run.id, reason=command.reason))
        return first

    async def end(self, command: c.EndSession) -> Accepted:
        """Forget a session, tell its worker, and cancel its runs: those, too, that no worker has
        begun and that the session is not known by.

        Raises: `SessionNotFound`, `Unavailable`.
        """
        known = self._roster.sessions.forget(command.session)
        slots = [slot for slot in self._runs_of(command.session) if not slot.run.canceling]
        if not known and not slots:
            raise SessionNotFound(f"no session has the id {command.session}")
        writes = [PutNote("session", session.id, None) for session in known]
        if writes:
            await self._ledger.commit(lambda done: self._ledger.journal.enqueue(writes, done))
        for session in known:
            self._crew.end_session(session.worker, session.native_session or command.session)
        for slot in slots:
            await self._give(c.CancelRun(slot.run.id, reason="its session ended"))
        return Accepted()

    def _runs_of(self, session: str) -> list[Slot]:
        return [
            slot
            for slot in self._ledger.slots.values()
            if session in (session_of(slot.run), slot.run.native_session)
            and not slot.run.state.terminal
        ]
