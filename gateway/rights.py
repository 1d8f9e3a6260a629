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
from fleetgate.core.errors import NotAllowed, RunNotFound
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.exposure import asks_nobody

ANYBODY: Final = "*"
"""In `overseers`: whoever is let in."""


@attrs.frozen(slots=True)
class Rights:
    """`controller` is the name that was proven; empty where nobody is asked for one. `every`: it
    sees all runs of its entry, and may stop the entry. Else it has those that it began, and
    those that were begun while nobody was asked."""

    controller: str = ""
    every: bool = True

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
        """Raises: `RunNotFound`, `NotAllowed`, `Unavailable`. A start is not looked at: the core
        refuses one whose id is another controller's."""
        if not self.every:
            await self._check(hub, command)

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
        """Raises: `RunNotFound`, also for another controller's run; `Unavailable`."""
        if self.every:
            return
        known = await hub.submit(c.DescribeRun(run))
        owner = known.after.origin.controller if isinstance(known, Accepted) and known.after else ""
        if owner not in ("", self.controller):
            raise RunNotFound(f"no run has the id {run}")


ALL: Final = Rights()
"""Of whom we dialled, and of those whom nobody asks who they are."""


def rights_of(entry: Entry, identities: Sequence[str], token_id: str | None) -> Rights:
    """Those of a peer. `identities` are its certificate's verified names, `token_id` what its
    token proves: that is its name where it has both."""
    if not entry.listens or asks_nobody(entry):
        return ALL
    name = token_id or next(iter(identities), "")
    return Rights(name, not {name, ANYBODY}.isdisjoint(entry.overseers))
