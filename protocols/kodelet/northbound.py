"""A runner of a control plane: the connection that dials it (W 7.4, 8, 9, 11, 12).

First what an earlier link has left is cancelled, then we register. After that runs are
opened, and each call in one starts a run of the core, whose events become updates and whose
end becomes the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from fleetgate.core import commands as c
from fleetgate.core.answers import Answer, RunList
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId
from fleetgate.core.json import Json
from fleetgate.protocols.api import (
    NO_STEPS,
    Close,
    Connection,
    Established,
    Opening,
    Report,
    Step,
    Steps,
    Submit,
)
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import errors, wire
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet.errors import INTERNAL, RpcError, invalid
from fleetgate.protocols.kodelet.lifecycle import dispatch
from fleetgate.protocols.kodelet.offer import make_manifest, make_registration, without_id
from fleetgate.protocols.kodelet.open_runs import OpenRuns
from fleetgate.protocols.kodelet.operation import OpenRun, Operation
from fleetgate.protocols.kodelet.operations import UPDATE, Operations
from fleetgate.protocols.kodelet.peer import Answered, Called, Canceled, Peer, Told
from fleetgate.protocols.kodelet.settings import (
    CommandSettings,
    RunnerSettings,
    ToolSettings,
    nanos,
)
from fleetgate.protocols.kodelet.state import CONTROL_PLANE_NOTIFICATIONS, Phase
from fleetgate.protocols.kodelet.structs import read
from fleetgate.protocols.kodelet.transcript import Transcript, Work, refuse
from fleetgate.protocols.kodelet.translate import to_spec

_BEAT: Final = "heartbeat"
_REGISTER: Final = "register"
_CLOSE: Final = "close "
_DEFAULT_INTERVAL_MS: Final = 15_000
_T = TypeVar("_T")


class RunnerConnection(Connection):
    """A runner's end of one link."""

    def __init__(self, settings: RunnerSettings) -> None:
        self._settings = settings
        self._opening = Opening(link="")
        self._peer = Peer("runner")
        self._deadlines = Deadlines()
        self._operations = Operations(self._peer, settings, self._deadlines)
        self._runs = OpenRuns()
        self._phase = Phase.NEW
        self._sweeping = 0
        self._asked = wire.Register()
        self._registered = wire.Registered()
        self._digest = make_manifest(settings).digest
        self._interval = 0
        self._count = 0

    # --- what the driver tells

    def opened(self, opening: Opening, now: int) -> Steps:
        self._opening = opening
        return (Submit(c.ListRuns(opening.link, open_only=True), ("left", "")),)

    def receive(self, frame: bytes, now: int) -> Steps:
        self._peer.receive(frame)
        return self._after(self._taken(now))

    def _taken(self, now: int) -> list[Step]:
        steps: list[Step] = []
        while (came := self._peer.take()) is not None:
            match came:
                case Called():
                    steps += self._called(came, now)
                case Told():
                    steps += self._told(came)
                    self._peer.finished()
                case Canceled(id=id):
                    steps += self._operations.cancel(id)
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
            case _:
                steps = NO_STEPS
        return self._after([*steps, *self._closed_runs()])

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        steps = self._operations.deliver(batch, now)
        return self._after([*steps, *self._closed_runs()])

    def tick(self, now: int) -> Steps:
        steps: list[Step] = []
        for name in self._deadlines.due(now):
            if name == _BEAT:
                self._beat(now)
            elif name == _REGISTER:
                return (Close(None, "the control plane did not answer the registration"),)
            elif name.startswith(UPDATE):
                self._operations.update(name.removeprefix(UPDATE), now)
            else:
                self._close_overdue(name.removeprefix(_CLOSE))
        return self._after(steps)

    def drain(self, now: int) -> Steps:
        """Say goodbye, as an independent runner should (W 15.1)."""
        if self._phase is Phase.REGISTERED:
            self._phase = Phase.DETACHED
            self._deadlines.clear(_BEAT)
            mine = self._registered
            goodbye = wire.Goodbye(mine.runner_id, mine.generation, "runner process stopped")
            self._peer.notify("runner.goodbye", goodbye)
        return self._after([])

    def closed(self, reason: str, now: int) -> Steps:
        self._peer.end(reason)
        return NO_STEPS

    def _after(self, steps: list[Step]) -> Steps:
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
        if not registered.runner_id.strip() or registered.generation <= 0:
            return (Close(None, "the registration's result has no runnerId or no generation"),)
        return self._begin(registered, now)

    def _begin(self, registered: wire.Registered, now: int) -> Steps:
        self._phase = Phase.REGISTERED
        self._registered = registered
        self._operations.generation = registered.generation
        interval = registered.heartbeat_interval_ms
        self._interval = (interval if interval > 0 else _DEFAULT_INTERVAL_MS) * 1_000_000
        self._deadlines.clear(_REGISTER)
        self._beat(now)
        return (Established(),)

    def _beat(self, now: int) -> None:
        state, runs = self._runs.reported()
        mine = self._registered
        only = runs[0] if len(runs) == 1 else ""
        self._peer.notify(
            "runner.heartbeat",
            wire.Heartbeat(mine.runner_id, mine.generation, state, only, runs, self._digest),
        )
        self._deadlines.set(_BEAT, now + self._interval)

    # --- what the control plane asks

    def _called(self, called: Called, now: int) -> Steps:
        try:
            return self._handler(called)(now)
        except _Refused as refused:
            self._peer.fail(called.id, refused.error)
        except Malformed as error:
            self._peer.fail(called.id, invalid(str(error)))
        return NO_STEPS

    def _handler(self, called: Called) -> Callable[[int], Steps]:
        match called.method:
            case "run.open":
                return partial(self._open, called.id, _params(wire.RunOpen, called))
            case "run.close":
                return partial(self._close, called.id, _params(wire.RunClose, called))
            case "run.cancel":
                return partial(self._cancel, called.id, _params(wire.RunCancel, called))
            case "tool.execute":
                return partial(self._execute, called.id, _params(wire.ToolExecute, called))
            case "command.execute":
                return partial(self._command, called.id, _params(wire.CommandExecute, called))
            case "lifecycle.dispatch":
                return partial(self._dispatch, called.id, _params(wire.Lifecycle, called))
            case _:
                raise _Refused(errors.UNKNOWN_METHOD)

    def _open(self, id: str, asked: wire.RunOpen, now: int) -> Steps:
        if self._phase is not Phase.REGISTERED:
            raise _Refused(errors.NOT_REGISTERED)
        _check(self._runs.wrong_with(asked, self._settings))
        self._runs.add(OpenRun(asked))
        mine = self._registered
        whose = m.Opened(mine.runner_id, asked.run_id, mine.generation)
        self._peer.succeed(id, make_manifest(self._settings, whose, now))
        return NO_STEPS

    def _close(self, id: str, asked: wire.RunClose, now: int) -> Steps:
        run = self._found(asked.run_id)
        run.closers.append(id)
        if not run.closing:
            run.closing = True
            self._deadlines.set(_CLOSE + run.id, now + nanos(self._settings.cleanup_timeout))
        stopped = [
            step for each in sorted(run.operations) for step in self._operations.cancel(each)
        ]
        return [*stopped, *self._closed_runs()]

    def _closed_runs(self) -> Steps:
        """Answer for the runs whose calls have all ended."""
        for run in self._runs.stopped():
            self._deadlines.clear(_CLOSE + run.id)
            self._runs.remove(run)
            for closer in run.closers:
                self._peer.succeed(closer, None)
        return NO_STEPS

    def _close_overdue(self, run_id: str) -> None:
        """A call does not stop. The run is gone all the same; the call is answered when it
        ends."""
        run = self._runs.get(run_id)
        if run is not None:
            self._runs.remove(run)
            for closer in run.closers:
                self._peer.fail(closer, errors.STOP_TIMEOUT)

    def _cancel(self, id: str, asked: wire.RunCancel, now: int) -> Steps:
        run = self._found(asked.run_id)
        run.stopping = True
        self._peer.succeed(id, None)
        return [step for each in sorted(run.operations) for step in self._operations.cancel(each)]

    def _found(self, run_id: str) -> OpenRun:
        run = self._runs.get(run_id)
        if run is None:
            raise _Refused(errors.OTHER_RUN if len(self._runs) else errors.NO_RUN)
        return run

    def _ready(self, run_id: str) -> OpenRun:
        """The run, to work in. Work in one that was cancelled is born cancelled (W 9.3)."""
        run = self._found(run_id)
        if run.closing:
            raise _Refused(errors.NOT_READY)
        if run.stopping:
            raise _Refused(errors.CANCELED)
        return run

    def _execute(self, id: str, asked: wire.ToolExecute, now: int) -> Steps:
        if not (asked.tool_call_id.strip() and asked.name.strip()):
            raise _Refused(errors.CALL_NEEDS)
        run = self._ready(asked.run_id)
        tool = next((each for each in self._settings.tools if each.name == asked.name), None)
        if tool is None:
            text = "failed to find tool"
            self._peer.succeed(id, refuse(asked.name, asked.input, text, now))
            return NO_STEPS
        try:
            return self._start(id, run, tool, asked, now)
        except UnsupportedInput as refusal:
            text = f"{refusal.code}: {refusal.message}"
            self._peer.succeed(id, refuse(asked.name, asked.input, text, now))
            return NO_STEPS

    def _start(
        self,
        id: str,
        run: OpenRun,
        tool: ToolSettings | CommandSettings,
        asked: wire.ToolExecute,
        now: int,
    ) -> Steps:
        given: Json = {} if asked.input is None else asked.input
        spec = to_spec(tool, given, run.opened, asked.tool_call_id, self._settings)
        self._count += 1
        # The peer's own names may come again on another link; these do not.
        own = f"{self._opening.entropy.hex()[:12]}-{self._count}"
        operation = Operation(
            id,
            run,
            RunId(f"{self._opening.link}/{run.id}/{own}"),
            Work(tool.name, given, self._settings.workspace, now),
            asked.tool_call_id,
            Transcript(self._settings.output_limit),
            command=isinstance(tool, CommandSettings),
            wants_updates=asked.want_updates,
        )
        return self._operations.start(operation, spec, self._opening.link)

    def _command(self, id: str, asked: wire.CommandExecute, now: int) -> Steps:
        run = self._ready(asked.run_id)
        message = asked.message.strip()
        if not message.startswith("/"):
            self._peer.succeed(id, wire.CommandResult())
            return NO_STEPS
        name, _, text = message[1:].partition(" ")
        command = next((each for each in self._settings.commands if each.name == name), None)
        if command is None:
            said = f"slash command '/{name[:256]}' is not available in the pinned run manifest"
            raise _Refused(RpcError(INTERNAL, said))
        call = wire.ToolExecute(run.id, f"command {id}", name, {"text": text.strip()})
        return self._start(id, run, command, call, now)

    def _dispatch(self, id: str, asked: wire.Lifecycle, now: int) -> Steps:
        self._ready(asked.run_id)
        answer = dispatch(asked)
        _check(answer if isinstance(answer, RpcError) else None)
        self._peer.succeed(id, answer)
        return NO_STEPS

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


class _Refused(Exception):
    """A request is answered with an error."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


def _check(error: RpcError | None) -> None:
    if error is not None:
        raise _Refused(error)


def _params(kind: type[_T], called: Called) -> _T:
    if called.params is wire.ABSENT:
        raise _Refused(errors.NO_PARAMS)
    return read(kind, called.params)
