"""Records: what is decoded equals what was encoded, and what old records say stays readable."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.drawing import examples
from fleetgate.core.ids import Epoch, RunId, Seq
from fleetgate.core.journal.records import (
    Again,
    Damaged,
    decode_event,
    decode_order,
    decode_run,
    encode_event,
    encode_events,
    encode_order,
    encode_run,
    encode_specs,
)
from fleetgate.core.json import Json
from fleetgate.core.run import Run
from fleetgate.core.testing import EVENT_KINDS, events, json_values, orders, recorded, runs, specs
from fleetgate.schemas.journal.v1 import event_pb2


def again(event: e.Recorded) -> e.Recorded:
    return decode_event(event.run, event.seq, encode_event(event))


@pytest.mark.parametrize("kind", EVENT_KINDS)
@settings(max_examples=examples(25))
@given(data=st.data())
def test_an_event_of_every_kind_comes_back(kind: type[e.Event], data: st.DataObject) -> None:
    event = data.draw(recorded(events(kind)))
    assert again(event) == event


bodies = events(e.OutputProduced) | events(e.TextProduced) | st.just(e.TextProduced(""))


@given(st.lists(recorded(bodies | events()), max_size=8))
def test_events_have_the_same_bytes_together_as_each_by_itself(batch: list[e.Recorded]) -> None:
    assert encode_events(batch) == tuple(map(encode_event, batch))


@pytest.mark.parametrize("event", [e.TextProduced("a"), e.OutputProduced(e.Stream.STDERR, b"a")])
@pytest.mark.parametrize("source", [e.Source(Epoch(3), 7, 9), e.Source(Epoch(0), None)])
def test_what_a_worker_said_is_written_with_the_message_of_the_one_before_numbered_or_not(
    event: e.Event, source: e.Source
) -> None:
    said = e.Recorded(RunId("a"), Seq(1), 5, event, source)
    writer = Again()
    assert writer.encode(said) == encode_event(said)
    assert writer.encode(said) == encode_event(said)


def test_what_cannot_be_kept_is_no_record_among_others_either() -> None:
    half = e.Recorded(RunId("a"), Seq(1), 0, e.TextProduced("\ud800"), e.Source(Epoch(1), 1))
    with pytest.raises(ValueError, match="surrogates"):
        encode_events([half])


@given(json_values())
def test_json_comes_back_exactly(value: Json) -> None:
    event = e.Recorded(RunId("a"), Seq(1), 0, e.RateLimited(value))
    # Equality takes 1, 1.0 and True for the same; their text does not.
    assert repr(again(event)) == repr(event)


@pytest.mark.parametrize("value", [1, 1.0, True, 0, -0.0, 2**64 + 1, 1e300, "", [], {}, "\ud800"])
def test_json_keeps_the_kind_of_a_number(value: Json) -> None:
    event = e.Recorded(RunId("a"), Seq(1), 0, e.ToolCalled("t", {"x": value}))
    assert repr(again(event)) == repr(event)


@given(runs(), st.none() | specs())
def test_a_run_comes_back(run: Run, routed: c.RunSpec | None) -> None:
    run = attrs.evolve(run, routed=routed)
    back = decode_run(run.id, run.last_seq, run.native_seq, encode_run(run), encode_specs(run))
    assert back == run


@given(runs())
def test_a_runs_numbers_are_not_in_its_record(run: Run) -> None:
    moved = attrs.evolve(run, last_seq=Seq(run.last_seq + 1), native_seq=0)
    assert encode_run(moved) == encode_run(run)


@given(orders())
def test_an_order_comes_back(order: c.Order) -> None:
    assert decode_order(order.run, order.number, encode_order(order)) == order


def test_equal_specs_have_equal_records() -> None:
    names = [str(number) for number in range(50)]
    here = {name: name for name in names}
    there = {name: name for name in reversed(names)}
    run = Run(RunId("a"), c.RunSpec(c.Prompt("x"), environment=here), c.Origin("l", "a"), 1)
    other = attrs.evolve(run, spec=attrs.evolve(run.spec, environment=there))
    assert encode_specs(run) == encode_specs(other)


@pytest.mark.parametrize(
    "event",
    [
        e.TextProduced("\ud800"),
        e.OutputProduced(e.Stream.STDOUT, b"", 1 << 63),
        e.RateLimited(10**5000),
    ],
)
def test_what_cannot_be_kept_is_a_value_error(event: e.Event) -> None:
    with pytest.raises(ValueError, match=r"."):
        encode_event(e.Recorded(RunId("a"), Seq(1), 0, event))


def test_json_that_nests_too_deep_is_a_value_error() -> None:
    value: Json = None
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="cannot be kept as JSON"):
        encode_event(e.Recorded(RunId("a"), Seq(1), 0, e.RateLimited(value)))


NUMBER_3 = e.Source(Epoch(3), None)
FINISHED = e.Outcome(
    e.RunState.CANCELED, e.Reason.TIMED_OUT, "late", -1, "SIGKILL", "t", {"a": None}
)
WRITTEN: list[tuple[str, e.Event, e.Source | None]] = [
    ("1204080310111a070a0568656c6c6f", e.TextProduced("hello"), e.Source(Epoch(3), 17)),
    (
        "12020803220a08021202ff0018808004",
        e.OutputProduced(e.Stream.STDERR, b"\xff\x00", 65536),
        NUMBER_3,
    ),
    (
        "3a150a026c73120b0a097b226e223a312e307d1a026331",
        e.ToolCalled("ls", {"n": 1.0}, "c1"),
        None,
    ),
    ("5a0c080212086163636570746564", e.StateChanged(e.RunState.STARTING, "accepted"), None),
    ("92010a0a017810041a03796573", e.ApprovalResolved("x", e.Decision.VALUE, "yes"), None),
    ("ba010e080310091a086f766572666c6f77", e.GapFound(3, 9, "overflow"), None),
    ("4a00", e.MessageEnded(), None),
    (
        "621c08001a180a165b31383434363734343037333730393535313631365d",
        e.UsageReported(0, None, [2**64]),
        None,
    ),
    (
        "7a310a2f080810031a046c61746520ffffffffffffffffff012a075349474b494c4c3201743a0c0a0a7b2261"
        "223a6e756c6c7d",
        e.RunFinished(FINISHED),
        None,
    ),
]
"""What the first version wrote behind the time, and what it says."""


def test_the_worker_s_own_time_is_kept_beside_ours() -> None:
    for event in (e.TextProduced("x"), e.OutputProduced(e.Stream.STDOUT, b"x")):
        for time in (None, 1, (1 << 63) - 1):
            told = e.Recorded(RunId("a"), Seq(1), 5, event, e.Source(Epoch(3), 17, time))
            assert decode_event(RunId("a"), Seq(1), encode_event(told)) == told


@pytest.mark.parametrize(("record", "event", "source"), WRITTEN)
def test_a_record_of_the_first_version_is_read(
    record: str, event: e.Event, source: e.Source | None
) -> None:
    said = decode_event(RunId("a"), Seq(1), bytes.fromhex("0900002a36fe9c9717" + record))
    assert said == e.Recorded(RunId("a"), Seq(1), 1_700_000_000_000_000_000, event, source)


# --- bytes that something has damaged

DEEP = b"[" * 100_000
"""JSON that is nested beyond Python's stack."""


def _event(**members: Any) -> bytes:
    return event_pb2.Recorded(time=1, **members).SerializeToString()


DAMAGED: dict[str, bytes] = {
    "no message": b"\xff",
    "no event at all": _event(),
    "an event that nobody knows": _event() + b"\xfa\x01\x00",
    "a stream that nobody knows": _event(output_produced={"stream": 9}),
    "a state that nobody knows": _event(state_changed={"state": 0x7FFFFFFF}),
    "no JSON": _event(rate_limited={"detail": {"text": b"{"}}),
    "JSON that is no UTF-8": _event(rate_limited={"detail": {"text": b'"\xff"'}}),
    "JSON too deep": _event(rate_limited={"detail": {"text": DEEP}}),
}


@pytest.mark.parametrize("record", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_event_is_told_as_such(record: bytes) -> None:
    said = rf"^an event's record of {len(record)} bytes cannot be read$"
    with pytest.raises(Damaged, match=said):
        decode_event(RunId("a"), Seq(1), record)


@pytest.mark.parametrize("record", [b"\xff", b"", b"\x08\x01"])
def test_a_damaged_order_is_told_as_such(record: bytes) -> None:
    with pytest.raises(Damaged, match="an order's record"):
        decode_order(RunId("a"), 1, record)


@pytest.mark.parametrize(("record", "specs"), [(b"\xff", b""), (b"", b"\xff"), (b"", b"")])
def test_a_damaged_run_is_told_as_such(record: bytes, specs: bytes) -> None:
    with pytest.raises(Damaged, match="a run's record"):
        decode_run(RunId("a"), 1, 1, record, specs)
