"""The sessions that are known: which worker each lives at. Bookkeeping only."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Final

import attrs

from fleetgate.core.commands import RunSpec
from fleetgate.core.ids import SessionId, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.session import Session, bind, opened

KNOWN_SESSIONS: Final = 10_000
"""Sessions whose worker is remembered; the ones used longest ago are forgotten first, and a
run that continues one of those goes to any worker."""


LONGEST_NAME: Final = 1024
"""Bytes of a session's name. Providers use UUIDs; a note of the journal holds 64 KiB."""


def continued(run: Run) -> str | None:
    """The session that a run continues: by our id, or by its worker's own."""
    return run.work.session or run.work.resume


def session_of(run: Run) -> str | None:
    """The session that a run belongs to, once it has one."""
    return run.work.session or run.native_session or run.work.resume


class Sessions:
    """Sessions by pool and name; the same name in two pools is two sessions."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Session] = OrderedDict()

    def home(self, run: Run) -> WorkerId | None:
        """The worker that the run's session lives at, if it continues a known one."""
        name = continued(run)
        return self.at(run.pool, name) if name else None

    def at(self, pool: str, name: str) -> WorkerId | None:
        """The worker that a session of the pool lives at, if it is known."""
        session = self._known.get(_key(pool, name))
        return None if session is None else session.worker

    def resuming(self, run: Run) -> RunSpec:
        """The spec that a worker is given: a run that continues a session by our id names the
        worker's own, where this very worker has said it."""
        work = run.work
        if not work.session or work.resume is not None:
            return work
        session = self._known.get(_key(run.pool, work.session))
        if session is None or session.worker != run.worker or session.native_session is None:
            return work
        return attrs.evolve(work, resume=session.native_session)

    def open(self, run: Run, native_session: str, worker: WorkerId) -> Session | None:
        """A worker named the session of a run; the session as it is now. A name above
        `LONGEST_NAME`, or without a UTF-8 form, is not remembered: a run that continues it goes
        to any worker."""
        name = run.work.session or native_session
        try:
            longest = max(len(name.encode()), len(native_session.encode()))
        except UnicodeEncodeError:
            return None
        if longest > LONGEST_NAME:
            return None
        key = _key(run.pool, name)
        session = bind(self._known.get(key), SessionId(key), worker)
        self._known[key] = session = opened(session, native_session)
        self._known.move_to_end(key)
        return session

    def forget_oldest(self) -> SessionId | None:
        """Forget one, where too many are known; its id."""
        if len(self._known) <= KNOWN_SESSIONS:
            return None
        return SessionId(self._known.popitem(last=False)[0])

    def named(self, name: str) -> dict[SessionId, Session]:
        """The sessions of this name, one in each pool that knows one."""
        known = self._known.items()
        return {SessionId(key): each for key, each in known if key.partition("/")[2] == name}

    def forget(self, id: SessionId, session: Session) -> None:
        """Forget a session, unless it has been opened anew meanwhile."""
        if self._known.get(id) is session:
            del self._known[id]

    def forget_worker(self, worker: WorkerId) -> list[SessionId]:
        """Forget all that live at a worker which is not expected back; their ids."""
        gone = [SessionId(key) for key, each in self._known.items() if each.worker == worker]
        for key in gone:
            del self._known[key]
        return gone

    def remember(self, key: str, note: bytes) -> None:
        """Take up a session from its note."""
        kept = json.loads(note)
        worker = WorkerId(kept["worker"])
        self._known[key] = Session(SessionId(key), worker, kept["native"], kept["generation"])


def note_of(session: Session) -> bytes:
    """What must survive a restart of the gateway."""
    kept = {
        "worker": session.worker,
        "native": session.native_session,
        "generation": session.generation,
    }
    return json.dumps(kept).encode()


def _key(pool: str, name: str) -> str:
    return f"{pool}/{name}"
