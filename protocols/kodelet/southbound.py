"""The control plane of runners: one connection from a runner (W 7, 8, 9, 11, 12).

Registration, then the worker is announced, and its epoch is the generation that the runner
gets. Orders come once a valid heartbeat has. Nothing survives the link: what the core still
holds of an earlier one is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from fleetgate.core import commands as c
from fleetgate.core.answers import Admission, Answer, WorkerList
from fleetgate.core.commands import Order
from fleetgate.core.errors import Refusal
from fleetgate.core.events import RunFinished
from fleetgate.core.ids import WorkerId
from fleetgate.core.queue import Queue
from fleetgate.core.times import nanos
from fleetgate.protocols.api import (
    NO_STEPS,
    AnnounceWorker,
    Close,
    Opening,
    Record,
    Report,
    ReportCapacity,
    Step,
    Steps,
    Submit,
    WithdrawWorker,
    WorkerReady,
)
from fleetgate.protocols.bulk import Bulk, BulkConnection
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import errors, wire
from fleetgate.protocols.kodelet.errands import Errands
from fleetgate.protocols.kodelet.errors import RpcError, invalid
from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.handling import Refused, check, handle, read_params
from fleetgate.protocols.kodelet.lease import Hook
from fleetgate.protocols.kodelet.leases import Leases
from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.names import connection_id, runner_id
from fleetgate.protocols.kodelet.orders import performed
from fleetgate.protocols.kodelet.peer import Answered, Called, Canceled, Peer, Told
from fleetgate.protocols.kodelet.proxy import Proxy
from fleetgate.protocols.kodelet.record import RunnerRecord
from fleetgate.protocols.kodelet.registration import anonymous, wrong_with
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.state import (
    RUNNER_NOTIFICATIONS,
    RUNNER_REQUESTS,
    Phase,
)
from fleetgate.protocols.kodelet.structs import read
from fleetgate.protocols.kodelet.translate import to_worker, worker_id
from fleetgate.protocols.kodelet.translate_events import read_update
from fleetgate.protocols.kodelet.updates import Updates
from fleetgate.protocols.kodelet.ward import lost
from fleetgate.protocols.kodelet.wards import Wards

_SWEEP: Final = "sweep"
_REGISTER: Final = "register"
"""What has a deadline, beside each lease."""

_TAKEN: Final = -1
"""What the core believes of our room, where that may be other than what we told it."""

REPLACED: Final = "runner connection was replaced"

REGISTRATIONS: Final = 4
"""Registrations that wait for the end of one: a runner has use for one more, and one may have as
many bytes as a message."""


class ControlPlaneConnection(BulkConnection):
    """One runner's link."""

    def __init__(self, settings: ControlPlaneSettings) -> None:
        self._settings = settings
        self._opening = Opening(link="")
        self._peer = Peer("server", settings)
        self._deadlines = Deadlines()
        self.leases = Leases(self._peer, settings, self._deadlines)
        self._wards = Wards(self._peer, settings, self.leases)
        self._errands = Errands(self._peer)
        self.proxy = Proxy(self._peer, self._wards, self.leases)
        self._updates = Updates(self._wards, self.leases, settings.message_limit)
        self._frame = b""
        self._phase = Phase.NEW
        self._request = ""
        self._registrations: Queue[Called] = Queue()
        self._asked = wire.Register()
        self._last: Liveness | None = None
        self._free: int | None = 0
        self._draining = False
        self._incompatible = ""

    # --- what the driver tells

    def opened(self, opening: Opening, now: int) -> Steps:
        self._opening = opening
        self._wards.instance = opening.instance
        offered = opening.headers.get("sec-websocket-protocol", "")
        names = [name.strip() for name in offered.split(",")]
        if opening.headers and wire.SUBPROTOCOL not in names:
            return (Close(1002, "runner subprotocol negotiation failed"),)
        self._deadlines.set(_REGISTER, now + nanos(self._settings.register_timeout))
        return self._deadlines.wake()

    def receive(self, frame: bytes, now: int) -> Steps:
        self._peer.receive(frame)
        self._frame = frame
        try:
            return self._after(NO_STEPS, now)
        finally:
            self._frame = b""

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        """What is plainly the next update of runs."""
        return self._updates.take(frames) if self._phase is Phase.READY else None

    def _taken(self, now: int) -> list[Step]:
        steps: list[Step] = []
        while (came := self._peer.take()) is not None:
            match came:
                case Called():
                    steps += handle(self._peer, came, self._called)
                case Told():
                    steps += self._told(came, now)
                    self._peer.finished()
                case Canceled():
                    steps += self.proxy.cancel(came.id)
                case Answered():
                    steps += came.token(came, now)
        return steps

    def tick(self, now: int) -> Steps:
        steps: list[Step] = []
        for name in self._deadlines.due(now):
            match name:
                case _ if name == _SWEEP:
                    steps += self._swept(now)
                case _ if name == _REGISTER:
                    steps += self._unregistered(now)
                case _:
                    steps += self.leases.overdue(name, now)
        return self._after(steps, now)

    def perform(self, order: Order, now: int) -> Steps:
        return self._after(self._performed(order, now), now)

    def drain(self, now: int) -> Steps:
        """Take no more runs; those at work end with the link, which the core knows."""
        self._draining = True
        return self._after(NO_STEPS, now)

    def closed(self, reason: str, now: int) -> Steps:
        return self._lose(f"the link to the runner ended: {reason}", now)

    def _lose(self, why: str, now: int) -> Steps:
        """Every run and every call is lost; whoever waits hears of it."""
        lost = self._detach(why, now)
        broken = self._peer.end(why)
        return [*lost, *(step for each in broken for step in each.token(each, now))]

    def by_hand(self, act: Callable[[Leases], Steps], now: int) -> Steps:
        """Have something done that no order of the core asks for, as a control plane does that is a
        stand-in in somebody's test. `Leases` says what can be done, and raised: `act` catches
        `Denied` and `Oversize`. `proxy.stand_in` answers the questions of such runs, and `on_hook`
        hears what happens to them."""
        return self._after(act(self.leases), now)

    def on_hook(self, hook: Hook) -> None:
        """Tell `hook` of what happens unasked to runs that no run of the core has."""
        self._wards.others = hook

    def record(self) -> RunnerRecord:
        """The runner as a control plane shows it."""
        return RunnerRecord(
            self._own_id() if self._incompatible else self.leases.runner,
            self._last,
            self.leases.alive is not None,
            tuple(sorted(lease.id for lease in self.leases.all())),
            self._asked.workspace,
            self._incompatible,
        )

    def _own_id(self) -> str:
        """The id of the runner that asks to be registered, from its identity (W 7.2)."""
        asked = self._asked
        return runner_id(self._opening.instance, asked.host.instance_id, asked.workspace.path)

    def _detach(self, why: str, now: int) -> Steps:
        return [*self.leases.detach(why, now), *self._errands.lose_all(why)]

    def fenced(self, reason: str, now: int) -> Steps:
        """A newcomer has the runner now. Its admission deals with the runs."""
        self._phase = Phase.DETACHED
        self._wards.forget()
        self._errands.forget()
        return (*self._lose(REPLACED, now), Close(None, REPLACED))

    def _after(self, done: Steps, now: int) -> Steps:
        """The steps, what is to be sent, and what follows for capacity and time. Whatever was done
        may have answered a request, and given its slot to one that waited for it."""
        steps = [*done, *self._taken(now)]
        if any(isinstance(step, Close) for step in steps):
            return steps
        if self._phase is Phase.READY:
            free = self._room()
            if free != self._free:
                self._free = free
                steps.append(ReportCapacity(free))
        return [*steps, *self._peer.flush(), *self._deadlines.wake()]

    def _room(self) -> int | None:
        alive = self.leases.alive
        if alive is None or alive.error or self._draining:
            return 0
        if self._asked.capabilities.concurrent_runs:
            return None
        return 0 if len(self.leases) else 1

    # --- requests of the runner

    def _called(self, called: Called) -> Steps:
        if called.method == "runner.register":
            return self._register(called)
        if self._phase in (Phase.NEW, Phase.REGISTERING):
            raise Refused(errors.REGISTER_FIRST)
        if called.method in RUNNER_REQUESTS:
            return self.proxy.ask(called)
        raise Refused(errors.UNKNOWN_METHOD)

    def _register(self, called: Called) -> Steps:
        if self._phase is Phase.REGISTERING:
            # Whether it comes too late is known when that one has ended (W 6.2).
            if len(self._registrations) == REGISTRATIONS:
                raise Refused(errors.OVERLOADED)
            self._registrations.append(called)
            return NO_STEPS
        if self._phase is not Phase.NEW:
            raise Refused(errors.REGISTERED)
        asked = read_params(wire.Register, called, errors.PARAMS_REQUIRED)
        wrong = wrong_with(asked)
        old = wrong is errors.NO_VERSION and not anonymous(asked)
        self._incompatible = errors.NO_VERSION.message if old else ""
        self._asked = asked if old or wrong is None else self._asked
        check(wrong)
        self._phase, self._request = Phase.REGISTERING, called.id
        ids = (self._own_id(), trim(asked.runner_id))
        return (Submit(c.ListWorkers(tuple(map(self._worker, ids))), "known"),)

    def _worker(self, runner: str) -> WorkerId:
        return worker_id(self._opening.link, runner)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        steps = self._known(answer) if reply_to == "known" else self._admitted(answer, now)
        return self._after([*steps, *self._try_waiting()], now)

    def _try_waiting(self) -> list[Step]:
        """Those that waited have their turn once a registration has ended, well or not."""
        steps: list[Step] = []
        while self._registrations and self._phase is not Phase.REGISTERING:
            steps += handle(self._peer, self._registrations.popleft(), self._called)
        return steps

    def _known(self, answer: Answer) -> Steps:
        """Who is known decides whether the id that the runner shows may be its own (W 7.2)."""
        if not isinstance(answer, WorkerList):
            return self._not_registered(_refused(answer))
        own, shown = self._own_id(), trim(self._asked.runner_id)
        known = {worker.info.id for worker in answer.workers}
        if shown and (shown != own or self._worker(own) not in known):
            if self._worker(own) in known:
                return self._not_registered(errors.OTHER_ID)
            if self._worker(shown) in known:
                return self._not_registered(errors.OTHER_IDENTITY)
            return self._not_registered(errors.UNKNOWN_RUNNER)
        self.leases.runner = own
        return (AnnounceWorker(to_worker(self._opening.link, own, self._asked)),)

    def _not_registered(self, error: RpcError) -> Steps:
        self._phase = Phase.NEW
        self._peer.fail(self._request, error)
        return NO_STEPS

    def _admitted(self, answer: Answer, now: int) -> Steps:
        if not isinstance(answer, Admission):
            return self._not_registered(_refused(answer))
        generation = answer.epoch
        self._phase = Phase.REGISTERED
        self._deadlines.clear(_REGISTER)
        digest = trim(self._asked.manifest_digest)
        self._errands.offered = self._asked.capabilities
        self.leases.concurrent = self._asked.capabilities.concurrent_runs
        id = self.leases.runner
        self.leases.alive = self._last = Liveness(id, generation, now, digest)
        every = round(self._settings.heartbeat_interval * 1000)
        connection = connection_id(self._opening.entropy)
        self._peer.succeed(
            self._request, wire.Registered(id, wire.VERSION, connection, generation, every)
        )
        self._deadlines.set(_SWEEP, now + self._sweep)
        end = RunFinished(lost(REPLACED))
        return [Record(held.run.id, (end,)) for held in answer.held]

    def _unregistered(self, now: int) -> Steps:
        if self._phase is Phase.REGISTERING:  # it has asked, and it is our core that takes its time
            self._deadlines.set(_REGISTER, now + nanos(self._settings.register_timeout))
            return NO_STEPS
        return (Close(None, f"no runner registered within {self._settings.register_timeout:g} s"),)

    # --- notifications of the runner

    def _told(self, told: Told, now: int) -> Steps:
        """What cannot be read, or comes at the wrong time, is passed over (W 7.1, 8.1)."""
        attached = self._phase in (Phase.REGISTERED, Phase.READY)
        if not attached or told.method not in RUNNER_NOTIFICATIONS:
            return NO_STEPS
        try:
            return self._heard(told, now)
        except Malformed as error:
            return (Report("kodelet_unreadable_notification", str(error)),)

    def _heard(self, told: Told, now: int) -> Steps:
        params = None if told.params is wire.ABSENT else told.params
        match told.method:
            case "runner.heartbeat":
                return self._beat(read(wire.Heartbeat, params), now)
            case "runner.manifestChanged":
                assert self.leases.alive is not None
                self.leases.alive.change(read(wire.ManifestChanged, params))
            case "runner.goodbye":
                return self._goodbye(now)
            case "run.environmentError":
                return self.leases.environment_error(read(wire.EnvironmentReport, params), now)
            case _:
                update = read_update(params)
                self._updates.learn(self._frame, update)
                return self.leases.update(update)
        return NO_STEPS

    def _beat(self, beat: wire.Heartbeat, now: int) -> Steps:
        alive = self.leases.alive
        assert alive is not None
        named = alive.hear(beat, now)
        if named is None:
            return NO_STEPS
        gone = alive.missing(named, self.leases.phases, self._settings.omissions)
        steps = [step for run in gone for step in self.leases.missing(run, now)]
        if self._phase is Phase.REGISTERED:
            self._phase = Phase.READY
            self._free = self._room()
            steps.append(WorkerReady(self._free))
        return steps

    def _goodbye(self, now: int) -> Steps:
        """The runner leaves; the connection stays open and is of no use any more (W 8.3)."""
        self._phase = Phase.DETACHED
        self._deadlines.clear(_SWEEP)
        return (*self._detach("", now), WithdrawWorker("runner.goodbye", gone=True))

    @property
    def _sweep(self) -> int:
        return nanos(min(self._settings.heartbeat_sweep, self._settings.heartbeat_timeout / 2))

    def _swept(self, now: int) -> Steps:
        alive = self.leases.alive
        assert alive is not None
        if now - alive.last <= nanos(self._settings.heartbeat_timeout):
            self._deadlines.set(_SWEEP, now + self._sweep)
            return NO_STEPS
        text = "runner heartbeat timed out"
        self._phase = Phase.DETACHED
        return (*self._detach(text, now), Close(None, text))

    # --- orders

    def _performed(self, order: Order, now: int) -> Steps:
        if isinstance(order.command, c.StartRun) and self._free is not None:
            self._free = _TAKEN  # the core has counted one off
        return performed(order, now, self._wards, self._errands, self.proxy)


def _refused(answer: Answer) -> RpcError:
    return invalid(answer.message if isinstance(answer, Refusal) else "the gateway has no answer")
