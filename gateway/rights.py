"""What the controller behind one link may do with which runs.

Every controller of an entry comes through here, whatever its protocol: its commands, what it
follows, acknowledges and notes. A run of somebody else is to it as one that is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

import attrs

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted
from fleetgate.core.errors import NotAllowed, RunNotFound, SessionNotFound
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId
from fleetgate.core.session import NOBODY, Owner
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.exposure import asks_nobody, certified

ANYBODY: Final = "*"
"""In `overseers` and `readers`: whoever is let in, and is not named in the other."""


@attrs.frozen(slots=True)
class Rights:
    """Those of one controller. What they leave to it is what it began, and what was begun while
    nobody was asked; a session of somebody else is there only for whoever sees all runs of the
    entry that it was begun on."""

    controller: str = ""
    """The name that was proven; empty where nobody is asked for one."""
    every: bool = True
    """It sees all runs of its entry, and may stop the entry."""
    link: str = ""
    """The entry."""
    reads: bool = False
    """It sees what it may see, and starts and changes nothing."""
    nameless: bool = False
    """Its certificate was asked for a name and had none: it may do nothing."""

    def signed(self, command: c.Command) -> c.Command:
        """The command with the controller's name where it belongs."""
        match command:
            case c.StartRun():
                return self._signed_start(command)
            case c.StartRunIf():
                return attrs.evolve(command, start=self._signed_start(command.start))
            case c.ListRuns() if not self.every:
                return attrs.evolve(command, controller=self.controller)
            case _:
                return command

    def _signed_start(self, command: c.StartRun) -> c.StartRun:
        origin = attrs.evolve(command.origin, controller=self.controller)
        return attrs.evolve(command, origin=origin)

    async def check(self, hub: Hub, command: c.Command) -> None:
        """Raises: `RunNotFound`, `SessionNotFound`, `NotAllowed`, `Unavailable`. The id of a start
        is not looked at: the core refuses one that is another controller's."""
        if not isinstance(command, c.ListWorkers):  # asked by the links of workers, too
            self._check_named()
        if self.reads and not isinstance(command, _LOOKS):
            raise NotAllowed(_READS)
        for session in _sessions_in(command):
            self._check_session(hub, session)
        if not self.every:
            await self._check(hub, command)

    async def check_change(self, hub: Hub, run: RunId) -> None:
        """As `check_run`, for what is more than a look at it."""
        if self.reads:
            raise NotAllowed(_READS)
        await self.check_run(hub, run)

    def _check_named(self) -> None:
        """Runs of one without a name would be everybody's."""
        if self.nameless:
            raise NotAllowed(
                "the certificate that was shown has no name (CN or subjectAltName), so nothing can "
                "be this controller's own; show one with a name, or a token"
            )

    def _check_session(self, hub: Hub, session: str) -> None:
        own = Owner(self.link, self.controller)
        for owner in hub.session_owners(session):
            if owner not in (NOBODY, own) and not (self.every and owner.link == self.link):
                raise SessionNotFound(f"no session has the id {session}")

    async def _check(self, hub: Hub, command: c.Command) -> None:
        match command:
            case c.StopLink():
                raise NotAllowed("only a controller that sees all runs (overseers) may stop it")
            case c.DescribeRun() | c.AcknowledgeRun():
                await self.check_run(hub, command.run)
            case c.CancelRun() | c.SignalRun() | c.ResolveApproval() | c.ResizeTerminal():
                await self.check_run(hub, command.run)
            case c.SupplyScript() | c.SendInput() | c.CloseInput():
                await self.check_run(hub, command.run)
            case c.StartRun() | c.StartRunIf() | c.ListRuns():
                pass
            case c.ReadUsage() | c.ProbeWorkers() | c.ListWorkers():
                pass
            case c.LimitLink() | c.EndSession() | c.DrainWorker():
                pass
            case _:
                assert_never(command)

    async def check_run(self, hub: Hub, run: RunId) -> None:
        """Raises: `RunNotFound`, also for another controller's run; `NotAllowed`; `Unavailable`."""
        if self.every:
            return
        self._check_named()
        known = await hub.submit(c.DescribeRun(run))
        owner = known.after.origin.controller if isinstance(known, Accepted) and known.after else ""
        if owner not in ("", self.controller):
            raise RunNotFound(f"no run has the id {run}")


_LOOKS: Final = (c.DescribeRun, c.ListRuns, c.ListWorkers, c.ProbeWorkers, c.ReadUsage)
_READS: Final = "this controller may look at runs (readers), and start and change nothing"


def _sessions_in(command: c.Command) -> tuple[str, ...]:
    """The sessions that a command would enter, ask about or end."""
    match command:
        case c.StartRunIf():
            return _sessions_in(command.start)
        case c.StartRun(spec=spec):
            return tuple(name for name in (spec.session, spec.resume) if name)
        case c.EndSession(session=session):
            return (session,)
        case c.ReadUsage(session=session) if session:
            return (session,)
        case _:
            return ()


ALL: Final = Rights()
"""As of whom we dialled, and of those whom nobody asks who they are."""


def rights_of(entry: Entry, identities: Sequence[str], token_id: str | None) -> Rights:
    """Those of a peer. `identities` are its certificate's verified names, `token_id` what its
    token proves: that is its name where it has both."""
    if not entry.listens or asks_nobody(entry):
        return attrs.evolve(ALL, link=entry.name)
    name = token_id or next(iter(identities), "")
    if name in entry.overseers:
        return Rights(name, every=True, link=entry.name)
    if not {name, ANYBODY}.isdisjoint(entry.readers):
        return Rights(name, every=True, link=entry.name, reads=True)
    every = ANYBODY in entry.overseers
    nameless = not name and not every and certified(entry)
    return Rights(name, every, entry.name, nameless=nameless)
