"""A run in memory."""

from __future__ import annotations

import pytest

from fleetgate.core import events as e
from fleetgate.core.errors import IllegalTransition
from fleetgate.core.events import Recorded
from fleetgate.core.hub_testing import CANCELED, start_run
from fleetgate.core.ids import Epoch, Seq, WorkerId
from fleetgate.core.run import start
from fleetgate.core.slots import TAIL_ITEMS, TAIL_SIZE, Slot, body_size

ASSIGNED = e.RunAssigned(WorkerId("pool/w"), Epoch(1))


def make_slot() -> Slot:
    return Slot(start(start_run(), now=100).run)


def put(slot: Slot, *events: e.Event) -> tuple[Recorded, ...]:
    batch = tuple(slot.number(event, 200, None) for event in events)
    slot.publish(batch, slot.run, slot.native_seq)
    return batch


def test_I1_numbers_rise_by_one_and_times_never_fall() -> None:
    slot = make_slot()
    first = slot.number(ASSIGNED, 500, None)
    second = slot.number(e.TextProduced("x"), 50, None)
    assert (first.seq, second.seq) == (1, 2)
    assert (first.time, second.time) == (500, 500)


def test_I1_events_that_change_nothing_are_numbered_as_each_by_itself() -> None:
    one, other = make_slot(), make_slot()
    for slot in (one, other):
        put(slot, ASSIGNED, e.RunStarted())
    parts = [
        ((e.TextProduced("a"), e.MessageEnded()), e.Source(Epoch(1), 7)),
        ((), e.Source(Epoch(1), 8)),
        ((e.TextProduced("b"),), e.Source(Epoch(1), None)),
    ]
    singly = [one.number(event, 50, source) for events, source in parts for event in events]
    batch: list[Recorded] = []
    other.number_plain(parts, 50, batch)
    assert batch == singly
    assert other.run is not one.run
    assert other.run == one.run
    assert (other.last_seq, other.last_time, other.native_seq) == (one.last_seq, one.last_time, 8)


def test_from_the_worker_s_first_time_on_every_event_has_one_that_never_falls() -> None:
    slot = make_slot()
    own = e.Source(Epoch(1), 7)
    assert slot.timed(None, 90) is None
    assert slot.timed(own, 90) is own
    said = e.Source(Epoch(1), 8, 50)
    assert slot.timed(said, 90) is said
    assert slot.timed(e.Source(Epoch(1), 9, 40), 90) == e.Source(Epoch(1), 9, 50)
    assert slot.timed(own, 90) == e.Source(Epoch(1), 7, 90)
    assert slot.timed(None, 80) == e.Source(Epoch(0), None, 90)


def test_an_event_that_does_not_follow_takes_no_number() -> None:
    slot = make_slot()
    put(slot, CANCELED)
    with pytest.raises(IllegalTransition):
        slot.number(e.TextProduced("x"), 1, None)
    assert slot.last_seq == 1


def test_I2_what_is_seen_is_what_is_committed() -> None:
    slot = make_slot()
    batch = (slot.number(ASSIGNED, 1, None), slot.number(e.RunStarted(), 1, None))
    assert slot.seen().last_seq == 0
    assert slot.seen().state is e.RunState.QUEUED
    assert slot.written().last_seq == 2
    slot.publish(batch, slot.run, 0)
    assert slot.seen() == slot.written()


def test_I9_the_tail_is_bounded_in_events_and_bytes() -> None:
    slot = make_slot()
    slot.join(Seq(0))
    put(slot, ASSIGNED, *(e.TextProduced("x") for _ in range(TAIL_ITEMS)))
    assert len(slot.tail) == TAIL_ITEMS
    slot.leave()
    assert (len(slot.tail), slot.bodies) == (0, 0)
    slot.join(slot.visible_seq)
    many = 2 * TAIL_SIZE // e.MAX_BODY
    put(slot, *(e.OutputProduced(e.Stream.STDOUT, bytes(e.MAX_BODY)) for _ in range(many)))
    assert 0 < sum(map(body_size, slot.tail)) == slot.bodies <= TAIL_SIZE


def test_a_follower_that_is_alone_and_has_caught_up_needs_no_tail() -> None:
    slot = make_slot()
    slot.join(Seq(0))
    put(slot, ASSIGNED, *(e.TextProduced("x") for _ in range(5)))
    slot.reach(Seq(5))
    assert len(slot.tail) == 6
    slot.join(Seq(2))
    slot.reach(Seq(6))
    assert len(slot.tail) == 6
    slot.leave()
    slot.reach(Seq(6))
    assert (len(slot.tail), slot.bodies) == (0, 0)
    kept = put(slot, e.TextProduced("y"))
    assert slot.recent(Seq(6), 100, 1 << 20) == kept


def test_I8_nothing_is_kept_for_followers_that_are_too_far_behind_to_read_it() -> None:
    slot = make_slot()
    put(slot, ASSIGNED)
    slot.join(Seq(0))
    put(slot, e.TextProduced("x"))
    assert not slot.tail
    slot.reach(Seq(2))
    for _ in range(TAIL_ITEMS + 1):
        put(slot, e.TextProduced("x"))
    assert len(slot.tail) == TAIL_ITEMS
    put(slot, e.TextProduced("x"))
    assert (len(slot.tail), slot.bodies) == (0, 0)
    slot.reach(slot.visible_seq)
    kept = put(slot, e.TextProduced("y"))
    assert tuple(slot.tail) == kept


def test_a_follower_that_waits_for_events_far_ahead_changes_nothing_for_others() -> None:
    slot = make_slot()
    put(slot, ASSIGNED)
    slot.join(Seq(1000))
    put(slot, e.TextProduced("x"))
    assert len(slot.tail) == 1


def test_without_followers_nothing_is_kept() -> None:
    slot = make_slot()
    put(slot, ASSIGNED)
    assert not slot.tail


def test_recent_events_are_given_from_memory_or_not_at_all() -> None:
    slot = make_slot()
    put(slot, ASSIGNED)
    slot.join(Seq(1))
    kept = put(slot, *(e.TextProduced(str(n)) for n in range(10)))
    assert slot.recent(Seq(0), 100, 1 << 20) == ()
    assert slot.recent(Seq(1), 100, 1 << 20) == kept
    assert slot.recent(Seq(4), 2, 1 << 20) == kept[3:5]
    assert slot.recent(Seq(4), 100, 1) == kept[3:4]
    assert slot.recent(Seq(11), 100, 1 << 20) == ()


def test_waking_followers_carries_nothing() -> None:
    slot = make_slot()
    news = slot.news
    slot.tell()
    assert news.is_set()
    assert not slot.news.is_set()
