"""What a control plane asks of a runner: runs opened, cancelled and closed, and calls in them
(W 9, 11). Each answer goes through the peer; each call becomes a run of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.ids import RunId
from fleetgate.core.json import Json
from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Opening, Steps
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import errors, metadata, wire
from fleetgate.protocols.kodelet.errors import INTERNAL, RpcError
from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.handling import Refused, check, handle, read_params
from fleetgate.protocols.kodelet.lifecycle import dispatch
from fleetgate.protocols.kodelet.open_runs import OpenRuns
from fleetgate.protocols.kodelet.openings import OPENS, Openings
from fleetgate.protocols.kodelet.operation import OpenRun, Operation
from fleetgate.protocols.kodelet.operations import Operations
from fleetgate.protocols.kodelet.peer import Called, Peer
from fleetgate.protocols.kodelet.rooms import Rooms
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.tools import CommandSettings, ToolSettings
from fleetgate.protocols.kodelet.transcript import Transcript, Work, refuse
from fleetgate.protocols.kodelet.translate import to_spec

_CLOSE: Final = "close "


class Desk:
    """Of one connection."""

    def __init__(
        self,
        peer: Peer,
        settings: RunnerSettings,
        deadlines: Deadlines,
        operations: Operations,
        runs: OpenRuns,
    ) -> None:
        self._peer = peer
        self._settings = settings
        self._deadlines = deadlines
        self._operations = operations
        self._runs = runs
        self._count = 0
        self.openings = Openings(peer, settings, deadlines, runs)
        self.rooms = Rooms(peer, settings, deadlines)
        self.opening = Opening(link="")
        self._registered = False

    def register(self, registered: wire.Registered) -> None:
        """What the control plane knows us as, from now on."""
        self._registered = True
        self.openings.registered = registered

    def ask(self, called: Called, now: int) -> Steps:
        """A request has come."""
        return handle(self._peer, called, lambda asked: self._handle(asked, now))

    def _handle(self, called: Called, now: int) -> Steps:
        absent = errors.NO_PARAMS
        match called.method:
            case "run.open":
                return self._open(called.id, read_params(wire.RunOpen, called, absent), now)
            case "run.close":
                return self._close(called.id, read_params(wire.RunClose, called, absent), now)
            case "run.cancel":
                return self._cancel(called.id, read_params(wire.RunCancel, called, absent), now)
            case "tool.execute":
                return self._execute(called.id, read_params(wire.ToolExecute, called, absent), now)
            case "command.execute":
                asked = read_params(wire.CommandExecute, called, absent)
                return self._command(called.id, asked, now)
            case "lifecycle.dispatch":
                return self._dispatch(called.id, read_params(wire.Lifecycle, called, absent))
            case _ if called.method.startswith("workspace."):
                return self.rooms.ask(called, now)
            case _:
                raise Refused(errors.UNKNOWN_METHOD)

    # --- runs

    def _open(self, id: str, asked: wire.RunOpen, now: int) -> Steps:
        if not self._registered:
            raise Refused(errors.NOT_REGISTERED)
        check(self._runs.wrong_with(asked, self._settings))
        self.openings.begin(id, asked, now)
        return NO_STEPS

    def _close(self, id: str, asked: wire.RunClose, now: int) -> Steps:
        run = self._found(asked.run_id)
        if run.opening:
            self.openings.abort(run, now)
            self._peer.succeed(id, None)
            return NO_STEPS
        run.closers.append(id)
        if not run.closing:
            run.closing = True
            self._deadlines.set(_CLOSE + run.id, now + nanos(self._settings.cleanup_timeout))
        return [*self._stop(run), *self.close_stopped()]

    def close_stopped(self) -> Steps:
        """Answer for the runs that are to be closed and whose calls have all ended."""
        for run in self._runs.stopped():
            self._deadlines.clear(_CLOSE + run.id)
            self._runs.remove(run)
            for closer in run.closers:
                self._peer.succeed(closer, None)
        return NO_STEPS

    def overdue(self, name: str, now: int) -> None:
        """A deadline has come; if it is a run's, a call in it does not stop. The run is gone all
        the same, and the call is answered when it ends."""
        if name == OPENS:
            self.openings.due(now)
            return
        run = self._runs.get(name.removeprefix(_CLOSE))
        if run is not None:
            self._runs.remove(run)
            for closer in run.closers:
                self._peer.fail(closer, errors.STOP_TIMEOUT)

    def _cancel(self, id: str, asked: wire.RunCancel, now: int) -> Steps:
        run = self._found(asked.run_id)
        self._peer.succeed(id, None)
        if run.opening:
            self.openings.abort(run, now)
            return NO_STEPS
        run.stopping = True
        return self._stop(run)

    def _stop(self, run: OpenRun) -> Steps:
        return [step for each in sorted(run.operations) for step in self._operations.cancel(each)]

    def _found(self, run_id: str) -> OpenRun:
        run = self._runs.get(run_id)
        if run is None:
            raise Refused(errors.OTHER_RUN if len(self._runs) else errors.NO_RUN)
        return run

    def _ready(self, run_id: str) -> OpenRun:
        """The run, to work in. Work in one that was cancelled is born cancelled (W 9.3)."""
        run = self._found(run_id)
        if run.closing or run.opening:
            raise Refused(errors.NOT_READY)
        if run.stopping:
            raise Refused(errors.CANCELED)
        return run

    # --- calls

    def _execute(self, id: str, asked: wire.ToolExecute, now: int) -> Steps:
        if not (trim(asked.tool_call_id) and trim(asked.name)):
            raise Refused(errors.CALL_NEEDS)
        run = self._ready(asked.run_id)
        tool = next((each for each in self._settings.tools if each.name == asked.name), None)
        try:
            if tool is None:
                raise UnsupportedInput("failed to find tool")
            return self._start(id, run, tool, asked, now)
        except UnsupportedInput as refusal:
            text = refusal.message if tool is None else f"{refusal.code}: {refusal.message}"
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
        operation = Operation(
            id,
            run,
            self._new_id(run),
            Work(tool.name, given, self._settings.workspace, now),
            asked.tool_call_id,
            Transcript(self._settings.output_limit),
            command=isinstance(tool, CommandSettings),
            wants_updates=asked.want_updates,
        )
        return self._operations.start(operation, spec, self.opening.link)

    def _new_id(self, run: OpenRun) -> RunId:
        """A run's id in the core. The peer's own names may come again on another link; this one
        does not."""
        self._count += 1
        return RunId(
            f"{self.opening.link}/{run.id}/{self.opening.entropy.hex()[:12]}-{self._count}"
        )

    def _command(self, id: str, asked: wire.CommandExecute, now: int) -> Steps:
        run = self._ready(asked.run_id)
        message = trim(asked.message)
        if not message.startswith("/"):
            self._peer.succeed(id, wire.CommandResult())
            return NO_STEPS
        name, _, text = message[1:].partition(" ")
        command = next((each for each in self._settings.commands if each.name == name), None)
        if command is None:
            said = f"slash command '/{name[:256]}' is not available in the pinned run manifest"
            raise Refused(RpcError(INTERNAL, said))
        given: Mapping[str, Json] = {"text": trim(text)}
        call = wire.ToolExecute(run.id, f"command {id}", name, given)
        return self._start(id, run, command, call, now)

    def _dispatch(self, id: str, asked: wire.Lifecycle) -> Steps:
        if asked.structured_result is not None:
            metadata.check(asked.structured_result)
        self._ready(asked.run_id)
        answer = dispatch(asked, self._settings.blocked_messages)
        check(answer if isinstance(answer, RpcError) else None)
        self._peer.succeed(id, answer)
        return NO_STEPS
