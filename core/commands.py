"""What may be asked: a closed union of orders in the imperative, and what a run is asked to be.

Durations are nanoseconds, instants Unix nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from typing import TypeAlias

import attrs

from fleetgate.core.events import Decision
from fleetgate.core.ids import OrderNumber, RunId, SessionId, WorkerId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.values import value


@value
class Prompt:
    """Text for an agent. Empty `model` and `provider` mean the worker's own choice."""

    text: str
    system: str | None = None
    provider: str = ""
    model: str = ""
    effort: str | None = None
    extra_thinking: bool | None = None
    messages: tuple[Json, ...] = ()
    """An earlier conversation, `{"role": …, "content": …}` each, before `text`."""


@value
class Script:
    """A program text. `data` is None until its upload is complete (`SupplyScript`).

    `sha256` is the 32-byte digest and `size` the length that `data` must have.
    """

    size: int
    sha256: bytes
    args: tuple[str, ...] = ()
    data: bytes | None = attrs.field(default=None, repr=False)


@value
class ShellCommand:
    """A command for a host: exactly one of `line`, `argv`, `script`.

    `shell` is `""` (the worker's default), `none`, `sh`, `bash`, `zsh`,
    `powershell`, `pwsh` or `cmd`. `stdin` is written first; unless the run is
    interactive the input is closed behind it.
    """

    line: str | None = None
    argv: tuple[str, ...] | None = None
    script: Script | None = None
    shell: str = ""
    cwd: str = ""
    stdin: bytes | None = None
    merge_stderr: bool = False


@value
class ToolCall:
    """One call of a named tool."""

    name: str
    input: Json = None


Input: TypeAlias = Prompt | ShellCommand | ToolCall


@value
class RunSpec:
    """What a run is asked to be. Two equal specs are the same request (I6).

    `permission` is the field's usual word (`read_only`, `plan`, `edit`, `auto`,
    `bypass`) or empty. `approvals`: gated tool calls are put to the controller.
    `interactive`: input may be sent while it runs. `timeout` bounds the work,
    `expires` the instant until which it may wait in a queue. `resume` is a worker's
    own session id to continue. `labels` are what routes match on. `announce`: the run
    records an event as soon as it may wait for a worker, for a controller whose protocol
    speaks of that. `native` keeps what only the asking protocol understands, under that
    protocol's name.
    """

    input: Input
    workspace: tuple[str, ...] = ()
    environment: Mapping[str, str] = attrs.field(default=NOTHING, repr=False)
    timeout: int | None = None
    expires: int | None = None
    permission: str = ""
    approvals: bool = False
    interactive: bool = False
    background: bool = False
    session: SessionId | None = None
    resume: str | None = None
    labels: Mapping[str, str] = NOTHING
    announce: bool = False
    metadata: Mapping[str, Json] = NOTHING
    native: Mapping[str, Json] = NOTHING


@value
class Origin:
    """Who asked: the northbound entry (`link`), and the run's id in that peer's own words.
    `controller` is the name that the peer had proven; empty where nobody was asked for one."""

    link: str
    native_run: str
    controller: str = ""


@unique
class Signal(Enum):
    """A signal for the whole process group of a run."""

    INTERRUPT = "interrupt"
    TERMINATE = "terminate"
    KILL = "kill"
    HANGUP = "hangup"


@unique
class CancelScope(Enum):
    """What a cancel ends."""

    RUN = "run"
    SESSION = "session"


@unique
class StopMode(Enum):
    """How a controller asks its daemon to stop."""

    IF_IDLE = "if_idle"
    DRAIN = "drain"
    TERMINATE = "terminate"


# --- about one run, in the order in which a run usually meets them


@value
class StartRun:
    """Accept a run. The same id with an equal spec is the same run, with another a conflict."""

    run: RunId
    spec: RunSpec
    origin: Origin


@value
class SupplyScript:
    """The script that the run waits for is complete: `data` matches its `Script`."""

    run: RunId
    data: bytes = attrs.field(repr=False)


@value
class SendInput:
    """Write `data` to the run. Inputs of a run are numbered 1, 2, 3… with `CloseInput`."""

    run: RunId
    data: bytes = attrs.field(repr=False)
    newline: bool = False


@value
class CloseInput:
    """No more input comes."""

    run: RunId


@value
class SignalRun:
    """Send a signal to the run. One that no worker has yet is canceled instead."""

    run: RunId
    signal: Signal


@value
class CancelRun:
    """End the run, or with `CancelScope.SESSION` every run of its session."""

    run: RunId
    scope: CancelScope = CancelScope.RUN
    reason: str = ""


@value
class ResolveApproval:
    """Answer an approval that the run waits for."""

    run: RunId
    approval: str
    decision: Decision
    value: str | None = None


@value
class ResizeTerminal:
    """Tell the run's terminal its new size."""

    run: RunId
    rows: int
    columns: int


RunCommand: TypeAlias = (
    StartRun
    | SupplyScript
    | SendInput
    | CloseInput
    | SignalRun
    | CancelRun
    | ResolveApproval
    | ResizeTerminal
)


# --- about workers, sessions, and the gateway itself


@value
class StartRunIf:
    """Start a run, or refuse it at once: with `session_exists`, where its session is not known;
    with `worker_here`, where no worker is connected that it may go to (`unavailable`), or none
    of those has room (`resource_exhausted`). A run that is known is answered as it stands."""

    start: StartRun
    session_exists: bool = False
    worker_here: bool = False


@value
class LimitLink:
    """Let at most `at_once` runs of the northbound entry `link` be with workers at a time (None:
    any number); the others wait in order. It holds until it is set anew, also after a restart."""

    link: str
    at_once: int | None = None


@value
class ReadUsage:
    """Ask the workers that `link` is routed to for their account's usage.

    `one`: ask only one of them, which a run with these `labels` and this `session` may go to.
    `native` is the asking protocol's own question, under its name. `within`: how long a worker
    may take (nanoseconds; None: the hub's limit).
    """

    link: str
    one: bool = False
    labels: Mapping[str, str] = NOTHING
    session: SessionId | None = None
    native: Mapping[str, Json] = NOTHING
    within: int | None = None


@value
class ProbeWorkers:
    """Ask the workers that `link` is routed to what they are and can do."""

    link: str


@value
class EndSession:
    """Cancel a session's runs and forget the session."""

    session: SessionId


@value
class DrainWorker:
    """Give a worker no more runs (`on`), or runs again (`on=False`)."""

    worker: WorkerId
    on: bool = True


@value
class StopLink:
    """A controller of the northbound entry `link` asks its daemon to stop.

    From its answer on no run of that entry is accepted; `TERMINATE` also cancels
    those that are open. The entry closes once its last run has ended.
    """

    link: str
    mode: StopMode


@value
class AcknowledgeRun:
    """The controller has the run's events up to and with `through` (clamped to the last), and
    wants to hear that this is durable."""

    run: RunId
    through: int


@value
class DescribeRun:
    """Ask for one run as it stands. One that is just being accepted is waited for."""

    run: RunId


@value
class ListRuns:
    """Ask for the runs of one northbound entry, or of all (`link=None`).

    `open_only` leaves ended runs out. `unacknowledged` keeps of the ended ones only
    those whose controller has not acknowledged the last event.
    A page of them: those whose id is above `after` in byte order, at most `limit`, 1 or more
    (None: all). Or, with `latest` and a link: of those that have ended no more than so many,
    which ended last, and all that are open. With `controller`, of all these only those that it,
    or nobody by name, began; a page may then be shorter than `limit`.

    All runs of a link are listed with those that are just being accepted, which are waited for:
    a controller takes one that is not among them for never begun.
    """

    link: str | None = None
    open_only: bool = False
    unacknowledged: bool = False
    after: str = ""
    limit: int | None = None
    latest: int | None = None
    controller: str | None = None


@value
class ListWorkers:
    """Ask for the workers that are known. With `ids`, of these only."""

    ids: tuple[WorkerId, ...] | None = None


Command: TypeAlias = (
    RunCommand
    | StartRunIf
    | LimitLink
    | ReadUsage
    | ProbeWorkers
    | EndSession
    | DrainWorker
    | StopLink
    | AcknowledgeRun
    | DescribeRun
    | ListRuns
    | ListWorkers
)


@value
class Order:
    """A command on its way to the worker of its run.

    `number` is its place among the run's orders; `input` its place among the run's
    inputs, for `SendInput` and `CloseInput` (else 0). `created` is when the command was
    accepted (Unix nanoseconds): for the start itself that is the run's own `created`.
    """

    run: RunId
    number: OrderNumber
    command: RunCommand
    input: int = 0
    created: int = 0
