"""The journal's records: bytes of events, runs, specs and orders, and back.

Every member of every value has a field of its own, so what is decoded equals what was
encoded. Two things are not told apart: a list and a tuple within JSON both come back
as a list, any kind of mapping as a dict. Integers have 64 bits, text has no lone
surrogates: anything else raises `ValueError`. Bytes that no value was encoded as, as a disk may
give back, raise `Damaged` where they can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, get_args

from google.protobuf.message import DecodeError

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq
from fleetgate.core.journal.forms import Form, Forms, descriptor_of
from fleetgate.core.run import Run
from fleetgate.schemas.journal.v1 import event_pb2, run_pb2


class Damaged(ValueError):
    """Bytes that stand where a record belongs, and are none. The text holds none of them."""


_NO_RECORD: Final = (DecodeError, KeyError, ValueError, TypeError, RecursionError)
"""What reading one can raise: no message, a number that names nothing, a member that is not there,
a text that is no JSON or is nested beyond Python's stack."""


_FORMS: Final = Forms(
    *get_args(e.Event),
    *get_args(c.Input),
    *get_args(c.RunCommand),
    *(e.Source, e.Outcome, c.Origin, c.RunSpec, c.Script),
    *(e.RunState, e.Stream, e.Decision, e.Reason, c.Signal, c.CancelScope),
)

_RECORDED: Final = Form(
    e.Recorded, descriptor_of(event_pb2.Recorded), _FORMS, apart=frozenset({"run", "seq"})
)
_RUN: Final = Form(
    Run,
    descriptor_of(run_pb2.Run),
    _FORMS,
    apart=frozenset({"id", "last_seq", "native_seq", "spec", "routed"}),
)
_SPEC: Final = Form(c.RunSpec, descriptor_of(run_pb2.RunSpec), _FORMS)
_ORDER: Final = Form(
    c.Order, descriptor_of(run_pb2.Order), _FORMS, apart=frozenset({"run", "number"})
)


def encode_event(recorded: e.Recorded) -> bytes:
    """An event's record, without its run and number: those are its key.

    Raises: `ValueError`.
    """
    return event_pb2.Recorded(**_RECORDED.fields(recorded)).SerializeToString()


def encode_events(batch: Iterable[e.Recorded], again: Again | None = None) -> tuple[bytes, ...]:
    """The records of several events. `again`: who writes them, for those of several batches.

    Raises: `ValueError`.
    """
    again = again or Again()
    return tuple([again.encode(each) or encode_event(each) for each in batch])


class Again:
    """Writes one message again and again, for events that differ in its numbers and its body only:
    of all events most are output, or text, that a worker has said. The same bytes in a third of
    the time. To be used by one task."""

    def __init__(self) -> None:
        self._kind: type[e.Event] | None = None
        self._timed = False
        self._numbered = False
        self._stream: e.Stream | None = None
        self._record = event_pb2.Recorded()
        self._source = self._record.source
        self._output = self._record.output_produced

    def encode(self, recorded: e.Recorded) -> bytes | None:
        """Its record; None for an event that is not of those.

        Raises: `ValueError`.
        """
        source, event = recorded.source, recorded.event
        kind = type(event)
        if source is None or source.native is not None or kind not in _BODIES:
            return None
        seq, time = source.seq, source.time
        timed, numbered = time is not None, seq is not None
        if kind is not self._kind or timed is not self._timed or numbered is not self._numbered:
            self._turn_to(kind, timed=timed, numbered=numbered)
        into = self._source
        into.epoch = source.epoch
        if seq is not None:
            into.seq = seq
        if time is not None:
            into.time = time
        if type(event) is e.OutputProduced:
            output = self._output
            output.data, output.offset = event.data, event.offset
            if event.stream is not self._stream:
                self._stream = event.stream
                output.stream = _STREAMS[event.stream]
        elif type(event) is e.TextProduced:
            self._record.text_produced.text = event.text
        self._record.time = recorded.time
        return self._record.SerializeToString()

    def _turn_to(self, kind: type[e.Event], *, timed: bool, numbered: bool) -> None:
        self._kind, self._timed, self._numbered = kind, timed, numbered
        self._stream = None
        self._record = event_pb2.Recorded()
        self._source = self._record.source
        self._source.SetInParent()
        self._output = self._record.output_produced
        if kind is e.TextProduced:
            self._record.text_produced.SetInParent()  # an empty text sets nothing by itself
        else:
            self._output.SetInParent()


_BODIES: Final = frozenset({e.OutputProduced, e.TextProduced})
_STREAMS: Final[dict[e.Stream, event_pb2.Stream]] = {
    e.Stream.STDOUT: event_pb2.STREAM_STDOUT,
    e.Stream.STDERR: event_pb2.STREAM_STDERR,
}


def decode_event(run: RunId, seq: Seq, record: bytes) -> e.Recorded:
    """The event `seq` of `run`.

    Raises: `Damaged`.
    """
    try:
        return _event(run, seq, event_pb2.Recorded.FromString(record))
    except _NO_RECORD as error:
        raise Damaged(f"an event's record of {len(record)} bytes cannot be read") from error


def _event(run: RunId, seq: Seq, message: event_pb2.Recorded) -> e.Recorded:
    body = _BODY.get(message.WhichOneof("event"))
    source = message.source
    if body is None or source.HasField("native"):
        return _RECORDED.value(message, run=run, seq=seq)
    said = _source(source) if message.HasField("source") else None
    return e.Recorded(run, seq, message.time, body(message), said)


def _source(source: event_pb2.Source) -> e.Source:
    """One that has no `native`."""
    seq = source.seq if source.HasField("seq") else None
    time = source.time if source.HasField("time") else None
    return e.Source(Epoch(source.epoch), seq, time)


def _text(message: event_pb2.Recorded) -> e.Event:
    return e.TextProduced(message.text_produced.text)


def _output(message: event_pb2.Recorded) -> e.Event:
    output = message.output_produced
    return e.OutputProduced(_BY_NUMBER[output.stream], output.data, output.offset)


_BODY: Final[Mapping[str | None, Callable[[event_pb2.Recorded], e.Event]]] = {
    "text_produced": _text,
    "output_produced": _output,
}
"""What nearly every record of a long run is, made without looking up each of its members."""

_BY_NUMBER: Final = {number: stream for stream, number in _STREAMS.items()}


def encode_run(run: Run) -> bytes:
    """A run's record, without its id, its two numbers and its specs.

    Raises: `ValueError`.
    """
    return run_pb2.Run(**_RUN.fields(run)).SerializeToString()


def encode_specs(run: Run) -> bytes:
    """A run's spec, and its routed spec if it has one; the same bytes for equal specs.

    Raises: `ValueError`.
    """
    specs = run_pb2.Specs(
        spec=_SPEC.fields(run.spec),
        routed=None if run.routed is None else _SPEC.fields(run.routed),
    )
    return specs.SerializeToString(deterministic=True)


def decode_run(id: RunId, last_seq: int, native_seq: int, record: bytes, specs: bytes) -> Run:
    """The run `id` with its numbers.

    Raises: `Damaged`.
    """
    try:
        both = run_pb2.Specs.FromString(specs)
        return _RUN.value(
            run_pb2.Run.FromString(record),
            id=id,
            last_seq=last_seq,
            native_seq=native_seq,
            spec=_SPEC.value(both.spec),
            routed=_SPEC.value(both.routed) if both.HasField("routed") else None,
        )
    except _NO_RECORD as error:
        raise Damaged(f"a run's record of {len(record)} bytes cannot be read") from error


def encode_order(order: c.Order) -> bytes:
    """An order's record, without its run and number: those are its key.

    Raises: `ValueError`.
    """
    return run_pb2.Order(**_ORDER.fields(order)).SerializeToString()


def decode_order(run: RunId, number: int, record: bytes) -> c.Order:
    """The order `number` of `run`.

    Raises: `Damaged`.
    """
    try:
        message = run_pb2.Order.FromString(record)
        return _ORDER.value(message, run=run, number=OrderNumber(number))
    except _NO_RECORD as error:
        raise Damaged(f"an order's record of {len(record)} bytes cannot be read") from error
