"""Ending several runs at once: those of a session, or of an entry that stops.

Each is canceled by a command of its own, so a refusal may come when some are canceled and
others are not. Then the whole is refused, and asking again goes on with what is left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Final

import trio

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted
from fleetgate.core.crew import Crew
from fleetgate.core.errors import Refusal, RunNotFound, SessionNotFound, Unavailable
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.journal.api import Done, PutNote, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.sessions import Sessions, session_of
from fleetgate.core.slots import Slot
from fleetgate.core.starts import Starts

AT_ONCE: Final = 256
"""Runs that are canceled side by side: as many go into one commit without a wait."""


class Canceling:
    """Cancels what belongs together. `cancel` is what cancels one run."""

    def __init__(
        self,
        ledger: Ledger,
        sessions: Sessions,
        starts: Starts,
        crew: Crew,
        cancel: Callable[[c.CancelRun], Awaitable[Accepted]],
    ) -> None:
        self._ledger = ledger
        self._sessions = sessions
        self._starts = starts
        self._crew = crew
        self._cancel = cancel

    async def session_beside(self, command: c.CancelRun) -> None:
        """Cancel every run of the session that a run belongs to, open or ended, but itself.

        Raises: `Unavailable`: not all of them are canceled; ask again.
        """
        await self._starts.settled(command.run)
        run = await self._ledger.written(command.run)
        session = None if run is None else session_of(run)
        if run is not None and session is not None:
            slots = [slot for slot in self._to_cancel(session) if slot.run.pool == run.pool]
            await self._all([s.run.id for s in slots if s.run.id != run.id], command.reason)

    def _of_session(self, session: str) -> list[Slot]:
        """Its runs that have not ended."""
        return [
            slot
            for slot in self._ledger.slots.values()
            if session in (session_of(slot.run), slot.run.native_session)
            and not slot.run.state.terminal
        ]

    def _to_cancel(self, session: str) -> list[Slot]:
        """Those of them that are not canceled yet as far as that is durable."""
        return [slot for slot in self._of_session(session) if not slot.visible.canceling]

    async def end_session(self, command: c.EndSession) -> None:
        """Cancel the session's runs: those, too, that no worker has begun and that it is not
        known by. Then forget it, and tell its worker.

        Raises: `SessionNotFound`; `Unavailable`: not all of this is done, and the session goes on;
        ask again. Cancelled, it may or may not be ended.
        """
        name = command.session
        runs = [slot.run.id for slot in self._to_cancel(name)]
        if not runs and not self._sessions.named(name):
            raise SessionNotFound(f"no session has the id {name}")
        at: dict[WorkerId, str] = {}
        over = self._of_session(name)
        for slot in over:
            slot.session_over = True
            if slot.run.worker is not None:
                at[slot.run.worker] = slot.run.native_session or name
        with ExitStack() as unless_ended:
            unless_ended.callback(_go_on, over)
            await self._all(runs, "its session ended")
            await self._ledger.commit(partial(self._forget, name, at))
            unless_ended.pop_all()

    def _forget(self, name: str, at: Mapping[WorkerId, str], done: Done) -> None:
        """Forget it, and tell those whom it lives at, or who may be just beginning it (`at`)."""
        known = self._sessions.named(name)
        told = {each.worker: each.native_session or name for each in known.values()}
        told = {**at, **told}
        endings = self._crew.endings

        def forgotten(error: Exception | None) -> None:
            for id, session in known.items() if error is None else ():
                self._sessions.forget(id, session)
            for worker, own_name in told.items() if error is None else ():
                endings.ended(worker, own_name)
            done(error)

        writes: list[Write] = [PutNote("session", id, None) for id in known]
        for worker, own_name in told.items():
            writes += endings.planned(worker, own_name)
        self._ledger.journal.enqueue(writes, forgotten, may_fail=True)

    async def stop_link(self, command: c.StopLink) -> None:
        """Accept no more runs of an entry, and with `TERMINATE` cancel those that are open.

        Raises: `Stopping`, `Conflict`: see `Starts.stop`; `Unavailable`: not all of its runs are
        canceled, and it does not stop. Cancelled, it does not stop.
        """
        runs = self._starts.stop(command.link, command.mode)
        if command.mode is not c.StopMode.TERMINATE:
            return
        with ExitStack() as unless_canceled:
            unless_canceled.callback(self._starts.go_on, command.link)
            await self._all(runs, "its daemon stops")
            unless_canceled.pop_all()

    async def _all(self, runs: Sequence[RunId], reason: str) -> None:
        """Cancel each, whatever becomes of the others; but while nothing can be written, no
        more are tried."""
        left = iter(runs)
        refusals: list[Refusal] = []
        done = 0

        async def some() -> None:
            nonlocal done
            for run in left:
                try:
                    await self._cancel(c.CancelRun(run, reason=reason))
                    done += 1
                except RunNotFound:
                    done += 1  # it was just being accepted, and then it was not
                except Unavailable as refusal:
                    refusals.append(refusal)
                    return
                except Refusal as refusal:
                    refusals.append(refusal)

        async with trio.open_nursery() as nursery:
            for _ in range(min(AT_ONCE, len(runs))):
                nursery.start_soon(some)
        if refusals:
            raise Unavailable(_left(len(runs) - done, runs, refusals[0]))


def _go_on(slots: Sequence[Slot]) -> None:
    """Their session was not ended: what they say of it counts as before."""
    for slot in slots:
        slot.session_over = False


def _left(left: int, every: Sequence[RunId], first: Refusal) -> str:
    return f"{left} of {len(every)} runs are not canceled yet ({first.message}); ask again"
