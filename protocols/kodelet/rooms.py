"""What a runner offers of its workspace beside runs: its changes, and one terminal (W 14.2).

Both are runs of the core, of the programs that `git_diff` and `terminal` name. The terminal is a
link's: the next link cancels what an earlier one has left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Answer
from fleetgate.core.errors import Refusal, Unavailable
from fleetgate.core.events import Recorded, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.protocols.api import NO_STEPS, Ack, Follow, Opening, Steps, Submit, Unfollow
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import errors
from fleetgate.protocols.kodelet import workspace as ws
from fleetgate.protocols.kodelet.errors import INTERNAL, RpcError
from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.handling import Refused, check, read_params
from fleetgate.protocols.kodelet.names import derive
from fleetgate.protocols.kodelet.peer import Called, Peer
from fleetgate.protocols.kodelet.scrollback import Scrollback
from fleetgate.protocols.kodelet.settings import RunnerSettings

WAIT: Final = "wait "
_MILLISECOND: Final = 1_000_000
_T = TypeVar("_T")


@attrs.define(slots=True, eq=False)
class _Work:
    """A run of the core, and whoever waits for its start. `finished` takes its end."""

    run: RunId
    request: str
    output: Scrollback
    finished: Callable[[_Work, e.Outcome], None]
    accepted: bool = False
    newest: bool = True
    start: c.StartRun | None = None

    def take(self, data: bytes) -> None:
        """It has said more. Of a terminal the newest is kept, of a diff the first."""
        if self.newest:
            self.output.write(data)
        else:
            self.output.fill(data)


@attrs.frozen(slots=True)
class _Waiting:
    """A read that waits for output."""

    request: str
    cursor: int
    limit: int


class Rooms:
    """Of one connection."""

    def __init__(self, peer: Peer, settings: RunnerSettings, deadlines: Deadlines) -> None:
        self._peer = peer
        self._settings = settings
        self._deadlines = deadlines
        self._works: dict[RunId, _Work] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._terminal: _Work | None = None
        self._session = ""
        self._count = 0
        self.opening = Opening(link="")

    def ask(self, called: Called, now: int) -> Steps:
        """A request has come. What is not offered is not known.

        Raises: `Refused`, `Malformed`.
        """
        settings = self._settings
        if not (settings.git_diff if called.method == ws.GIT_DIFF else settings.terminal):
            raise Refused(errors.UNKNOWN_METHOD)
        match called.method:
            case ws.GIT_DIFF:
                _read(ws.NoParams, called)
                return self._diff(called.id)
            case ws.OPEN:
                return self._open(called.id, _read(ws.TerminalOpen, called))
            case ws.READ:
                return self._poll(called.id, _read(ws.TerminalRead, called), now)
            case ws.INPUT:
                return self._input(called.id, _read(ws.TerminalInput, called))
            case ws.RESIZE:
                return self._resize(called.id, _read(ws.TerminalResize, called))
            case _:
                raise Refused(errors.UNKNOWN_METHOD)

    def _start(self, work: _Work, argv: tuple[str, ...], *, interactive: bool = False) -> Steps:
        settings = self._settings
        spec = c.RunSpec(
            c.ShellCommand(argv=argv, cwd=settings.workspace),
            workspace=(settings.workspace,),
            interactive=interactive,
            labels={"kodelet_tool": "workspace.terminal" if interactive else ws.GIT_DIFF},
        )
        self._works[work.run] = work
        origin = c.Origin(self.opening.link, work.run.removeprefix(f"{self.opening.link}/"))
        work.start = c.StartRun(work.run, spec, origin)
        return (Submit(work.start, ("room", work.run)),)

    def _new_id(self) -> RunId:
        self._count += 1
        entropy = self.opening.entropy.hex()[:12]
        return RunId(f"{self.opening.link}/workspace/{entropy}-{self._count}")

    # --- what the core says

    def started(self, run: RunId, answer: Answer) -> Steps:
        """The core took a run, or refused it."""
        work = self._works[run]
        if isinstance(answer, Unavailable) and answer.open and work.start is not None:
            return (Submit(work.start, ("room", run), again=True),)  # as `Operations.started`
        if not isinstance(answer, Refusal):
            work.accepted = True
            if work is self._terminal:
                self._peer.succeed(work.request, self._described())
            return (Follow(run, Seq(0)),)
        self._peer.fail(work.request, RpcError(INTERNAL, f"{answer.code}: {answer.message}"))
        self._forget(work)
        return NO_STEPS

    def written(self, request: str, answer: Answer) -> Steps:
        """The core took an input or a size, or refused it."""
        if isinstance(answer, Refusal):
            self._peer.fail(request, RpcError(INTERNAL, f"{answer.code}: {answer.message}"))
        else:
            self._peer.succeed(request, None)
        return NO_STEPS

    def deliver(self, batch: Sequence[Recorded]) -> Steps:
        """Events of one run; those of others are passed over."""
        work = self._works.get(batch[0].run) if batch else None
        if work is None:
            return NO_STEPS
        for recorded in batch:
            match recorded.event:
                case e.OutputProduced(data=data):
                    work.take(data)
                case e.TextProduced(text=text):
                    work.take(text.encode("utf-8", "replace"))
                case e.RunFinished(outcome=outcome):
                    work.output.finish(outcome.exit_code)
                    work.finished(work, outcome)
                    self._works.pop(work.run, None)
                    self._answer_waiting()
                    return (Ack(work.run, recorded.seq), Unfollow(work.run))
                case _:
                    pass
        self._answer_waiting()
        return NO_STEPS

    def _forget(self, work: _Work) -> None:
        self._works.pop(work.run, None)
        if work is self._terminal:
            self._terminal = None

    # --- what has changed

    def _diff(self, request: str) -> Steps:
        work = _Work(self._new_id(), request, Scrollback(ws.MAX_DIFF), self._diffed)
        work.newest = False
        return self._start(work, self._settings.git_diff)

    def _diffed(self, work: _Work, outcome: e.Outcome) -> None:
        """A program that says nothing but its exit code has compared; any other end is an error."""
        if outcome.exit_code not in (0, 1) or outcome.state is RunState.CANCELED:
            text = outcome.message or f"exit code {outcome.exit_code}"
            canceled = outcome.state is RunState.CANCELED
            error = errors.CANCELED if canceled else RpcError(INTERNAL, f"git diff failed: {text}")
            self._peer.fail(work.request, error)
            return
        data, truncated = work.output.head(ws.MAX_DIFF)
        text = data.decode("utf-8", "replace")
        settings = self._settings
        result = ws.GitDiff(settings.workspace, text, bool(text), "", outcome.exit_code, truncated)
        self._peer.succeed(work.request, result)

    # --- the terminal

    def _open(self, request: str, asked: ws.TerminalOpen) -> Steps:
        rows, columns = ws.size_of(asked.rows, ws.ROWS), ws.size_of(asked.cols, ws.COLUMNS)
        terminal = self._terminal
        if terminal is not None and not terminal.output.ended:
            if not terminal.accepted:
                raise Refused(errors.NOT_READY)
            self._peer.succeed(request, self._described())
            return (Submit(c.ResizeTerminal(terminal.run, rows, columns), ("nobody", "")),)
        run = self._new_id()
        self._session = f"terminal-{derive('', 16, run, self.opening.entropy.hex())}"
        work = self._terminal = _Work(run, request, Scrollback(), lambda work, outcome: None)
        return self._start(work, self._settings.terminal, interactive=True)

    def _described(self) -> ws.Terminal:
        assert self._terminal is not None
        output = self._terminal.output
        name = self._settings.terminal[0].rpartition("/")[2]
        return ws.Terminal(
            self._session,
            self._settings.workspace,
            name,
            replay_cursor=output.first,
            write_cursor=output.end,
        )

    def _found(self, session: str) -> _Work:
        if not trim(session):
            raise Refused(ws.NO_SESSION_ID)
        if self._terminal is None or session != self._session:
            raise Refused(ws.NO_SESSION)
        return self._terminal

    def _live(self, session: str) -> _Work:
        work = self._found(session)
        check(ws.CLOSED if work.output.ended else None)
        return work

    def _poll(self, request: str, asked: ws.TerminalRead, now: int) -> Steps:
        work = self._found(asked.session_id)
        check(ws.AHEAD if asked.cursor > work.output.end else None)
        limit = min(asked.max_bytes if asked.max_bytes > 0 else ws.READ_BYTES, ws.MOST_READ_BYTES)
        wait = min(asked.wait_ms if asked.wait_ms > 0 else ws.WAIT_MS, ws.MOST_WAIT_MS)
        self._waiting[request] = _Waiting(request, asked.cursor, limit)
        self._deadlines.set(WAIT + request, now + wait * _MILLISECOND)
        self._answer_waiting()
        return NO_STEPS

    def _answer_waiting(self) -> None:
        if self._terminal is None:
            return
        for waiting in list(self._waiting.values()):
            output = self._terminal.output.read(waiting.cursor, waiting.limit)
            if output is not None:
                self._done(waiting.request)
                self._peer.succeed(waiting.request, output)

    def waited(self, request: str) -> None:
        """A read has waited long enough."""
        waiting = self._waiting.pop(request, None)
        if waiting is not None:
            self._peer.succeed(request, ws.TerminalOutput(next_cursor=waiting.cursor))

    def _done(self, request: str) -> None:
        self._waiting.pop(request, None)
        self._deadlines.clear(WAIT + request)

    def cancel(self, request: str) -> Steps:
        """Nobody waits for a request any more."""
        if request in self._waiting:
            self._done(request)
            self._peer.fail(request, errors.CANCELED)
        for work in self._works.values():
            if work.request == request and work is not self._terminal:
                return (Submit(c.CancelRun(work.run, reason="context canceled"), ("nobody", "")),)
        return NO_STEPS

    def _input(self, request: str, asked: ws.TerminalInput) -> Steps:
        work = self._live(asked.session_id)
        data = ws.decoded(asked.data)
        check(ws.TOO_LONG if len(data) > ws.MAX_INPUT else None)
        return (Submit(c.SendInput(work.run, data), ("written", request)),)

    def _resize(self, request: str, asked: ws.TerminalResize) -> Steps:
        work = self._live(asked.session_id)
        rows, columns = ws.size_of(asked.rows, ws.ROWS), ws.size_of(asked.cols, ws.COLUMNS)
        return (Submit(c.ResizeTerminal(work.run, rows, columns), ("written", request)),)


def _read(kind: type[_T], called: Called) -> _T:
    return read_params(kind, called, errors.NO_PARAMS)
