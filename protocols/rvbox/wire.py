"""The messages of rvbox, named as the protocol names them.

Instants are Unix nanoseconds and durations nanoseconds, None where the message has none.
An enumeration's member is a plain number: a peer may send one that has no name here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from fleetgate.core.json import NOTHING
from fleetgate.core.values import value
from fleetgate.protocols.rvbox.enums import CommandLifecycle as CommandLifecycle
from fleetgate.protocols.rvbox.enums import ControlErrorCode as ControlErrorCode
from fleetgate.protocols.rvbox.enums import OutputStream as OutputStream
from fleetgate.protocols.rvbox.enums import Platform as Platform
from fleetgate.protocols.rvbox.enums import ShellType as ShellType
from fleetgate.protocols.rvbox.enums import SignalKind as SignalKind


@value
class ControlError:
    """An error with its code."""

    code: int = 0
    message: str = ""


# --- session


@attrs.frozen(slots=True, order=True)
class ProtocolVersion:
    """A version; it orders by `major`, then `minor`."""

    major: int = 0
    minor: int = 0


@value
class ProtocolRange:
    """Versions from `minimum` to `maximum`, both included."""

    minimum: ProtocolVersion = ProtocolVersion()
    maximum: ProtocolVersion = ProtocolVersion()


@value
class ClientHello:
    """A client says who it is. The only message outside a session."""

    client_id: str = ""
    supported_protocol: ProtocolRange | None = None
    daemon_version: str = ""
    platform: int = 0
    architecture: str = ""
    daemon_cwd: str = ""
    supported_shells: tuple[int, ...] = ()
    client_instance_id: str = ""
    max_running_commands: int = 0
    max_queued_commands: int = 0
    sent_at: int | None = None


@value
class ServerWelcome:
    """The server opens the session that its envelope names."""

    selected_protocol: ProtocolVersion = ProtocolVersion()
    server_time: int | None = None


@value
class ClientCapacity:
    """How busy the client is, and how busy it may be."""

    running_commands: int = 0
    queued_commands: int = 0
    max_running_commands: int = 0
    max_queued_commands: int = 0


@value
class AgentError:
    """Something is wrong. With `close_session` the sender closes right behind it."""

    error: ControlError = ControlError()
    close_session: bool = False


# --- reconcile


@value
class ReconcileTarget:
    """A command that the server believes open on this client."""

    issue_uuid: str = ""
    last_server_event_seq: int = 0
    command_revision: int = 0
    immutable_request_sha256: bytes = b""


@value
class ReconcileRequest:
    """The server says what it believes."""

    targets: tuple[ReconcileTarget, ...] = ()


@value
class ReconcileCommandState:
    """A command that the client retains, or knows by its tombstone only."""

    issue_uuid: str = ""
    lifecycle: int = 0
    last_client_event_seq: int = 0
    command_revision: int = 0
    tombstoned: bool = False
    immutable_request_sha256: bytes = b""


@value
class ReconcileSnapshot:
    """All that the client retains."""

    retained_commands: tuple[ReconcileCommandState, ...] = ()


@value
class ReconcileResult:
    """What the client is to end, and what it is to forget."""

    terminate_local_issue_uuids: tuple[str, ...] = ()
    discard_local_terminal_issue_uuids: tuple[str, ...] = ()


# --- commands


@value
class Argv:
    """A program and its arguments."""

    args: tuple[str, ...] = ()


@value
class ScriptRef:
    """A script that is uploaded behind the dispatch."""

    size_bytes: int = 0
    sha256: bytes = b""
    args: tuple[str, ...] = ()


@value
class ExecutionSpec:
    """What to execute. `program` is a command line, an `Argv` or a `ScriptRef`.

    `unknown` holds, still encoded, the members that this version does not know: between two
    ends of this protocol they pass unchanged.
    """

    program: str | Argv | ScriptRef | None = None
    shell: int = 0
    cwd: str = ""
    env: Mapping[str, str] = attrs.field(default=NOTHING, repr=False)
    timeout: int | None = None
    open_stdin: bool = False
    merge_stderr: bool = False
    unknown: bytes = b""


@value
class CommandDispatch:
    """The server asks for a command."""

    issue_uuid: str = ""
    command_revision: int = 0
    target_session_generation: int = 0
    issue_time: int | None = None
    spec: ExecutionSpec = ExecutionSpec()
    queue_expiry_time: int | None = None
    immutable_request_sha256: bytes = b""


@value
class CommandAccepted:
    """The client's answer to a dispatch: taken, or why not."""

    issue_uuid: str = ""
    command_revision: int = 0
    accepted: bool = False
    rejection: ControlError | None = None


@value
class StdinWrite:
    """Bytes for a command's standard input."""

    issue_uuid: str = ""
    write_seq: int = 0
    data: bytes = attrs.field(default=b"", repr=False)
    append_newline: bool = False


@value
class CloseStdin:
    """No more bytes come."""

    issue_uuid: str = ""
    write_seq: int = 0


@value
class SignalCommand:
    """A signal for a command."""

    issue_uuid: str = ""
    command_revision: int = 0
    signal: int = 0


@value
class ScriptChunk:
    """A piece of a script; `offset` counts the bytes before it."""

    issue_uuid: str = ""
    offset: int = 0
    data: bytes = attrs.field(default=b"", repr=False)
    sha256: bytes = b""


@value
class ScriptCommit:
    """The script is complete."""

    issue_uuid: str = ""
    size_bytes: int = 0
    sha256: bytes = b""


# --- events


@value
class LifecycleChanged:
    """The command is now at `lifecycle`; `pid` goes with `RUNNING`."""

    lifecycle: int = 0
    pid: int = 0


@value
class OutputChunk:
    """The command wrote `data`, behind `offset` bytes of the same stream."""

    stream: int = 0
    data: bytes = attrs.field(default=b"", repr=False)
    offset: int = 0


Piece: TypeAlias = tuple[int, bytes, int]
"""The members of an `OutputChunk`, where no value is made of them."""


@value
class StdinAck:
    """Every write up to this one is in the command's pipe."""

    through_write_seq: int = 0


@value
class CommandExit:
    """The command's last event."""

    lifecycle: int = 0
    exit_code: int | None = None
    signal: str = ""
    error: ControlError | None = None


Happening: TypeAlias = LifecycleChanged | OutputChunk | StdinAck | CommandExit


@value
class CommandEvent:
    """Something happened to a command. `event` is None where it is of no kind known here."""

    issue_uuid: str = ""
    command_revision: int = 0
    event_seq: int = 0
    event_time: int | None = None
    event: Happening | None = None


@value
class EventAck:
    """The server has every event of the command up to this one, durably."""

    issue_uuid: str = ""
    through_event_seq: int = 0


# --- the envelope


@value
class Unknown:
    """The payload of an envelope that holds none known here."""


Payload: TypeAlias = (
    ClientHello
    | ServerWelcome
    | CommandDispatch
    | CommandAccepted
    | CommandEvent
    | EventAck
    | StdinWrite
    | CloseStdin
    | SignalCommand
    | ScriptChunk
    | ScriptCommit
    | ClientCapacity
    | ReconcileRequest
    | ReconcileSnapshot
    | AgentError
    | ReconcileResult
    | Unknown
)


@value
class Envelope:
    """One frame: a payload, and the session that it belongs to."""

    session_id: str
    session_generation: int
    payload: Payload
