"""What a kodelet control plane knows beyond its links: every runner and run, and who is told."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
import trio

from fleetgate.core.errors import RunNotFound, Unavailable
from fleetgate.gateway.fakes.lines import Writer
from fleetgate.gateway.fakes.unread import Budget, Unread
from fleetgate.gateway.render import Line
from fleetgate.protocols.api import NO_STEPS, Steps
from fleetgate.protocols.kodelet import ui, wire
from fleetgate.protocols.kodelet.affinity import Affinities
from fleetgate.protocols.kodelet.lease import Lease
from fleetgate.protocols.kodelet.record import RunnerRecord
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.southbound import ControlPlaneConnection
from fleetgate.protocols.kodelet.structs import write

MOST_LINKS: Final = 4096
"""Links, newest first, whose runners are shown, also when they are gone."""

MOST_RUNS: Final = 4096
"""Runs of which is known how they stand; the one that was opened first is forgotten."""

MOST_EVENTS: Final = 1024
"""Events that wait to be written."""


class PlaneConnection(ControlPlaneConnection):
    """A runner's link at a control plane that is worked by hand."""

    def __init__(self, settings: ControlPlaneSettings, plane: Plane) -> None:
        super().__init__(settings)
        self.settings = settings
        self.leases.affinities = plane.affinities
        self.leases.forbids = plane.wrong_with
        self.proxy.stand_in = plane.answer
        self.proxy.watch = self._seen
        self.on_hook(self._hook)
        self._plane = plane

    def closed(self, reason: str, now: int) -> Steps:
        """The link is gone."""
        steps = super().closed(reason, now)
        self._tell("transport_end", reason=reason)
        return steps

    def _hook(self, lease: Lease, now: int) -> Steps:
        conv = lease.opened.conversation_id
        self._tell("conversation_cancel", conv=conv, run=lease.id, error=lease.error)
        return NO_STEPS

    def _seen(self, method: str, call: wire.UiCall) -> None:
        owner = write(call.owner)
        self._tell("ui", run=call.run_id, method=method, owner=owner, request=call.request)

    def _tell(self, event: str, **members: Any) -> None:
        runner = self.record().id or None
        self._plane.events.put({"event": event, "runner": runner, **members})


class Plane:
    """Of one fake. With `attended`, questions of runs that were opened by hand are answered."""

    def __init__(self, *, attended: bool = True) -> None:
        self._attended = attended
        self._links: deque[PlaneConnection] = deque(maxlen=MOST_LINKS)
        self._runs: dict[str, tuple[Lease, PlaneConnection]] = {}
        self.affinities = Affinities()
        self.budget = Budget()
        self.events = Unread(MOST_EVENTS, self.budget)

    def connect(self, settings: ControlPlaneSettings) -> PlaneConnection:
        """The connection of a link that has come."""
        self._links.append(PlaneConnection(settings, self))
        return self._links[-1]

    @asynccontextmanager
    async def telling(self, writer: Writer) -> AsyncGenerator[None, None]:
        """Write events meanwhile."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_all, writer)
            yield
            nursery.cancel_scope.cancel()

    async def _tell_all(self, writer: Writer) -> None:
        while True:
            await self.events.wait()
            lines = self.events.take()
            if lines:
                await writer.write(*lines)

    # --- what its connections ask

    def wrong_with(self, asked: wire.RunOpen) -> str | None:
        """Why a run may not be opened, for what is open elsewhere or was."""
        for lease, link in self._runs.values():
            held = link.leases.get(lease.id) is lease
            if held and lease.opened.conversation_id == asked.conversation_id:
                return f"conversation already has active run {lease.id}"
        return "run id already exists" if asked.run_id in self._runs else None

    def answer(self, method: str, call: wire.UiCall) -> wire.UiResponse:
        """What a person would."""
        if not self._attended:
            return ui.unavailable(method)
        if method == "ui.notify":
            return wire.UiResponse("submitted")
        return wire.UiResponse("submitted", "answer", confirmed=method == "ui.confirm")

    # --- runners and runs

    def runners(self) -> dict[str, tuple[RunnerRecord, PlaneConnection]]:
        """Every runner by its id, with its newest link. A refused registration is shown with the
        link that is up, or in its place where none is."""
        found: dict[str, tuple[RunnerRecord, PlaneConnection]] = {}
        for link in self._links:
            record = link.record()
            old = found.get(record.id)
            if not record.id:
                continue
            if record.incompatible and old is not None and old[0].connected:
                record, link = attrs.evolve(old[0], incompatible=record.incompatible), old[1]
            found[record.id] = record, link
        return found

    def runner(self, id: str) -> PlaneConnection:
        """A runner's link, which may have ended. Raises: `Unavailable`."""
        found = self.runners().get(id)
        if found is None:
            raise Unavailable("runner not found")
        return found[1]

    def keep(self, lease: Lease, link: PlaneConnection) -> None:
        """A run was opened, or is about to be."""
        self._runs[lease.id] = lease, link
        if len(self._runs) > MOST_RUNS:
            del self._runs[next(iter(self._runs))]

    def knows(self, run: str) -> bool:
        """Whether a run was opened by hand."""
        return run in self._runs

    def run(self, id: str) -> tuple[Lease, PlaneConnection]:
        """A run that was opened by hand, and its link. Raises: `RunNotFound`."""
        if id not in self._runs:
            raise RunNotFound(f"no run named {id} was opened; open it first")
        return self._runs[id]


def runner_line(record: RunnerRecord) -> Line:
    """A runner as it is shown."""
    last = record.last
    return {
        "id": record.id,
        "status": record.status,
        "connected": record.connected,
        "generation": last.generation if last else 0,
        "manifestDigest": last.digest if last else "",
        "manifestChanged": last.manifest_changed if last else False,
        "activeRunIds": list(record.runs),
        "compatibilityError": record.incompatible,
        "workspace": write(record.workspace),
    }


def run_line(lease: Lease) -> Line:
    """A run as it is shown."""
    return {"status": lease.phase.value, "error": lease.error}
