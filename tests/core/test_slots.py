"""A run in memory."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

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


@pytest.mark.limit("core/slots.TAIL_ITEMS", "core/slots.TAIL_SIZE")
def test_I9_the_tail_is_bounded_in_events_and_bytes() -> None:
    slot = make_slot()
    slot.join(Seq(0))
    put(slot, ASSIGNED, *(e.TextProduced("x") for _ in range(TAIL_ITEMS)))
    assert len(slot.tail) == TAIL_ITEMS
    slot.leave(Seq(0))
    assert (len(slot.tail), slot.bodies) == (0, 0)
    slot.join(slot.visible_seq)
    many = 2 * TAIL_SIZE // e.MAX_BODY
    put(slot, *(e.OutputProduced(e.Stream.STDOUT, bytes(e.MAX_BODY)) for _ in range(many)))
    assert 0 < sum(map(body_size, slot.tail)) == slot.bodies <= TAIL_SIZE


def test_once_every_follower_has_caught_up_no_tail_is_needed() -> None:
    slot = make_slot()
    slot.join(Seq(0))
    put(slot, ASSIGNED, *(e.TextProduced("x") for _ in range(5)))
    slot.reach(Seq(0), Seq(5))
    assert len(slot.tail) == 6
    slot.join(Seq(2))
    slot.reach(Seq(5), Seq(6))
    assert len(slot.tail) == 6, "the other one needs it"
    slot.reach(Seq(2), Seq(6))
    assert (len(slot.tail), slot.bodies) == (0, 0)
    kept = put(slot, e.TextProduced("y"))
    assert slot.recent(Seq(6), 100, 1 << 20) == kept


def test_who_is_behind_and_leaves_is_not_waited_for() -> None:
    slot = make_slot()
    slot.join(Seq(0))
    slot.join(Seq(0))
    put(slot, ASSIGNED)
    slot.reach(Seq(0), Seq(1))
    assert slot.tail
    slot.leave(Seq(0))
    assert not slot.tail
    slot.join(Seq(1))
    put(slot, e.TextProduced("x"))
    slot.reach(Seq(1), Seq(2))
    slot.leave(Seq(2))
    assert len(slot.tail) == 1, "one is left that has not read it"
    slot.reach(Seq(1), Seq(2))
    assert not slot.tail


def test_I8_nothing_is_kept_for_followers_that_are_too_far_behind_to_read_it() -> None:
    slot = make_slot()
    put(slot, ASSIGNED)
    slot.join(Seq(0))
    put(slot, e.TextProduced("x"))
    assert not slot.tail
    slot.reach(Seq(0), Seq(2))
    for _ in range(TAIL_ITEMS + 1):
        put(slot, e.TextProduced("x"))
    assert len(slot.tail) == TAIL_ITEMS
    put(slot, e.TextProduced("x"))
    assert (len(slot.tail), slot.bodies) == (0, 0)
    slot.reach(Seq(0), slot.visible_seq)
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


def test_followers_that_ask_for_the_same_are_given_the_same() -> None:
    slot = make_slot()
    put(slot, ASSIGNED)
    slot.join(Seq(0))
    slot.join(Seq(1))
    put(slot, *(e.TextProduced(str(n)) for n in range(10)))
    first = slot.recent(Seq(4), 3, 1 << 20)
    assert slot.recent(Seq(4), 3, 1 << 20) is first
    assert slot.recent(Seq(4), 4, 1 << 20) == (*first, *slot.recent(Seq(7), 1, 1 << 20))
    assert slot.recent(Seq(4), 100, 1) == first[:1]
    kept = slot.recent(Seq(4), 100, 1 << 20)
    more = put(slot, e.TextProduced("more"))
    assert slot.recent(Seq(4), 100, 1 << 20) == (*kept, *more)
    for before in (0, 1):
        slot.reach(Seq(before), slot.visible_seq)
    assert slot.cut is None


async def test_waking_followers_carries_nothing(autojump_clock: MockClock) -> None:
    slot = make_slot()
    told: list[str] = []
    slot.tell()  # nobody is there
    slot.join(Seq(0), told.append)
    slot.join(Seq(0))
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(slot.wait_news)
        await wait_all_tasks_blocked()
        slot.tell()
    assert told == [slot.run.id]
    slot.leave(Seq(0), told.append)
    slot.tell()
    assert told == [slot.run.id]
