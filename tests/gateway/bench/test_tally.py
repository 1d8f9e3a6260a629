"""Counting a run's events, read one by one or by the last of each batch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.bench.links import TEXT
from fleetgate.gateway.bench.speech import PLAIN_SESSION, Speech
from fleetgate.gateway.bench.tally import See, Tally, see_agency, see_rvbox
from fleetgate.gateway.bench.task import BenchFailed, make_body
from fleetgate.protocols.agency import wire, wire_events
from fleetgate.protocols.agency.encode import encode_event, encode_response
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec import encode

DUE = 1_000


def rvbox_frames(outputs: int) -> list[bytes]:
    speech = Speech(PLAIN_SESSION, w.CommandDispatch("uuid", 1))
    bodies = [make_body(DUE + nth, 64) for nth in range(outputs)]
    said = [speech.running(1), *(speech.output(body, 1) for body in bodies), speech.exit(1)]
    return [TEXT + frame for frame in said]


def agency_frames(outputs: int) -> list[bytes]:
    events: list[wire_events.RunEvent] = [
        wire_events.StateChanged(wire.RunState.STARTING),
        wire_events.StateChanged(wire.RunState.RUNNING),
        *(wire_events.Text(make_body(DUE + nth, 64).decode()) for nth in range(outputs)),
        wire_events.Finished({"exit_code": 0}),
    ]
    return [encode_event("run", seq, event) for seq, event in enumerate(events, 1)]


WIRES = [
    pytest.param(see_rvbox, rvbox_frames, id="rvbox"),
    pytest.param(see_agency, agency_frames, id="agency"),
]


def cut(frames: Sequence[bytes], places: Sequence[int]) -> list[Sequence[bytes]]:
    """Frames in batches, as a link hands them over."""
    ends = sorted({*(place % len(frames) for place in places), len(frames)} - {0})
    return [frames[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize(("see", "make"), WIRES)
@given(outputs=st.integers(1, 40), places=st.lists(st.integers(0, 99)))
def test_it_counts_the_bodies_however_the_frames_come(
    see: See, make: object, every: bool, outputs: int, places: list[int]
) -> None:
    assert callable(make)
    frames: list[bytes] = make(outputs)
    tally = Tally(see, every=every)
    for batch in cut(frames, places):
        assert not tally.ended
        tally.take(batch, DUE + 500)
    assert (tally.ended, tally.outputs, tally.seq) == (True, outputs, len(frames))
    assert tally.started == DUE
    assert tally.lateness == ([500 - nth for nth in range(outputs)] if every else [])
    assert sum(map(len, frames[-outputs - 1 :])) <= tally.size <= sum(map(len, frames))


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize(("see", "make"), WIRES)
def test_I1_an_event_that_is_missing_or_comes_twice_fails_the_trial(
    see: See, make: object, every: bool
) -> None:
    assert callable(make)
    frames: list[bytes] = make(6)
    for wrong in (frames[:4] + frames[5:], frames[:4] + frames[3:]):
        tally = Tally(see, every=every)
        tally.take(wrong[:4], DUE)
        with pytest.raises(BenchFailed, match=r"expected event \d+; event \d+ came"):
            tally.take(wrong[4:], DUE)


def test_what_is_no_event_fails_the_trial() -> None:
    error = wire.Error(wire.ErrorCode.NOT_FOUND, "no")
    with pytest.raises(BenchFailed, match="Response came"):
        Tally(see_agency, every=True).take([encode_response(1, error)], DUE)
    ack = TEXT + encode(w.Envelope(*PLAIN_SESSION, w.EventAck("uuid", 1)))
    with pytest.raises(BenchFailed, match="EventAck came"):
        Tally(see_rvbox, every=True).take([ack], DUE)
