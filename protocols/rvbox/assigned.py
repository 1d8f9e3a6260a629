"""A server's books on one link: the commands that this client was given, and how each stands."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum, unique
from typing import Final

import attrs

from fleetgate.core.commands import Script, ShellCommand
from fleetgate.core.events import RunState
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import Annotate
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.reconcile import Ended
from fleetgate.protocols.rvbox.script import Upload
from fleetgate.protocols.rvbox.stdin import WriteQueue
from fleetgate.protocols.rvbox.translate import NATIVE, issue_uuid, to_dispatch


@unique
class Standing(Enum):
    """How far a command has come with its client."""

    UNSENT = "unsent"
    ASKED = "asked"
    """Dispatched, not answered."""
    FULL = "full"
    """Refused for want of room; to be dispatched again."""
    TAKEN = "taken"
    """Accepted."""


@attrs.define(slots=True, eq=False)
class Command:
    """One command. The three sequence numbers are the client's: `taken` is the last event
    that was put in line for the journal, `committed` the last durable one, `acked` the last
    one that the client was told of. `exit_seq` is the number of its exit, 0 before."""

    run: RunId
    dispatch: w.CommandDispatch
    standing: Standing
    stored: bool
    """Whether the request's digest is in the journal: it is never sent before."""
    taken: int
    stdin: WriteQueue
    upload: Upload | None
    inputs: int
    running: bool = False
    canceling: bool = False
    revision: int = 1
    committed: int = 0
    acked: int = 0
    exit_seq: int = 0
    gaps: int = 0
    """Reconciles in a row that a gap in its events has caused."""
    refusals: int = 0
    """How often it was refused for want of room on this link."""

    @property
    def uuid(self) -> str:
        """Its issue_uuid."""
        return self.dispatch.issue_uuid

    def expired(self, now: int) -> bool:
        """Whether its queue expiry has passed: unless the client has it, it is not sent."""
        expiry = self.dispatch.queue_expiry_time
        return expiry is not None and expiry <= now


_AT_WORK = frozenset({RunState.RUNNING, RunState.WAITING, RunState.FINISHING})


def make_command(run: Run) -> Command:
    """A command as the journal has its run; `run.spec` is what the worker is given.

    Raises: `InvalidArgument`, `UnsupportedInput`.
    """
    dispatch = to_dispatch(issue_uuid(run.id, run.origin), run.spec, run.created)
    stored = stored_digest(run)
    if stored is not None:
        dispatch = attrs.evolve(dispatch, immutable_request_sha256=stored)
    return Command(
        run=run.id,
        dispatch=dispatch,
        standing=Standing.TAKEN if run.accepted else Standing.UNSENT,
        stored=stored is not None,
        taken=run.native_seq,
        stdin=WriteQueue(dispatch.issue_uuid, run.inputs_accepted),
        upload=_upload(run, dispatch.issue_uuid),
        inputs=run.inputs,
        running=run.state in _AT_WORK,
        canceling=run.canceling,
        committed=run.native_seq,
        acked=run.native_seq,
    )


DIGEST: Final = f"{NATIVE}.digest"
"""A run's note: the digest that its client was given. Computed once: another version of this
program might compute another one, and end the command by it."""


def stored_digest(run: Run) -> bytes | None:
    """The digest as the journal has it, None where the request was never sent."""
    kept = run.notes.get(DIGEST)
    try:
        return bytes.fromhex(kept) if isinstance(kept, str) else None
    except ValueError:
        return None


def note_digest(command: Command) -> Annotate:
    """Have the journal keep it; nothing sent after this leaves before that is durable."""
    command.stored = True
    return Annotate(command.run, DIGEST, command.dispatch.immutable_request_sha256.hex())


def _upload(run: Run, uuid: str) -> Upload | None:
    given = run.spec.input
    script = given.script if isinstance(given, ShellCommand) else None
    if not isinstance(script, Script) or script.data is None:
        return None
    return Upload(uuid, script.data, script.sha256)


class Assigned:
    """The commands by uuid and by run, those that wait for an answer, and those that ended.

    `known_ended` bounds the memory of ended ones; the oldest are forgotten first, and their
    late events then count as those of an unknown command.
    """

    def __init__(self, known_ended: int) -> None:
        self.by_uuid: dict[str, Command] = {}
        self.by_run: dict[RunId, Command] = {}
        self.unanswered: dict[str, int] = {}
        """When each dispatch went out that has no answer, oldest first."""
        self.full: dict[str, None] = {}
        self.kills: dict[str, int] = {}
        """When each canceled command is killed, unless it has ended by then."""
        self.ended: OrderedDict[str, Ended] = OrderedDict()
        """Those that ended on this link."""
        self._known_ended = known_ended

    def add(self, command: Command) -> None:
        """One more command."""
        self.by_uuid[command.uuid] = command
        self.by_run[command.run] = command

    def asked(self, command: Command, now: int) -> None:
        """It was dispatched."""
        command.standing = Standing.ASKED
        self.full.pop(command.uuid, None)
        self.unanswered.pop(command.uuid, None)
        self.unanswered[command.uuid] = now

    def taken(self, command: Command) -> None:
        """The client accepted it."""
        command.standing = Standing.TAKEN
        self.unanswered.pop(command.uuid, None)
        self.full.pop(command.uuid, None)

    def refused_full(self, command: Command) -> None:
        """The client has no room for it."""
        command.standing = Standing.FULL
        self.unanswered.pop(command.uuid, None)
        self.full[command.uuid] = None

    def end(self, command: Command) -> None:
        """Its run has ended."""
        uuid = command.uuid
        for table in (self.by_uuid, self.unanswered, self.full, self.kills):
            table.pop(uuid, None)
        self.by_run.pop(command.run, None)
        self.ended[uuid] = Ended(command.taken, command.dispatch.immutable_request_sha256)
        if len(self.ended) > self._known_ended:
            self.ended.popitem(last=False)

    @property
    def room_taken(self) -> int:
        """Commands that the client's own figures do not count yet."""
        return len(self.unanswered) + len(self.full)
