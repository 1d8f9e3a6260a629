"""A client serves the commands it has: input, signals, scripts."""

from __future__ import annotations

from typing import Final

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, Answer
from fleetgate.core.errors import Refusal, RunEnded, RunNotFound
from fleetgate.core.events import Decision
from fleetgate.protocols.api import NO_STEPS, Annotate, Steps
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.daemon import Daemon
from fleetgate.protocols.rvbox.retained import ANSWERS, Retained
from fleetgate.protocols.rvbox.stdin import Turn, verdict_of
from fleetgate.protocols.rvbox.translate import to_error, to_signal
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

WRITE: Final = "write"
ANSWER: Final = "answer"
SIGNAL: Final = "signal"
SIGNAL_GONE: Final = "signal of what is gone"
SUPPLY: Final = "supply"

_UNKNOWN: Final = "this command is not known here"


class Serving:
    """The part of a client's connection that passes on input, signals and scripts."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def _open(self, uuid: str) -> Retained | None:
        command = self._daemon.retention.get(uuid)
        return None if command is None or command.last else command

    # --- input

    def write(self, write: w.StdinWrite | w.CloseStdin) -> Steps:
        """Take the next write; a repeat is ignored, anything else is said."""
        complain = self._daemon.complain
        uuid = write.issue_uuid
        command = self._open(uuid)
        if command is None:
            return complain(uuid, Code.NOT_FOUND, _UNKNOWN)
        if not command.open_stdin:
            return complain(uuid, Code.INVALID_ARGUMENT, "its input was closed from the start")
        match command.writes.judge(write.write_seq):
            case Turn.REPEAT:
                return NO_STEPS
            case Turn.CLOSED:
                return complain(uuid, Code.INVALID_ARGUMENT, "its input is closed")
            case Turn.GAP:
                text = f"expected write {command.writes.taken + 1}, a later one came"
                return complain(uuid, Code.OUT_OF_ORDER, text)
            case Turn.NEXT:
                return self._next_write(command, write)

    def _next_write(self, command: Retained, write: w.StdinWrite | w.CloseStdin) -> Steps:
        daemon = self._daemon
        key = f"write/{write.write_seq}"
        if isinstance(write, w.CloseStdin):
            close = c.CloseInput(command.run)
            return daemon.ask(command.uuid, close, WRITE, write, key)
        approval = self._answered(command, write)
        if approval is not None:
            decision = Decision.ALLOW_ONCE if verdict_of(write.data) else Decision.DENY
            resolve = c.ResolveApproval(command.run, approval, decision)
            return daemon.ask(command.uuid, resolve, ANSWER, approval, key)
        early = 0 if command.running else command.early + len(write.data)
        if early > daemon.settings.early_stdin:
            text = f"it does not run yet; {daemon.settings.early_stdin} bytes of input can wait"
            return daemon.complain(command.uuid, Code.RESOURCE_EXHAUSTED, text)
        command.early = early
        data = c.SendInput(command.run, write.data, write.append_newline)
        return daemon.ask(command.uuid, data, WRITE, write, key)

    def _answered(self, command: Retained, write: w.StdinWrite) -> str | None:
        """The approval that this write answers, if it answers one."""
        if not self._daemon.settings.answer_approvals or not command.approvals:
            return None
        oldest = command.approvals[0]
        able = verdict_of(write.data) is not None and command.writes.can_answer(oldest)
        return oldest if able else None

    def wrote(self, uuid: str, write: w.StdinWrite | w.CloseStdin, answer: Answer) -> Steps:
        """The input is durable, or was refused."""
        command = self._daemon.retention.get(uuid)
        if isinstance(answer, Accepted):
            if command is not None and command.writes.taken < write.write_seq:
                command.writes.take(closes=isinstance(write, w.CloseStdin))
            return NO_STEPS
        return self._refused(uuid, answer)

    def answered(self, uuid: str, approval: str, answer: Answer) -> Steps:
        """The approval is resolved, or was refused."""
        command = self._daemon.retention.get(uuid)
        if command is None or not isinstance(answer, Accepted):
            return self._refused(uuid, answer)
        command.writes.answer(approval)
        command.approvals = [each for each in command.approvals if each != approval]
        return (Annotate(command.run, ANSWERS, {"answers": dict(command.writes.answers)}),)

    def _refused(self, uuid: str, answer: Answer) -> Steps:
        if not isinstance(answer, Refusal):
            return NO_STEPS
        error = to_error(answer)
        return self._daemon.complain(uuid, error.code, error.message)

    # --- signals

    def signal(self, message: w.SignalCommand) -> Steps:
        """Pass on a signal. One for a command of which only a tombstone is left is ignored."""
        daemon = self._daemon
        uuid = message.issue_uuid
        signal = to_signal(message.signal)
        if signal is None or not self._has(signal):
            text = f"signal {message.signal} is none that this host can send"
            return daemon.complain(uuid, Code.INVALID_ARGUMENT, text)
        command = daemon.retention.get(uuid)
        if command is None:
            return self._gone(uuid)
        if command.last:
            return daemon.complain(uuid, Code.NOT_FOUND, "this command has ended")
        if message.command_revision != command.revision:
            text = f"command_revision is {command.revision}"
            return daemon.complain(uuid, Code.CONFLICT, text)
        return self._signal(command, signal)

    def _gone(self, uuid: str) -> Steps:
        if not limits.is_uuid(uuid):
            return self._daemon.complain(uuid, Code.NOT_FOUND, _UNKNOWN)
        look = c.DescribeRun(self._daemon.run_id(uuid))
        return self._daemon.ask(uuid, look, SIGNAL_GONE)

    def _has(self, signal: c.Signal) -> bool:
        return self._daemon.settings.platform != "windows" or signal is not c.Signal.HANGUP

    def _signal(self, command: Retained, signal: c.Signal) -> Steps:
        """An agent that runs elsewhere has no process to signal: all but a hangup end it, and
        while it is only queued that too. No worker may refuse a kill, so it is put both ways."""
        ask = self._daemon.ask
        cancel = c.CancelRun(command.run, reason=f"signal {signal.value}")
        if not command.on_host and (signal is not c.Signal.HANGUP or not command.running):
            return ask(command.uuid, cancel, SIGNAL)
        send = c.SignalRun(command.run, signal)
        if signal is not c.Signal.KILL:
            return ask(command.uuid, send, SIGNAL)
        return ask(command.uuid, send, SIGNAL, cancel)

    def signalled(self, uuid: str, then: c.CancelRun | None, answer: Answer) -> Steps:
        """The signal is on its way, or was refused."""
        if then is not None and not isinstance(answer, RunEnded):
            return self._daemon.ask(uuid, then, SIGNAL)
        return self._refused(uuid, answer)

    def looked(self, uuid: str, answer: Answer) -> Steps:
        """A signal came for what is not retained: is there a tombstone?"""
        if isinstance(answer, RunNotFound):
            return self._daemon.complain(uuid, Code.NOT_FOUND, _UNKNOWN)
        return NO_STEPS if isinstance(answer, Accepted) else self._refused(uuid, answer)

    # --- scripts

    def script(self, message: w.ScriptChunk | w.ScriptCommit) -> Steps:
        """Take a piece of a script, or its end."""
        daemon = self._daemon
        uuid = message.issue_uuid
        command = self._open(uuid)
        if command is None:
            return daemon.complain(uuid, Code.NOT_FOUND, _UNKNOWN)
        if command.assembly is None:
            return daemon.complain(uuid, Code.INVALID_ARGUMENT, "it does not wait for a script")
        if isinstance(message, w.ScriptChunk):
            room = daemon.settings.script_memory - daemon.retention.script_bytes
            wrong = command.assembly.add(message, room)
        else:
            wrong = command.assembly.commit(message)
        if wrong is not None:
            return daemon.complain(uuid, wrong.code, wrong.message)
        if isinstance(message, w.ScriptChunk):
            return NO_STEPS
        supply = c.SupplyScript(command.run, bytes(command.assembly.data))
        return daemon.ask(uuid, supply, SUPPLY)

    def supplied(self, uuid: str, answer: Answer) -> Steps:
        """The script is with the run, or was refused; then the upload may begin again."""
        command = self._daemon.retention.get(uuid)
        if command is not None and command.assembly is not None:
            if isinstance(answer, Accepted):
                command.assembly = None
            else:
                command.assembly = command.assembly.fresh()
        return self._refused(uuid, answer)
