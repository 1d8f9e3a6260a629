"""The sessions that are known: which worker each lives at. Bookkeeping only."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import attrs

from fleetgate.core.commands import RunSpec
from fleetgate.core.ids import SessionId, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.session import NOBODY, Owner, Session, bind, opened

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


def owner_of(run: Run) -> Owner:
    """Whose run it is, and the session that it begins."""
    origin = run.origin
    return Owner(origin.link, origin.controller) if origin.controller else NOBODY


class Sessions:
    """Sessions by pool and name; the same name in two pools is two sessions. Each is found by
    our name of it and by its worker's own, whatever the number of those that are known."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Session] = OrderedDict()
        self._called: dict[str, dict[str, None]] = {}
        """The keys of `_known` by each name that leads there."""

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
        session = bind(self._known.get(key), SessionId(key), worker, owner_of(run))
        session = opened(session, native_session)
        self._drop(key)
        self._put(key, session)
        return session

    def _put(self, key: str, session: Session) -> None:
        """Know it, as the one that was used last."""
        self._known[key] = session
        for name in _names(key, session):
            self._called.setdefault(name, {})[key] = None

    def _drop(self, key: str) -> None:
        session = self._known.pop(key, None)
        for name in () if session is None else _names(key, session):
            keys = self._called[name]
            del keys[key]
            if not keys:
                del self._called[name]

    def forget_oldest(self) -> SessionId | None:
        """Forget one, where too many are known; its id."""
        if len(self._known) <= KNOWN_SESSIONS:
            return None
        key = next(iter(self._known))
        self._drop(key)
        return SessionId(key)

    def named(self, name: str) -> dict[SessionId, Session]:
        """The sessions of this name, one in each pool that knows one."""
        keys = [key for key in self._called.get(name, ()) if _name(key) == name]
        return {SessionId(key): self._known[key] for key in keys}

    def owners(self, name: str, open_runs: Iterable[Run]) -> set[Owner]:
        """Who began the sessions that `name` leads to, be it our name or its worker's; `NOBODY`
        where nobody was asked. Where none is known, it is the first of `open_runs` that may be
        just beginning one."""
        found = {self._known[key].owner for key in self._called.get(name, ())}
        if found:
            return found
        beginning = (
            run
            for run in open_runs
            if name in (run.work.session, run.native_session, run.work.resume)
        )
        first = min(beginning, key=lambda run: run.created, default=None)
        return set() if first is None else {owner_of(first)}

    def forget(self, id: SessionId, session: Session) -> None:
        """Forget a session, unless it has been opened anew meanwhile."""
        if self._known.get(id) is session:
            self._drop(id)

    def forget_worker(self, worker: WorkerId) -> list[SessionId]:
        """Forget all that live at a worker which is not expected back; their ids."""
        gone = [SessionId(key) for key, each in self._known.items() if each.worker == worker]
        for key in gone:
            self._drop(key)
        return gone

    def remember(self, key: str, note: bytes) -> None:
        """Take up a session from its note."""
        kept = json.loads(note)
        worker = WorkerId(kept["worker"])
        owner = Owner(*kept.get("owner", ()))
        session = Session(SessionId(key), worker, kept["native"], kept["generation"], owner)
        self._drop(key)
        self._put(key, session)


def note_of(session: Session) -> bytes:
    """What must survive a restart of the gateway."""
    kept: dict[str, object] = {
        "worker": session.worker,
        "native": session.native_session,
        "generation": session.generation,
    }
    if session.owner != NOBODY:
        kept["owner"] = [session.owner.link, session.owner.controller]
    return json.dumps(kept).encode()


def _key(pool: str, name: str) -> str:
    return f"{pool}/{name}"


def _name(key: str) -> str:
    """Our name, without the pool."""
    return key.partition("/")[2]


def _names(key: str, session: Session) -> set[str]:
    """All that a controller may call it."""
    return {_name(key), session.native_session or _name(key)}
