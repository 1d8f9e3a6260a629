"""The seam between the driver and an adapter.

A `Connection` is one end of one link. It is told things by plain calls and answers
each with steps: what it wants done, in order. It performs nothing, waits for nothing,
reads no clock. The driver (`fleetgate.gateway.connection`) is its only caller, makes
one call at a time, and performs the steps of one call before it makes the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from fleetgate.core.answers import Answer
from fleetgate.core.commands import Command, Order, ProbeWorkers, ReadUsage, RunSpec
from fleetgate.core.errors import Refusal
from fleetgate.core.events import Event, Recorded, Stamp
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.values import value
from fleetgate.core.watchers import WorkerNotice
from fleetgate.core.worker import InputKind, Reports, WorkerInfo
from fleetgate.protocols.carriage import Carriage, Misplaced
from fleetgate.protocols.explaining import Showing

# --- steps: either side


@value
class Send:
    """Put one frame on the wire, behind those sent before it."""

    frame: bytes


@value
class Wake:
    """Call `tick` at `at` (Unix nanoseconds) or a little later. A newer `Wake` replaces an
    older one; at each call only one is open."""

    at: int


@value
class Pause:
    """Stop reading from the link. Repeating it changes nothing."""


@value
class Resume:
    """Read again."""


@value
class SpeakOn:
    """The peer has said all it has to say: its end, in order, is not the link's, which we end."""


@value
class Close:
    """End the link once what was sent before is on the wire; nothing after it is performed.

    `code` is the close code where the carriage has one; None drops the link without a
    closing handshake. `reason` goes to the peer (where there is a place for it) and to the
    log. `retry`: whether whoever dialled this link may dial again by itself. `status` goes
    in place of `code` where the carriage ends a call with a gRPC status.
    """

    code: int | None
    reason: str
    retry: bool = True
    status: int | None = None


@value
class Report:
    """Something the operator should be able to see: it becomes one log line and a counter
    named `what` (snake_case). `detail` holds no payload and no secret."""

    what: str
    detail: str = ""
    run: RunId | None = None


@value
class Established:
    """The peers have come to terms: whoever dialled this link starts its backoff anew when it
    ends. Without this a link must have lived a while for that."""


# --- steps of a connection that faces a controller


@value
class Submit:
    """Ask the core. Its answer comes by `reply(reply_to, …)`. Submits, annotations and
    acknowledgements of one link take effect in the order of their steps; questions to workers
    go beside them. `key`, of a command about one run: once it was `Accepted`, a command
    with this key for that run is `Accepted` again, with the run as it stands by then, and not
    performed again (I6); a restart or the run's end changes nothing of that. A run remembers
    the last 10,000 keys (`Limits.run_keys`). What was refused leaves no key. `again`, of a start:
    it was refused openly before, and is asked once more to learn what has come of it. It waits
    until that is known, for `Limits.answer_within` at most, and goes beside what is in turn."""

    command: Command
    reply_to: Any = None
    key: str | None = None
    again: bool = False


@value
class Follow:
    """Deliver the run's events with a number above `after`: first what is recorded, then
    what comes. Following it again starts anew, and nothing of the old one comes after."""

    run: RunId
    after: Seq


@value
class Unfollow:
    """Deliver no more of the run. Nothing of it comes after this step."""

    run: RunId


@value
class Ack:
    """The controller has the run's events up to and with `through` (clamped to the last)."""

    run: RunId
    through: int


@value
class Annotate:
    """Keep a small value (at most 4 KiB as JSON) with the run, under the protocol's name.
    It is in `run.notes` ever after. Durable before anything sent after it leaves."""

    run: RunId
    name: str
    value: Json


@value
class Remember:
    """Keep a text, up to 4096 characters, that later links of the entry get as
    `Opening.remembered`. Durable before anything sent after it leaves; else the link ends."""

    text: str


@value
class WatchWorkers:
    """Call `noticed` for each worker here that this entry is routed to, then whenever one comes or
    goes, or something is told. A link that does not keep up ends."""


@value
class Notify:
    """Tell all who watch something that the peer said, or that became of it, in the protocol's
    own words. From a worker's link it is about that worker."""

    body: Json


# --- steps of a connection that faces a worker


@value
class AnnounceWorker:
    """This link is `worker`. Answered by `reply(reply_to, …)` with an `Admission`, or with
    `InstanceConflict` or `Unavailable`."""

    worker: WorkerInfo
    reply_to: Any = None


@value
class WorkerReady:
    """What was held is compared; orders may come. `free` is how many more runs it takes
    (None: any number)."""

    free: int | None = None


@value
class WithdrawWorker:
    """The worker leaves of its own accord. `gone`: it will not finish what it holds."""

    reason: str
    gone: bool = False


@value
class ReportCapacity:
    """How many more runs the worker takes now, beside those that were ordered already."""

    free: int | None


@value
class Record:
    """The worker reports `events` of `run`, in order, all or none. `native_seq` is its own number
    of the (last) native event they came from, if only to say that it came; `stamp` is what it says
    beside them. Numbers not above the run's last one are dropped (I4). `committed` tells when it is
    durable."""

    run: RunId
    events: tuple[Event, ...]
    native_seq: int | None = None
    stamp: Stamp | None = None


@value
class Settle:
    """The worker confirmed (`error=None`) or refused an order; it is not handed over again."""

    run: RunId
    number: OrderNumber
    error: Refusal | None = None


@value
class Respond:
    """The worker's answer to `ask(question_id, …)`."""

    question_id: int
    reports: Reports | Refusal


FromCore: TypeAlias = (
    Submit | Annotate | Remember | Ack | Follow | Unfollow | WatchWorkers | AnnounceWorker
)
"""Steps that want something of the core, behind what was recorded before."""
_OfEither: TypeAlias = (
    Send | Wake | Pause | Resume | SpeakOn | Close | Report | Established | Notify
)
_OfAWorker: TypeAlias = WorkerReady | WithdrawWorker | ReportCapacity | Record | Settle | Respond
Step: TypeAlias = FromCore | _OfEither | _OfAWorker
Steps: TypeAlias = Sequence[Step]

NO_STEPS: Steps = ()


@value
class Opening:
    """What is known of a link when it opens.

    `link` is the configured entry's name, `gateway` the gateway's, `instance` an id of the
    entry that is kept with the journal (a lower-case UUID). `identities` are names that the
    transport has verified for the peer: a certificate's CN and SANs, or what a bearer token
    is mapped to. `headers` have lower-case names. `entropy` is 16 fresh random bytes.
    """

    link: str
    gateway: str = "gateway"
    instance: str = ""
    peer: str = ""
    path: str = ""
    headers: Mapping[str, str] = attrs.field(default=NOTHING, repr=False)
    identities: tuple[str, ...] = ()
    guarded: bool = False
    """Whether the entry has tokens at all, wherever they are shown."""
    authenticated: bool = False
    """Whether the carriage demanded an identity; then `identities` binds the peer."""
    entropy: bytes = attrs.field(default=bytes(16), repr=False)
    subprotocol: str | None = None
    """What the upgrade agreed on; empty: nothing. None: there is no telling."""
    remembered: str = ""
    """What an earlier link of the entry wanted remembered (`Remember`)."""
    token: str | None = attrs.field(default=None, repr=False)
    """What this end shows to its peer, where the protocol does so in a message."""
    identify: Callable[[str], str | None] = attrs.field(
        default=lambda token: None, repr=False, eq=False
    )
    """Whom a token that the peer shows in a message speaks for, as the entry's `tokens` say;
    None: nobody. Compares in constant time. Raises: `Unavailable`: there is no telling now."""


class Connection:
    """One end of one link. Override what the side needs; the rest answers with no steps.

    `now` is Unix nanoseconds and never falls. A call that raises `RemoteProtocolError`
    ends the link with that error's `steps`; any other exception is a fault of ours and
    ends the link too, and nothing but the link (I11).
    """

    def opened(self, opening: Opening, now: int) -> Steps:
        """The link is up. Called once, first."""
        return NO_STEPS

    def receive(self, frame: bytes, now: int) -> Steps:
        """One whole frame came. Not called while paused."""
        return NO_STEPS

    def tick(self, now: int) -> Steps:
        """The time of the last `Wake` has come."""
        return NO_STEPS

    def drain(self, now: int) -> Steps:
        """The gateway is about to stop: tell the peer, take nothing new."""
        return NO_STEPS

    def closed(self, reason: str, now: int) -> Steps:
        """The link is gone. Called once, last; only `Record`, `WithdrawWorker`, `Notify` and
        `Submit` are performed, and no answer comes."""
        return NO_STEPS

    # facing a controller

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        """The answer to a `Submit` or `AnnounceWorker`."""
        return NO_STEPS

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        """Events of one followed run, in order, without a gap."""
        return NO_STEPS

    def noticed(self, notice: WorkerNotice, now: int) -> Steps:
        """What `WatchWorkers` asked for."""
        return NO_STEPS

    # facing a worker

    def end_session(self, session: str, now: int) -> Steps:
        """A controller has ended the worker's session of this name. Only after `WorkerReady`."""
        return NO_STEPS

    def perform(self, order: Order, now: int) -> Steps:
        """Give the worker an order. Only after `WorkerReady`, in order per run. A start comes
        as number 0 with the run's whole spec; its `RunAssigned` is durable."""
        return NO_STEPS

    def ask(self, question_id: int, question: ProbeWorkers | ReadUsage, now: int) -> Steps:
        """Ask the worker; only where its info says `asks`. Answer with `Respond`."""
        return NO_STEPS

    def committed(self, run: RunId, native_seq: int, now: int) -> Steps:
        """What is recorded of `run` up to the worker's number `native_seq` is durable."""
        return NO_STEPS

    def fenced(self, reason: str, now: int) -> Steps:
        """A newer link of the same worker has taken over; nothing from this one counts."""
        return NO_STEPS

    def dismissed(self, reason: str, now: int) -> Steps:
        """What let the peer in holds no more. The link is closed behind these words to it."""
        return NO_STEPS


@value
class Side:
    """One side of a protocol: the attrs class of its settings (all with defaults; durations in
    seconds), and its connections. `denies`: is what runs from such an entry ask for denied at once?
    Southbound, `inputs` are what workers take; `decisions`: are they told of those? `asks`: do runs
    come from such an entry? `prepare` gives a spec what `native` means for a run that waits; it
    gets the instant of its acceptance, in Unix nanoseconds. `misplaced`: could nobody be met there?
    """

    settings: type[Any]
    open: Callable[[Any], Connection]
    carriage: Callable[[Any], Carriage]
    inputs: frozenset[InputKind] = frozenset()
    prepare: Callable[[RunSpec, int], RunSpec] | None = None
    asks: Callable[[Any], bool] | None = None
    denies: Callable[[Any], bool] | None = None
    decisions: bool = True
    misplaced: Misplaced | None = None


@value
class Adapter:
    """A protocol as the registry knows it. `showing` is for people who look at its frames."""

    name: str
    northbound: Side
    southbound: Side
    showing: Showing = Showing()


class ProtocolError(Exception):
    """Something that the protocol forbids. Never raised itself."""

    def __init__(self, message: str, steps: Steps = ()) -> None:
        if type(self) is ProtocolError:
            raise TypeError("say whose fault it was: LocalProtocolError or RemoteProtocolError")
        super().__init__(message)
        self.steps = steps
        """Answers to send and, last, a `Close`. Empty: the connection that raises it decides."""


class RemoteProtocolError(ProtocolError):
    """The peer did it."""


class LocalProtocolError(ProtocolError):
    """We tried to."""
