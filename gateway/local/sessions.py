"""Sessions of persistent programs: one process each, bounded in number, closed when idle."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import trio

from fleetgate.gateway.local.left_behind import LeftBehind
from fleetgate.gateway.local.process import ProcessGroup
from fleetgate.gateway.local.talker import Talker
from fleetgate.gateway.local.work import Declined

Key: TypeAlias = tuple[str, str]
"""The profile's name, and the session's."""


class Session:
    """One process, or the place for one. `ground` is what it was started from: another profile or
    directory needs another process."""

    def __init__(self) -> None:
        self.turn = trio.Lock()
        self.talker: Talker | None = None
        self.ground: object = None
        self.users = 0
        self.used = trio.current_time()
        self.scope = trio.CancelScope()

    @property
    def alive(self) -> Talker | None:
        """Its program, if it runs and is not being ended."""
        if self.talker is None or self.talker.ended.is_set() or self.scope.cancel_called:
            return None
        return self.talker

    async def close(self) -> None:
        """End its program. Shielded from cancellation, and bounded as `ProcessGroup.stop` is."""
        self.scope.cancel()
        if self.talker is not None:
            with trio.CancelScope(shield=True):
                await self.talker.ended.wait()


class Sessions:
    """The sessions of a pool. Their processes live in `nursery`, and end with it."""

    def __init__(
        self,
        nursery: trio.Nursery,
        left: LeftBehind,
        fault: Callable[[BaseException], None],
        most: int,
        idle: float,
    ) -> None:
        self._nursery = nursery
        self._left = left
        self._fault = fault
        self._most = most
        self._idle = idle
        self._sessions: dict[Key, Session] = {}

    def __contains__(self, key: Key) -> bool:
        session = self._sessions.get(key)
        return session is not None and session.alive is not None

    def __len__(self) -> int:
        return len(self._sessions)

    @asynccontextmanager
    async def turn(self, key: Key) -> AsyncGenerator[Session, None]:
        """Have a session for oneself: runs of one session take turns, in order. Left by an
        exception, a cancellation too, its program is ended: what it still says would be taken for
        the next answer.

        Raises: `Declined` where there are too many.
        """
        session, spare = self._enter(key)
        try:
            if spare is not None:
                await spare.close()
            async with session.turn:
                try:
                    yield session
                except BaseException:
                    await session.close()
                    raise
        finally:
            self._leave(key, session)

    def _enter(self, key: Key) -> tuple[Session, Session | None]:
        """The session, and one that has to be closed for it."""
        session, spare = self._sessions.get(key), None
        if session is None:
            spare = self._spare() if len(self._sessions) >= self._most else None
            session = self._sessions[key] = Session()
        session.users += 1
        session.scope.deadline = float("inf")
        return session, spare

    def _spare(self) -> Session:
        """The session that goes for another, already forgotten."""
        idle = [(each.used, key) for key, each in self._sessions.items() if not each.users]
        if not idle:
            said = f"all of the {self._most} sessions that are kept here are at work; try later"
            raise Declined("resource_exhausted", said)
        return self._sessions.pop(min(idle)[1])

    def _leave(self, key: Key, session: Session) -> None:
        session.users -= 1
        session.used = trio.current_time()
        if session.users:
            return
        if self._sessions.get(key) is session:
            session.scope.deadline = session.used + self._idle
            self._forget(key, session)
        else:
            session.scope.cancel()

    def _forget(self, key: Key, session: Session) -> None:
        """Forget one that nobody uses and that has no program."""
        if not session.users and session.alive is None and self._sessions.get(key) is session:
            del self._sessions[key]

    def end(self, id: str) -> None:
        """Forget the sessions of this id, of whatever profile. The program of an idle one is ended
        at once, that of another when the last run that has its turn, or waits for it, is over. A
        later run has a program of its own."""
        for key in [key for key in self._sessions if key[1] == id]:
            session = self._sessions.pop(key)
            if not session.users:
                session.scope.cancel()

    def keep(self, key: Key, session: Session, group: ProcessGroup, ground: object) -> Talker:
        """A program was started for the session whose turn it is."""
        session.talker, session.ground = Talker(group), ground
        session.scope = trio.CancelScope()
        self._nursery.start_soon(self._live, key, session, session.talker, session.scope)
        return session.talker

    async def _live(
        self, key: Key, session: Session, talker: Talker, scope: trio.CancelScope
    ) -> None:
        try:
            with scope, self._left.noted(talker.group):
                await talker.run()
        except Exception as error:  # a fault of ours ends this session and no other (I11)
            self._fault(error)
        finally:
            await talker.group.stop()
            talker.ended.set()
            self._forget(key, session)


@asynccontextmanager
async def open_sessions(
    state: Path,
    fault: Callable[[BaseException], None],
    most: int,
    idle: float,
) -> AsyncGenerator[Sessions, None]:
    """A place for sessions. What an earlier gateway left in `state` is ended first; the programs of
    this one end with the block.

    Raises: `OSError`.
    """
    left = LeftBehind(state)
    left.end_all()
    async with trio.open_nursery() as nursery:
        yield Sessions(nursery, left, fault, most, idle)
        nursery.cancel_scope.cancel()
