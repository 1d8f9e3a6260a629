"""A runner of a control plane: the connection that dials it (W 7.4, 8, 9, 11, 12).

First what an earlier link has left is cancelled, then we register. After that runs are
opened, and each call in one starts a run of the core, whose events become updates and whose
end becomes the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fleetgate.core import commands as c
from fleetgate.core.answers import Answer, RunList
from fleetgate.core.events import Recorded
from fleetgate.core.times import nanos
from fleetgate.protocols.api import (
    NO_STEPS,
    Close,
    Connection,
    Established,
    Opening,
    Remember,
    Report,
    Step,
    Steps,
    Submit,
)
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import errors, wire
from fleetgate.protocols.kodelet.desk import Desk
from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.offer import make_manifest, make_registration, remember, without_id
from fleetgate.protocols.kodelet.open_runs import OpenRuns
from fleetgate.protocols.kodelet.openings import Takes, no_time
from fleetgate.protocols.kodelet.operations import UPDATE, Operations, decided
from fleetgate.protocols.kodelet.peer import Answered, Called, Canceled, Peer, Told
from fleetgate.protocols.kodelet.rooms import WAIT
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.state import CONTROL_PLANE_NOTIFICATIONS, Phase
from fleetgate.protocols.kodelet.structs import read

_BEAT: Final = "heartbeat"
_REGISTER: Final = "register"
STOPPED: Final = "runner process stopped"
_DEFAULT_INTERVAL_MS: Final = 15_000


class RunnerConnection(Connection):
    """A runner's end of one link. `takes`: how long it is to open a run."""

    def __init__(self, settings: RunnerSettings, takes: Takes = no_time) -> None:
        self._settings = settings
        self._opening = Opening(link="")
        self._peer = Peer("runner", settings)
        self._deadlines = Deadlines()
        self._operations = Operations(self._peer, settings, self._deadlines)
        self._runs = OpenRuns()
        self._desk = Desk(self._peer, settings, self._deadlines, self._operations, self._runs)
        self._desk.openings.takes = takes
        self._rooms = self._desk.rooms
        self._phase = Phase.NEW
        self._sweeping = 0
        self._asked = wire.Register()
        self._registered = wire.Registered()
        self._digest = make_manifest(settings).digest
        self._interval = 0

    # --- what the driver tells

    def opened(self, opening: Opening, now: int) -> Steps:
        self._opening = self._desk.opening = self._rooms.opening = opening
        if opening.subprotocol not in (wire.SUBPROTOCOL, None):
            text = f"the control plane did not agree to {wire.SUBPROTOCOL}"
            return (Close(1002, text, retry=False),)
        return (Submit(c.ListRuns(opening.link, open_only=True), ("left", "")),)

    def receive(self, frame: bytes, now: int) -> Steps:
        self._peer.receive(frame)
        return self._after(NO_STEPS, now)

    def _taken(self, now: int) -> list[Step]:
        steps: list[Step] = []
        while (came := self._peer.take()) is not None:
            match came:
                case Called():
                    steps += self._desk.ask(came, now)
                case Told():
                    steps += self._told(came)
                    self._peer.finished()
                case Canceled(id=id):
                    self._desk.openings.cancel(id, now)
                    steps += [*self._operations.cancel(id), *self._rooms.cancel(id)]
                case Answered(token=("register",)):
                    steps += self._register_answered(came, now)
                case Answered():
                    steps += self._operations.answered(came)
        return steps

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        what, subject = reply_to
        match what:
            case "left":
                steps = self._left(answer, now)
            case "swept":
                self._sweeping -= 1
                steps = NO_STEPS if self._sweeping else self._register(now)
            case "start":
                steps = self._operations.started(subject, answer, now)
            case "room":
                steps = self._rooms.started(subject, answer)
            case "written":
                steps = self._rooms.written(subject, answer)
            case "decided":
                steps = decided(subject, answer)
            case _:
                steps = NO_STEPS
        return self._after([*steps, *self._desk.close_stopped()], now)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        steps = [*self._operations.deliver(batch, now), *self._rooms.deliver(batch)]
        return self._after([*steps, *self._desk.close_stopped()], now)

    def tick(self, now: int) -> Steps:
        steps: list[Step] = []
        for name in self._deadlines.due(now):
            if name == _BEAT:
                self._beat(now)
            elif name == _REGISTER:
                return (Close(None, "the control plane did not answer the registration"),)
            elif name.startswith(UPDATE):
                self._operations.update(name.removeprefix(UPDATE), now)
            elif name.startswith(WAIT):
                self._rooms.waited(name.removeprefix(WAIT))
            else:
                self._desk.overdue(name, now)
        return self._after(steps, now)

    def drain(self, now: int) -> Steps:
        """Say goodbye and close, as the genuine runner means to (W 15.1)."""
        if self._phase is not Phase.REGISTERED:
            return NO_STEPS
        self._phase = Phase.DETACHED
        mine = self._registered
        self._peer.notify("runner.goodbye", wire.Goodbye(mine.runner_id, mine.generation, STOPPED))
        return [*self._peer.flush(), Close(1000, STOPPED)]

    def closed(self, reason: str, now: int) -> Steps:
        self._peer.end(reason)
        return NO_STEPS

    def _after(self, done: Steps, now: int) -> Steps:
        """The steps, and what follows. Whatever was done may have answered a request, and given its
        slot to one that waited for it."""
        steps = [*done, *self._taken(now)]
        if any(isinstance(step, Close) for step in steps):
            return steps
        return [*steps, *self._peer.flush(), *self._deadlines.wake()]

    # --- registering

    def _left(self, answer: Answer, now: int) -> Steps:
        """Runs of an earlier link are nobody's any more (W 13.2)."""
        if not isinstance(answer, RunList):
            report = Report("kodelet_runs_not_swept", "the core does not list them")
            return (report, *self._register(now))
        self._sweeping = len(answer.runs)
        if not self._sweeping:
            return self._register(now)
        why = "the link to its control plane ended"
        return [Submit(c.CancelRun(run.id, reason=why), ("swept", "")) for run in answer.runs]

    def _register(self, now: int) -> Steps:
        self._phase = Phase.REGISTERING
        self._asked = make_registration(self._settings, self._opening, self._digest)
        self._peer.call("runner.register", self._asked, ("register",))
        self._deadlines.set(_REGISTER, now + nanos(self._settings.register_timeout))
        return NO_STEPS

    def _register_answered(self, answer: Answered, now: int) -> Steps:
        error = answer.error
        if error is not None and errors.is_unknown_runner(error) and self._asked.runner_id:
            self._asked = without_id(self._asked)
            self._peer.call("runner.register", self._asked, ("register",))
            return NO_STEPS
        if error is not None:
            text = f"the control plane refused the registration: {error.code} {error.message}"
            return (Close(None, text[:1024]),)
        try:
            registered = read(wire.Registered, answer.result)
        except Malformed as malformed:
            return (Close(None, f"the registration's result cannot be read: {malformed}"),)
        if not trim(registered.runner_id) or registered.generation <= 0:
            return (Close(None, "the registration's result has no runnerId or no generation"),)
        return self._begin(registered, now)

    def _begin(self, registered: wire.Registered, now: int) -> Steps:
        self._phase = Phase.REGISTERED
        self._registered = registered
        self._desk.register(registered)
        self._operations.generation = registered.generation
        interval = registered.heartbeat_interval_ms
        self._interval = (interval if interval > 0 else _DEFAULT_INTERVAL_MS) * 1_000_000
        self._deadlines.clear(_REGISTER)
        self._beat(now)
        kept = remember(self._settings, self._opening, registered.runner_id)
        return (Remember(kept), Established()) if kept else (Established(),)

    def _beat(self, now: int) -> None:
        state, runs = self._runs.reported()
        mine = self._registered
        only = runs[0] if len(runs) == 1 else ""
        self._peer.notify(
            "runner.heartbeat",
            wire.Heartbeat(mine.runner_id, mine.generation, state, only, runs, self._digest),
        )
        self._deadlines.set(_BEAT, now + self._interval)

    # --- what the control plane says

    def _told(self, told: Told) -> Steps:
        """Input for a surface that no extension of ours has opened (W 12.4)."""
        if told.method not in CONTROL_PLANE_NOTIFICATIONS:
            return NO_STEPS
        try:
            notice = read(wire.SurfaceNotice, None if told.params is wire.ABSENT else told.params)
        except Malformed:
            return NO_STEPS
        if self._runs.get(notice.run_id) is not None:
            text = "this runner has no extension surfaces"
            self._peer.notify("run.environmentError", wire.EnvironmentReport(notice.run_id, text))
        return NO_STEPS
