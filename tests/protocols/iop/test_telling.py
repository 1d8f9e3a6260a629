"""The runs that an edge is told of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState, Source
from fleetgate.core.ids import Epoch, RunId, Seq
from fleetgate.core.run import Run
from fleetgate.protocols.api import Ack, Follow, Send, Step, Unfollow
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.settings import NorthSettings
from fleetgate.protocols.iop.telling import Telling, cut
from fleetgate.protocols.testing import SECOND, START, number

RUN = RunId("edge/r1")
DONE = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED))


def run(last: int = 0, started: int = 0, state: RunState = RunState.RUNNING) -> Run:
    spec, origin = c.RunSpec(c.Prompt("x")), c.Origin("edge", "r1")
    return Run(RUN, spec, origin, START, state=state, last_seq=Seq(last), started=started)


def test_of_a_long_run_the_last_events_are_told_again_and_its_start_is_not() -> None:
    telling = Telling(NorthSettings(retained=5))
    assert telling.take_up(run(20, started=START), START) == (Follow(RUN, Seq(15)),)
    (send,) = telling.deliver(number(RUN, e.TextProduced("x"), first=16), START)
    assert isinstance(send, Send)
    told = codec.decode_node(send.frame)
    assert isinstance(told, w.RunEvent)
    assert told.type == "delta"


def test_an_ended_run_is_told_again_without_a_word_before() -> None:
    telling = Telling(NorthSettings())
    ended = run(2, state=RunState.CANCELED)
    assert telling.take_up(ended, START) == (Follow(RUN, Seq(0)),)


def test_an_end_is_acknowledged_once_it_must_have_arrived() -> None:
    telling = Telling(NorthSettings(dead_after=10.0))
    telling.follow(run())
    steps = telling.deliver(number(RUN, e.RunStarted(), DONE, e.TextProduced("late")), START)
    assert [type(step) for step in steps] == [Send, Send, Unfollow]
    assert telling.deliver(number(RUN, e.TextProduced("late"), first=3), START) == ()
    assert telling.heard(START + 9 * SECOND) == []
    assert telling.heard(START + 10 * SECOND) == [Ack(RUN, Seq(2))]
    assert telling.heard(START + 99 * SECOND) == []


@pytest.mark.limit("protocols/iop/wire.MAX_MESSAGE")
def test_an_event_is_cut_to_what_a_message_holds() -> None:
    long = "x" * (5 << 20)
    small = {"gateway.seq": "1", "gateway.body": long}
    event = cut(w.RunEvent("r", "error", long, long, long, metadata=small))
    assert event.metadata == {"gateway.seq": "1"}
    assert len(codec.encode_node(event)) < w.MAX_MESSAGE
    wide = cut(w.RunEvent("r", "complete", "€" * (2 << 20), metadata={"own": long}))
    assert wide.metadata == {}
    assert len(codec.encode_node(wide)) < w.MAX_MESSAGE


# --- the short way of texts and output

texts = st.builds(e.TextProduced, st.sampled_from(["text", "", "ä", "\ud800"]))
outputs = st.builds(
    e.OutputProduced, st.sampled_from(e.Stream), st.binary(max_size=4), st.integers(0, 2)
)
others = st.sampled_from([e.MessageEnded(), e.UsageReported(1, 2), e.SessionOpened("s"), DONE])
sources = st.sampled_from(
    [
        None,
        Source(Epoch(1), 1),
        Source(Epoch(1), 1, START + 7),
        Source(Epoch(1), 1, None, {"iop": {"message": "beside"}}),
    ]
)


@given(
    st.lists(
        st.lists(st.tuples(texts | outputs | texts | outputs | others, sources), min_size=1),
        max_size=5,
    ),
    st.integers(0, 2),
)
def test_a_batch_is_told_the_same_by_the_short_way_as_by_the_long_one(
    story: list[list[tuple[e.Event, Source | None]]], started: int
) -> None:
    short, long = Telling(NorthSettings()), Telling(NorthSettings())
    for telling in (short, long):
        telling.take_up(run(2, started=started), START)
        if started > 1:
            telling.deliver(number(RUN, e.RunStarted()), START)
    at = 2
    for events in story:
        numbered = number(RUN, *[event for event, _ in events], first=at)
        batch = [attrs.evolve(r, source=s) for r, (_, s) in zip(numbered, events, strict=True)]
        at += len(batch)
        expected = in_the_clear(long.deliver(batch, START))
        steps: list[Step] = []
        while batch:
            frames = short.deliver_bulk(batch)
            steps += [*map(Send, frames)] if frames else short.deliver(batch[:1], START)
            batch = batch[len(frames or "1") :]
        assert in_the_clear(steps) == expected


def in_the_clear(steps: Sequence[Step]) -> list[Any]:
    """Metadata have no order, so frames that say the same may differ."""
    return [codec.decode_node(s.frame) if isinstance(s, Send) else s for s in steps]


def test_texts_of_a_run_that_was_begun_go_the_short_way() -> None:
    telling = Telling(NorthSettings())
    text = number(RUN, e.TextProduced("text"), first=2)
    assert telling.deliver_bulk(text) is None, "it is told to nobody"
    telling.follow(run())
    assert telling.deliver_bulk(text) is None, "it is not begun"
    telling.deliver(number(RUN, e.RunStarted()), START)
    frames = telling.deliver_bulk(text) or ()
    assert in_the_clear([*map(Send, frames)]) == [
        w.RunEvent("r1", "delta", "text", metadata={"gateway.seq": "2"}, timestamp=START)
    ]
    assert telling.deliver_bulk(()) is None
    small = Telling(NorthSettings(max_message=400_000))
    small.follow(run())
    small.deliver(number(RUN, e.RunStarted()), START)
    assert small.deliver_bulk(text) is None, "it may not fit into a message"
