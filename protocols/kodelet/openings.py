"""Runs that a control plane is opening with us: one after another, each in its time (W 9.1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from fleetgate.core.times import nanos
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.errors import CANCELED
from fleetgate.protocols.kodelet.offer import make_manifest
from fleetgate.protocols.kodelet.open_runs import OpenRuns
from fleetgate.protocols.kodelet.operation import OpenRun
from fleetgate.protocols.kodelet.peer import Peer
from fleetgate.protocols.kodelet.settings import RunnerSettings

OPENS: Final = "opens"
"""The deadline of the one that is being opened."""

Takes: TypeAlias = Callable[[wire.RunOpen], float]
"""Seconds that it takes to open a run."""


def no_time(asked: wire.RunOpen) -> float:
    """None: what we offer is known beforehand."""
    return 0.0


class Openings:
    """All of one connection. A run that is being opened is held like any other, and can be given
    up; `registered` is what the control plane knows us as."""

    def __init__(
        self, peer: Peer, settings: RunnerSettings, deadlines: Deadlines, runs: OpenRuns
    ) -> None:
        self._peer = peer
        self._settings = settings
        self._deadlines = deadlines
        self._runs = runs
        self._line: deque[OpenRun] = deque()
        self.takes: Takes = no_time
        self.registered = wire.Registered()

    def begin(self, request: str, asked: wire.RunOpen, now: int) -> None:
        """Open a run, behind those that are being opened. The request is answered when it is."""
        run = OpenRun(asked, opening=request)
        self._runs.add(run)
        self._line.append(run)
        if len(self._line) == 1:
            self._go_on(now)

    def due(self, now: int) -> None:
        """The first one has had its time."""
        self._opened(now)
        self._go_on(now)

    def _go_on(self, now: int) -> None:
        while self._line:
            seconds = self.takes(self._line[0].opened)
            if seconds > 0:
                self._deadlines.set(OPENS, now + nanos(seconds))
                return
            self._opened(now)

    def _opened(self, now: int) -> None:
        run = self._line.popleft()
        request, run.opening = run.opening, ""
        mine = self.registered
        whose = m.Opened(mine.runner_id, run.id, mine.generation)
        self._peer.succeed(request, make_manifest(self._settings, whose, now))

    def cancel(self, request: str, now: int) -> None:
        """Whoever asked has given up; nothing where no run is being opened for this request."""
        for run in self._line:
            if run.opening == request:
                self.abort(run, now)
                return

    def abort(self, run: OpenRun, now: int) -> None:
        """Open it no further: it is gone, and its request is answered as cancelled."""
        first = self._line[0] is run
        self._line.remove(run)
        self._runs.remove(run)
        self._peer.fail(run.opening, CANCELED)
        if first:
            self._deadlines.clear(OPENS)
            self._go_on(now)
