"""The messages of AgencyProxy 0.1c to 0.4, named and ordered as the protocol does.

Members are written in the order in which they stand here. Annotations are read at run
time by the strict converter, so this file does not postpone them.
"""

from collections.abc import Mapping
from enum import Enum, unique
from typing import Final, TypeAlias

import attrs

from fleetgate.core.json import NOTHING, Json
from fleetgate.core.values import value
from fleetgate.protocols.strict import U16, U64

MAX_TEXT: Final = 1 << 20
"""Bytes of one JSON text; the protocol's own limit (`MAX_FRAME_BYTES`)."""

MAX_FRAME: Final = MAX_TEXT + 1
"""Bytes of a frame as transports carry it: the kind byte stands before the text."""

MAX_SEQUENCE: Final = 2**64 - 1


@value
class ProtocolVersion:
    """Peers of one major understand each other at the lower of their minors."""

    major: U16
    minor: U16


# --- client to daemon


@unique
class ShutdownMode(Enum):
    """What becomes of runs that are active."""

    DRAIN = "drain"
    TERMINATE = "terminate"


@unique
class ApprovalDecision(Enum):
    """A client's answer to an approval request."""

    ALLOW_ONCE = "allow_once"
    ALLOW_SIMILAR = "allow_similar"
    DENY = "deny"


@value
class RunRequest:
    """What a run is asked to be (section 3.1)."""

    provider: str
    model: str
    prompt: str
    is_command: bool = attrs.field(default=False, kw_only=True)
    system: str | None = attrs.field(default=None, kw_only=True)
    permission: str
    effort: str | None = attrs.field(default=None, kw_only=True)
    extra_thinking: bool | None = attrs.field(default=None, kw_only=True)
    approvals: bool
    interactive: bool
    workspace_roots: tuple[str, ...]
    resume_session_id: str | None = attrs.field(default=None, kw_only=True)
    binary: str | None = attrs.field(default=None, kw_only=True)
    environment: Mapping[str, str] = attrs.field(default=NOTHING, kw_only=True, repr=False)
    unchecked_args: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    metadata: Mapping[str, Json] = attrs.field(default=NOTHING, kw_only=True)


@value
class Hello:
    """The first message of a connection."""

    client_name: str
    version: ProtocolVersion


@value
class ListRuns:
    """Ask for every run."""


@value
class ProbeProviders:
    """Ask what the daemon can run."""


@value
class ReadAccountUsage:
    """Ask how much of the accounts is used."""


@value
class ShutdownIfIdle:
    """Stop unless a run is active."""


@value
class Shutdown:
    """Take no new runs, and stop once the active ones are dealt with."""

    mode: ShutdownMode


@value
class StartRun:
    """Start a run under an id that was never used."""

    run_id: str
    request: RunRequest
    idempotency_key: str


@value
class AttachRun:
    """Send the events behind `after_sequence`, then those to come."""

    run_id: str
    after_sequence: U64


@value
class DetachRun:
    """Send no more events of the run."""

    run_id: str


@value
class InjectMessage:
    """Say something to a run that listens."""

    run_id: str
    body: str = attrs.field(repr=False)
    idempotency_key: str


@value
class CancelRun:
    """End a run."""

    run_id: str
    idempotency_key: str


@value
class DecideApproval:
    """Answer an approval request."""

    run_id: str
    approval_id: str
    decision: ApprovalDecision
    idempotency_key: str


@value
class AckEvents:
    """The events up to `through_sequence` are safe: the daemon may forget them."""

    run_id: str
    through_sequence: U64


@value
class InterruptSession:
    """Interrupt whatever runs in a provider's session (0.4)."""

    provider: str
    session_id: str
    binary: str | None = attrs.field(default=None, kw_only=True)
    idempotency_key: str


ClientMessage: TypeAlias = (
    Hello
    | ListRuns
    | ProbeProviders
    | ReadAccountUsage
    | ShutdownIfIdle
    | Shutdown
    | StartRun
    | AttachRun
    | DetachRun
    | InjectMessage
    | CancelRun
    | DecideApproval
    | AckEvents
    | InterruptSession
)


@value
class ClientFrame:
    """A message and the number that its answer will carry."""

    request_id: int
    message: ClientMessage


# --- daemon to client: answers


@unique
class ErrorCode(Enum):
    """What kind of refusal an error is."""

    INCOMPATIBLE_VERSION = "incompatible_version"
    PROTOCOL_VIOLATION = "protocol_violation"
    NOT_FOUND = "not_found"
    NOT_IMPLEMENTED = "not_implemented"
    CONFLICT = "conflict"
    INTERNAL = "internal"


@unique
class RunState(Enum):
    """Where a run is. `finishing` and `interrupted` are in the type and set by no daemon."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    FINISHING = "finishing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    INTERRUPTED = "interrupted"


TERMINAL: Final = frozenset(
    {RunState.COMPLETED, RunState.FAILED, RunState.CANCELED, RunState.INTERRUPTED}
)


@value
class ProviderStatus:
    """What a daemon says of one provider."""

    provider: str
    installed: bool
    version: str | None = attrs.field(default=None, kw_only=True)
    outdated: bool
    auth_state: str
    detail: str
    auth_method: str | None = attrs.field(default=None, kw_only=True)
    account: str | None = attrs.field(default=None, kw_only=True)
    plan: str | None = attrs.field(default=None, kw_only=True)
    login_hint: str


@value
class ProviderAccountUsage:
    """A provider's account usage, or why there is none."""

    provider: str
    supported: bool
    usage: Json = None
    error: str | None = None


@value
class RunSnapshot:
    """A run as it stands."""

    run_id: str
    state: RunState
    provider: str
    model: str
    provider_session_id: str | None = attrs.field(default=None, kw_only=True)
    latest_sequence: U64
    acknowledged_sequence: U64
    workspace_roots: tuple[str, ...]
    metadata: Mapping[str, Json] = attrs.field(default=NOTHING, kw_only=True)


@value
class HelloAnswer:
    """The daemon's side of the agreement. Capabilities are names; unknown ones are kept."""

    server_name: str
    version: ProtocolVersion
    capabilities: tuple[str, ...]


@value
class Runs:
    """Every run, by id."""

    runs: tuple[RunSnapshot, ...]


@value
class Providers:
    """What can be run here."""

    providers: tuple[ProviderStatus, ...]


@value
class AccountUsage:
    """How much of the accounts is used."""

    providers: tuple[ProviderAccountUsage, ...]


@value
class RunAnswer:
    """The run that was attached to."""

    run: RunSnapshot


@value
class Accepted:
    """Yes."""


@value
class SessionInterrupted:
    """Whether a turn was interrupted (0.4)."""

    interrupted: bool


@value
class Error:
    """No, and why."""

    code: ErrorCode
    message: str


ServerResponse: TypeAlias = (
    HelloAnswer
    | Runs
    | Providers
    | AccountUsage
    | RunAnswer
    | Accepted
    | SessionInterrupted
    | Error
)


@value
class Response:
    """The answer to the request of that number."""

    request_id: int
    response: ServerResponse


@value
class PeerCloses:
    """The peer says that it ends the connection (frame kind 4). Either side may get it."""
