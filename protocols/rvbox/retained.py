"""What a client retains: the commands of its link that are open, or ended and not acknowledged.

The journal holds them. This is one link's view: where each stands with the server.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.commands import ShellCommand
from fleetgate.core.events import RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.json import Json
from fleetgate.core.run import ACTIVITY, Run
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.script import Assembly
from fleetgate.protocols.rvbox.stdin import WriteLog, answers_in
from fleetgate.protocols.rvbox.translate import NATIVE, native_of
from fleetgate.protocols.rvbox.translate_events import Narrator, from_outcome
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle

FORGOTTEN: Final = f"{NATIVE}.forgotten"
"""A run's note: the server had it terminated, and hears no more of it."""

LINES: Final = f"{NATIVE}.lines"
"""A run's note: its output as the server knows it holds lines that are not the process's."""

ANSWERS: Final = f"{NATIVE}.answers"
"""A run's note: which writes were answers to approvals."""


@attrs.define(slots=True, eq=False)
class Retained:
    """One command. `last` is the number of its exit, 0 while it has none; `sent` the highest
    event that the server may have; `told` the event up to which events are only looked at and
    not sent; `early` counts the input bytes taken before it runs."""

    run: RunId
    uuid: str
    digest: bytes
    revision: int
    open_stdin: bool
    on_host: bool
    writes: WriteLog
    narrator: Narrator
    assembly: Assembly | None
    approvals: list[str]
    lines: bool
    running: bool = False
    last: Seq = Seq(0)
    sent: int = 0
    told: int = 0
    acked: int = 0
    early: int = 0

    @property
    def at_work(self) -> bool:
        """Whether it is seen to run, so that output of it changes nothing (`Retention.see`)."""
        return self.running and self.assembly is None


_AT_WORK: Final = frozenset({RunState.RUNNING, RunState.WAITING, RunState.FINISHING})


def make_retained(run: Run) -> Retained | None:
    """The command that a run is; None where it is none of this protocol, or forgotten."""
    digest = digest_of(run)
    if digest is None or run.notes.get(FORGOTTEN):
        return None
    given = run.spec.input
    script = given.script if isinstance(given, ShellCommand) else None
    ref = w.ScriptRef(script.size, script.sha256, script.args) if script is not None else None
    waits = ref is not None and run.awaits_script and not run.state.terminal
    return Retained(
        run=run.id,
        uuid=run.origin.native_run,
        digest=digest,
        revision=revision_of(run),
        open_stdin=run.spec.interactive,
        on_host=isinstance(run.work.input, ShellCommand),
        writes=_writes(run),
        narrator=Narrator(),
        assembly=Assembly(ref) if ref is not None and waits else None,
        approvals=list(run.approvals),
        lines=bool(run.notes.get(LINES)),
        running=run.state in _AT_WORK,
        last=run.last_seq if run.state.terminal else Seq(0),
        acked=run.acknowledged,
    )


def _writes(run: Run) -> WriteLog:
    work = run.work.input
    fed = isinstance(work, ShellCommand) and work.stdin is not None
    own = 0 if not fed else 1 if run.spec.interactive else 2  # the bytes, and the close behind
    return WriteLog(run.inputs, run.input_closed, answers_in(_noted(run, ANSWERS)), own)


def digest_of(run: Run) -> bytes | None:
    """The request's digest as it was stored."""
    kept = native_of(run.spec).get("sha256")
    try:
        return bytes.fromhex(kept) if isinstance(kept, str) else None
    except ValueError:
        return None


def revision_of(run: Run) -> int:
    """The revision as it was last raised."""
    for kept in (_noted(run, NATIVE), native_of(run.spec)):
        revision = kept.get("revision")
        if isinstance(revision, int):
            return revision
    return 1


def _noted(run: Run, name: str) -> Mapping[str, Json]:
    kept = run.notes.get(name)
    return kept if isinstance(kept, Mapping) else {}


def is_tombstone(run: Run) -> bool:
    """Whether only the memory of this command is left."""
    over = run.state.terminal and run.acknowledged >= run.last_seq
    return over or bool(run.notes.get(FORGOTTEN))


def lifecycle_of(run: Run) -> int:
    """Where the command is."""
    if run.outcome is not None:
        return from_outcome(run.outcome).lifecycle
    if run.awaits_script:
        return Lifecycle.AWAITING_SCRIPT
    return Lifecycle.RUNNING if run.state in _AT_WORK else Lifecycle.QUEUED


def state_of(run: Run, digest: bytes, *, tombstoned: bool) -> w.ReconcileCommandState:
    """A run as a snapshot tells of it."""
    return w.ReconcileCommandState(
        issue_uuid=run.origin.native_run,
        lifecycle=lifecycle_of(run),
        last_client_event_seq=run.last_seq,
        command_revision=revision_of(run),
        tombstoned=tombstoned,
        immutable_request_sha256=digest,
    )


_WORK: Final = ACTIVITY | {e.RunStarted, e.ApprovalRequested}


BURIED: Final = 10_000
"""Commands over and done with that a link remembers, a hundred bytes each: more than the journal
ever has in line, so that whatever is forgotten here is known there."""


class Retention:
    """The commands by uuid and by run, with the two figures that capacity is made of.

    `buried` has the digests of those that this link is done with. The journal knows them, too,
    but only once that is durable; a message right behind the acknowledgement may be earlier.
    """

    def __init__(self) -> None:
        self._by_uuid: dict[str, Retained] = {}
        self._by_run: dict[RunId, Retained] = {}
        self.buried: OrderedDict[str, bytes] = OrderedDict()
        self.running = 0
        self.queued = 0

    def __len__(self) -> int:
        return len(self._by_uuid)

    def __iter__(self) -> Iterator[Retained]:
        return iter(list(self._by_uuid.values()))

    def get(self, uuid: str) -> Retained | None:
        """The command of this uuid."""
        return self._by_uuid.get(uuid)

    def of(self, run: RunId) -> Retained | None:
        """The command of this run."""
        return self._by_run.get(run)

    def put(self, command: Retained) -> None:
        """Retain it, in place of what was known of it."""
        known = self._by_uuid.get(command.uuid)
        if known is not None:
            self.drop(known)
        self._by_uuid[command.uuid] = command
        self._by_run[command.run] = command
        self._count(command, 1)

    def drop(self, command: Retained) -> None:
        """Retain it no longer."""
        if self._by_uuid.pop(command.uuid, None) is not None:
            self._by_run.pop(command.run, None)
            self._count(command, -1)

    def bury(self, command: Retained) -> None:
        """Retain it no longer, and remember that it is done with."""
        self.drop(command)
        self.buried[command.uuid] = command.digest
        if len(self.buried) > BURIED:
            self.buried.popitem(last=False)

    def _count(self, command: Retained, by: int) -> None:
        if command.last:
            return
        if command.running:
            self.running += by
        else:
            self.queued += by

    def see(self, command: Retained, recorded: e.Recorded) -> None:
        """Follow what happens to the command."""
        event = recorded.event
        kind = type(event)
        if kind is e.OutputProduced and command.running:
            return
        self._count(command, -1)
        if kind in _WORK or (isinstance(event, e.StateChanged) and event.state in _AT_WORK):
            command.running = True
        if command.running or kind is e.RunFinished:
            command.assembly = None
        match event:
            case e.ApprovalRequested(approval=approval):
                if approval not in command.approvals:
                    command.approvals.append(approval)
            case e.ApprovalResolved(approval=approval):
                command.approvals = [each for each in command.approvals if each != approval]
            case e.RunFinished():
                command.last = recorded.seq
            case _:
                pass
        self._count(command, 1)

    @property
    def script_bytes(self) -> int:
        """Bytes of scripts that are being uploaded."""
        return sum(len(c.assembly.data) for c in self._by_uuid.values() if c.assembly is not None)
