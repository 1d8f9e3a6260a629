"""Sessions that have ended while their worker was away: it is told once it is back."""

from __future__ import annotations

import json
from typing import Final

from fleetgate.core.ids import WorkerId
from fleetgate.core.journal.api import PutNote, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.roster import Roster, SessionKeeper, Worker
from fleetgate.core.sessions import LONGEST_NAME

SPACE: Final = "ending"
"""The journal's notes of what a worker is yet to be told."""

MOST: Final = 256
"""Sessions that one worker may be owed: as many as a node has runs. Beyond that the oldest is not
told, whose runs are canceled all the same (I9)."""


class Endings:
    """What workers are told of sessions that are over: at once, or durably kept for their return.

    Each is told once. Told again, it could end a session of the same name that began meanwhile.
    """

    def __init__(self, ledger: Ledger, roster: Roster) -> None:
        self._ledger = ledger
        self._roster = roster

    def planned(self, id: WorkerId, session: str) -> list[Write]:
        """What is written in the commit that ends the session."""
        worker = self._roster.workers.get(id)
        if worker is None or self._roster.takes_orders(worker):
            return []
        return [_note(id, session)] if _fits(session) else []

    def ended(self, id: WorkerId, session: str) -> None:
        """That commit is durable: tell the worker, by its own name of the session."""
        worker = self._roster.workers.get(id)
        if worker is None:
            return
        if self._roster.takes_orders(worker):
            if session in worker.owed:
                self.tell(worker)
            elif isinstance(worker.port, SessionKeeper):
                worker.port.end_session(session)
        elif _fits(session):
            self._owe(worker, session)

    def _owe(self, worker: Worker, session: str) -> None:
        worker.owed[session] = None
        writes: list[Write] = [_note(worker.info.id, session)]
        if len(worker.owed) > MOST:
            oldest = next(iter(worker.owed))
            del worker.owed[oldest]
            writes.append(_note(worker.info.id, oldest, over=True))
        self._ledger.write(writes)

    def tell(self, worker: Worker) -> None:
        """The worker is ready, and given no run yet: tell it what it is owed."""
        owed, worker.owed = worker.owed, {}
        if not owed:
            return
        self._ledger.write([_note(worker.info.id, session, over=True) for session in owed])
        if isinstance(worker.port, SessionKeeper):
            for session in owed:
                worker.port.end_session(session)

    async def recover(self) -> None:
        """Take up what the journal holds, once the workers are known."""
        for note in (await self._ledger.journal.notes(SPACE)).values():
            id, session = json.loads(note)
            worker = self._roster.workers.get(WorkerId(id))
            if worker is not None:
                worker.owed[session] = None


def _fits(session: str) -> bool:
    try:
        return len(session.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:
        return False


def _note(worker: WorkerId, session: str, *, over: bool = False) -> PutNote:
    kept = None if over else json.dumps([worker, session]).encode()
    return PutNote(SPACE, f"{worker}/{session}", kept)
