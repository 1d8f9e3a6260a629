"""A test language for conversations (and `check_adapter`, from `checking`).

A `Playbook` tells a connection things and says which steps must come back, exactly and
in order. It stands in for the driver, so it refuses what the driver never does: a frame
while the connection has asked for a pause, a call after a close. Where a conversation
goes another way, the failure shows all of it. Use it as a context manager: leaving it
fails if steps came that nobody expected.

    with Playbook(connection, decode=codec.decode, encode=codec.encode) as play:
        play.opened().expect()
        play.receive(hello).expect(Sent(welcome))
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from types import TracebackType
from typing import Any, Final

import attrs

from fleetgate.core.answers import Answer
from fleetgate.core.commands import Order, ProbeWorkers, ReadUsage
from fleetgate.core.events import Event, Recorded
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.times import SECOND
from fleetgate.core.watchers import WorkerNotice
from fleetgate.protocols.api import (
    Close,
    Connection,
    Opening,
    Pause,
    Record,
    RemoteProtocolError,
    Resume,
    Send,
    Settle,
    Step,
    Steps,
    Wake,
)
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.checking import STEP_KINDS, check_adapter

__all__ = [
    "SECOND",
    "START",
    "Playbook",
    "Sent",
    "Slot",
    "check_adapter",
    "number",
    "outcome",
    "slot",
]

START: Final = 1_700_000_000 * SECOND
"""Where a playbook's time begins."""


@attrs.frozen(slots=True)
class Sent:
    """An expected `Send`, told by its message: what the playbook's `decode` makes of the frame."""

    message: Any


class Slot:
    """Stands for a value that the test cannot know beforehand, such as a `reply_to`: it equals
    the first value that it meets, keeps it, and from then on equals only that."""

    __slots__ = ("_values",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self._values: list[Any] = []

    def __eq__(self, other: object) -> bool:
        if not self._values:
            self._values.append(other)
        return bool(self._values[0] == other)

    def __repr__(self) -> str:
        return repr(self._values[0]) if self._values else "<anything>"

    @property
    def value(self) -> Any:
        """What it met. Fails where it met nothing."""
        assert self._values, "nothing was compared with this slot yet"
        return self._values[0]


def slot() -> Any:
    """A new `Slot`, typed so that it may stand anywhere in an expected step."""
    return Slot()


def number(run: str, *events: Event, first: int = 1, time: int = START) -> tuple[Recorded, ...]:
    """The events as a journal would record them, numbered from `first`."""
    return tuple(
        Recorded(RunId(run), Seq(first + at), time, event) for at, event in enumerate(events)
    )


class Playbook:
    """A conversation with one connection. Each call is made at once; `expect` (or `fails`)
    then takes all the steps that it answered with. A call that answers with none needs no
    `expect`.

    `decode` makes of a sent frame what `Sent` is compared with, `encode` makes a frame of
    what `receive` is given unless that is bytes. `now` is the time, Unix nanoseconds.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        decode: Callable[[bytes], Any] | None = None,
        encode: Callable[[Any], bytes] | None = None,
        now: int = START,
    ) -> None:
        self.connection = connection
        self.now = now
        self.wake: int | None = None
        """When the connection wants `tick` called, None while it does not."""
        self.paused = False
        self._decode = decode
        self._encode = encode
        self._entered = False
        self._over: str | None = None
        self._log: list[str] = []
        self._came: list[Step] = []
        self._fault: RemoteProtocolError | None = None

    # --- the test's frame

    def __enter__(self) -> Playbook:
        self._entered = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered = False
        if error is None:
            self._settle("the playbook ended")

    def later(self, seconds: float) -> Playbook:
        """Let time pass. It wakes nobody: that is `tick`."""
        self.now += round(seconds * SECOND)
        return self

    # --- what the driver tells a connection

    def opened(self, opening: Opening | None = None) -> Playbook:
        """The link is up."""
        given = opening if opening is not None else Opening(link="entry")
        return self._call(f"opened {given.link}", lambda c: c.opened(given, self.now))

    def receive(self, message: Any) -> Playbook:
        """A frame comes: bytes as they are, anything else through `encode`."""
        if self.paused:
            raise AssertionError(self._told("it asked for a pause, so no frame may come"))
        frame = message if isinstance(message, bytes) else self._encoded(message)
        return self._call(f"receive {_short(message)}", lambda c: c.receive(frame, self.now))

    def tick(self) -> Playbook:
        """The time it asked to be woken at comes."""
        if self.wake is None:
            raise AssertionError(self._told("no Wake is open, so nobody would call tick"))
        self.now, self.wake = max(self.now, self.wake), None
        return self._call("tick", lambda c: c.tick(self.now))

    def drain(self) -> Playbook:
        """The gateway is about to stop."""
        return self._call("drain", lambda c: c.drain(self.now))

    def closed(self, reason: str = "end of stream") -> Playbook:
        """The link is gone."""
        self._over = None
        self._call(f"closed {reason}", lambda c: c.closed(reason, self.now))
        self._over = "it was told that the link is gone"
        return self

    def reply(self, reply_to: Any, answer: Answer) -> Playbook:
        """The answer to a `Submit` or `AnnounceWorker` comes; `reply_to` may be a slot."""
        key = reply_to.value if isinstance(reply_to, Slot) else reply_to
        return self._call(f"reply {_short(answer)}", lambda c: c.reply(key, answer, self.now))

    def deliver(self, batch: Sequence[Recorded]) -> Playbook:
        """Events of one followed run come."""
        return self._call(f"deliver {_short(batch)}", lambda c: c.deliver(batch, self.now))

    def perform(self, order: Order) -> Playbook:
        """The worker is given an order."""
        return self._call(f"perform {_short(order)}", lambda c: c.perform(order, self.now))

    def ask(self, question_id: int, question: ProbeWorkers | ReadUsage) -> Playbook:
        """The worker is asked a question."""
        told = f"ask {question_id} {_short(question)}"
        return self._call(told, lambda c: c.ask(question_id, question, self.now))

    def committed(self, run: str, native_seq: int) -> Playbook:
        """What was recorded of the run up to the worker's own number is durable."""
        told = f"committed {run} {native_seq}"
        return self._call(told, lambda c: c.committed(RunId(run), native_seq, self.now))

    def noticed(self, notice: WorkerNotice) -> Playbook:
        """A worker came or went, or somebody told something."""
        return self._call(f"noticed {_short(notice)}", lambda c: c.noticed(notice, self.now))

    def end_session(self, session: str) -> Playbook:
        """A controller has ended a session of the worker."""
        return self._call(f"end session {session}", lambda c: c.end_session(session, self.now))

    def fenced(self, reason: str = "a newer link took over") -> Playbook:
        """A newer link of the same worker has taken over."""
        return self._call(f"fenced {reason}", lambda c: c.fenced(reason, self.now))

    def dismissed(self, reason: str) -> Playbook:
        """What let the peer in holds no more."""
        return self._call(f"dismissed {reason}", lambda c: c.dismissed(reason, self.now))

    # --- what must have come of it

    def expect(self, *steps: Step | Sent) -> Playbook:
        """The last call answered with exactly these steps."""
        if self._fault is not None:
            raise AssertionError(self._told(f"it raised RemoteProtocolError: {self._fault}"))
        self._compare(steps)
        return self

    def fails(self, *steps: Step | Sent, match: str = "") -> Playbook:
        """The last call raised `RemoteProtocolError` with exactly these steps, and `match`
        is in its text."""
        if self._fault is None:
            raise AssertionError(self._told("it raised no RemoteProtocolError"))
        if match not in str(self._fault):
            raise AssertionError(self._told(f"{match!r} is not in the error: {self._fault}"))
        self._fault = None
        self._over = "it has raised RemoteProtocolError"
        self._compare(steps)
        return self

    def take(self) -> Steps:
        """The steps of the last call, for a test that judges them by itself."""
        if self._fault is not None:
            raise AssertionError(self._told(f"it raised RemoteProtocolError: {self._fault}"))
        came, self._came = self._came, []
        self._log += [f"   << {self._show(step)}" for step in came]
        return came

    # --- underneath

    def _call(self, told: str, call: Callable[[Connection], Steps]) -> Playbook:
        assert self._entered, "a playbook is a context manager: with Playbook(connection) as play"
        self._settle(told)
        if self._over is not None:
            raise AssertionError(self._told(f"{told}: {self._over}, so the driver calls no more"))
        self._log.append(f">> {told}")
        try:
            came = call(self.connection)
        except RemoteProtocolError as error:
            self._fault, came = error, error.steps
        for step in came:
            self._note(step)
        self._came = list(came)
        return self

    def _note(self, step: Step) -> None:
        if not isinstance(step, STEP_KINDS):
            raise AssertionError(self._told(f"{step!r} is not of the union of steps"))
        if self._over is not None:
            raise AssertionError(self._told(f"{self._show(step)} comes after a Close"))
        match step:
            case Pause():
                self.paused = True
            case Resume():
                self.paused = False
            case Wake(at=at):
                self.wake = at
            case Close():
                self._over = "it has closed the link"
            case _:
                pass

    def _settle(self, when: str) -> None:
        if self._fault is not None:
            raise AssertionError(self._told(f"{when}, and before it raised: {self._fault}"))
        if self._came:
            came = "\n".join(f"   + {self._show(step)}" for step in self._came)
            raise AssertionError(self._told(f"{when}, but nobody expected these steps:\n{came}"))

    def _compare(self, steps: Sequence[Step | Sent]) -> None:
        came, self._came = self._came, []
        pairs = zip(steps, came, strict=False)
        if len(steps) != len(came) or not all(self._same(want, got) for want, got in pairs):
            wanted = [self._show(step) for step in steps]
            diff = difflib.ndiff(wanted, [self._show(step) for step in came])
            lines = "\n".join(f"   {line.rstrip()}" for line in diff)
            raise AssertionError(self._told(f"expected (-) is not what came (+):\n{lines}"))
        self._log += [f"   << {self._show(step)}" for step in came]

    def _same(self, want: Step | Sent, got: Step) -> bool:
        if isinstance(want, Sent):
            return isinstance(got, Send) and bool(self._message(got.frame) == want.message)
        return bool(got == want)

    def _message(self, frame: bytes) -> Any:
        if self._decode is None:
            raise AssertionError("Sent(...) needs a playbook with decode=")
        return self._decode(frame)

    def _encoded(self, message: Any) -> bytes:
        if self._encode is None:
            raise AssertionError("receive() of other than bytes needs a playbook with encode=")
        return self._encode(message)

    def _show(self, step: Step | Sent) -> str:
        if isinstance(step, Send) and self._decode is not None:
            return repr(Sent(self._decode(step.frame)))
        return repr(step)

    def _told(self, failure: str) -> str:
        return "\n".join(["the conversation:", *self._log, failure])


def _short(value: object, limit: int = 400) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def outcome(
    connection: Connection, frames: Sequence[bytes], now: int, *, bulk: bool
) -> tuple[str | None, list[Step]]:
    """What a connection that has a short way makes of frames by it, or by the long way only: its
    error, if there is one, and the steps. Records that stand together are put in the order of their
    runs, for between two runs there is none. Where one has neither number nor stamp each event is a
    record of its own, for so it is recorded. A refusal equals none but itself, so those of a
    `Settle` are left out."""
    assert isinstance(connection, BulkConnection)
    steps: list[Step] = []
    failed: str | None = None
    at = 0
    while at < len(frames) and failed is None:
        taken = connection.receive_bulk(frames[at:], now) if bulk else None
        if taken is not None:
            for run, heard in taken.heard.items():
                steps += (Record(run, tuple(events), seq, stamp) for events, seq, stamp in heard)
            at += taken.taken
            continue
        try:
            steps += connection.receive(frames[at], now)
        except RemoteProtocolError as error:
            steps += error.steps
            failed = str(error)
        at += 1
    return failed, [
        each
        for _, some in groupby(steps, lambda step: isinstance(step, Record))
        for step in sorted(some, key=lambda step: step.run if isinstance(step, Record) else "")
        for each in _comparable(step)
    ]


def _comparable(step: Step) -> Iterator[Step]:
    if isinstance(step, Settle):
        yield attrs.evolve(step, error=None)
    elif isinstance(step, Record) and step.native_seq is None and step.stamp is None:
        yield from (attrs.evolve(step, events=(event,)) for event in step.events)
    else:
        yield step
