"""What has happened in a run: a closed union of facts in the past tense.

Every event of a run has one number, given once by the journal (I1). A text or
bytes body is at most `MAX_BODY`; whoever takes a longer native event in splits it.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import Final, TypeAlias

from fleetgate.core.ids import Epoch, RunId, Seq, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.values import value

MAX_BODY: Final = 64 * 1024
"""Bytes of one event's text or output: small enough that a follower's batch stays
bounded, large enough that rvbox's largest chunk fits unsplit."""


@unique
class RunState(Enum):
    """Where a run is. The transition table is in `fleetgate.core.run`."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    FINISHING = "finishing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    LOST = "lost"

    @property
    def terminal(self) -> bool:
        """Whether nothing can follow."""
        return self in _TERMINAL


_TERMINAL: Final = frozenset(
    {RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELED, RunState.LOST}
)


@unique
class Stream(Enum):
    """An output stream of a process."""

    STDOUT = "stdout"
    STDERR = "stderr"

    # `Enum` has one in Python, of the name. Tables by stream are looked into for every event.
    __hash__ = object.__hash__


@unique
class Decision(Enum):
    """How an approval was answered."""

    ALLOW_ONCE = "allow_once"
    ALLOW_SIMILAR = "allow_similar"
    DENY = "deny"
    VALUE = "value"


@unique
class Reason(Enum):
    """Why a run ended."""

    EXITED = "exited"
    """The work came to its own end; success or not is the outcome's state."""
    FAILED_TO_START = "failed_to_start"
    TIMED_OUT = "timed_out"
    CANCELED = "canceled"
    EXPIRED = "expired"
    """It waited in a queue past its expiry and never ran."""
    LOST = "lost"
    """Nobody can know how it ended."""
    REFUSED = "refused"
    """The worker would not take it."""
    ERROR = "error"
    """The worker reports a failure that is not an exit of the work itself."""


@value
class Outcome:
    """How a run ended.

    `state` is terminal. `message` is for people. `exit_code` and `signal` (such as
    `"SIGTERM"`) are those of a process; `text` is a final answer if the worker gave
    one. `native` is the protocol's own ending, kept under the protocol's name.
    """

    state: RunState
    reason: Reason
    message: str = ""
    exit_code: int | None = None
    signal: str | None = None
    text: str | None = None
    native: Json = None


@value
class RunAssigned:
    """The run was given to a worker. Recorded before the worker hears of it."""

    worker: WorkerId
    epoch: Epoch


@value
class RunStarted:
    """The work itself began. `pid` is the process id at the worker, if there is one."""

    pid: int | None = None


@value
class SessionOpened:
    """The worker named its own session (to resume by) and perhaps the model."""

    native_session: str
    model: str | None = None


@value
class TextProduced:
    """The agent said `text`."""

    text: str


@value
class ReasoningProduced:
    """The agent thought `text`."""

    text: str


@value
class OutputProduced:
    """A process wrote `data`; `offset` counts the bytes of that stream before it.

    A chunk may split a UTF-8 character.
    """

    stream: Stream
    data: bytes
    offset: int = 0


@value
class MessageEnded:
    """One message of the agent is complete; what follows is another."""


@value
class ToolCalled:
    """The agent called a tool. `call` ties the result to it, where the worker names it."""

    name: str
    input: Json = None
    call: str | None = None


@value
class ToolProgressed:
    """A tool reported on its way."""

    text: str
    call: str | None = None


@value
class ToolReturned:
    """A tool ended. `ok` is None where the worker does not say."""

    output: str
    ok: bool | None = None
    call: str | None = None


@value
class ApprovalRequested:
    """The run waits until the approval `approval` is resolved."""

    approval: str
    title: str
    detail: Json = None


@value
class ApprovalResolved:
    """The approval was answered; `value` goes with `Decision.VALUE`."""

    approval: str
    decision: Decision
    value: str | None = None


@value
class InputAccepted:
    """The worker took every input up to and with number `through` (1, 2, 3… per run)."""

    through: int


@value
class UsageReported:
    """Cumulative usage. `detail` is the worker's whole report."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    detail: Json = None


@value
class RateLimited:
    """The worker reports on its rate limit."""

    detail: Json = None


@value
class HistoryCompacted:
    """The worker compacts, or has compacted, the conversation's history."""

    detail: Json = None


@value
class CommandsListed:
    """The worker says which commands and skills a prompt may use."""

    detail: Json = None


@value
class StateChanged:
    """The run is now in `state`, which is not terminal. `detail` is a short word of the
    worker's, such as `queued`, `accepted` or `awaiting_script`."""

    state: RunState
    detail: str = ""


@value
class Diagnosed:
    """Something went wrong that does not end the run."""

    message: str
    code: str = ""


@value
class GapFound:
    """The worker's events `from_seq`…`to_seq` (its own numbers, both ends included) are
    gone. They are never passed over in silence (I10)."""

    from_seq: int
    to_seq: int
    reason: str


@value
class RunFinished:
    """The end. Exactly one per run, and nothing after it (I5)."""

    outcome: Outcome


Event: TypeAlias = (
    RunAssigned
    | RunStarted
    | SessionOpened
    | TextProduced
    | ReasoningProduced
    | OutputProduced
    | MessageEnded
    | ToolCalled
    | ToolProgressed
    | ToolReturned
    | ApprovalRequested
    | ApprovalResolved
    | InputAccepted
    | UsageReported
    | RateLimited
    | HistoryCompacted
    | CommandsListed
    | StateChanged
    | Diagnosed
    | GapFound
    | RunFinished
)


@value
class Stamp:
    """What a worker says beside an event: when it happened, in Unix nanoseconds by its clock, and
    what only its protocol understands, under the protocol's name. None where it does not say."""

    time: int | None = None
    native: Json = None


@value
class Source:
    """Where a worker's event came from: the connection's epoch, the number the worker itself
    gave it (None where its protocol has no numbers), and what it said beside it (`Stamp`).

    From the first time on that a run's worker says, every event of the run has one here, which
    never falls: where the worker says none it is the time of recording, and what the gateway
    itself records has epoch 0 then."""

    epoch: Epoch
    seq: int | None
    time: int | None = None
    native: Json = None


@value
class Recorded:
    """An event with its place. `time` is Unix nanoseconds and never falls within a run.
    `source` is None for what the gateway itself recorded, unless the worker's clock counts."""

    run: RunId
    seq: Seq
    time: int
    event: Event
    source: Source | None = None
