import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.commands import CloseInput, Order, SendInput
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.stdin import (
    LARGEST,
    MOST_ANSWERS,
    Turn,
    WriteLog,
    WriteQueue,
    answers_in,
    verdict_of,
)

RUN = RunId("r")


def order(input: int, data: bytes | None = b"x", newline: bool = False) -> Order:
    command = CloseInput(RUN) if data is None else SendInput(RUN, data, newline)
    return Order(RUN, OrderNumber(input), command, input)


def queue(*orders: Order, accepted: int = 0) -> WriteQueue:
    made = WriteQueue("u", accepted)
    for each in orders:
        assert made.add(each)
    return made


def test_writes_and_the_close_share_one_sequence() -> None:
    sent = list(queue(order(1, b"a"), order(2, b"b", True), order(3, None)).next(100))
    assert sent == [
        w.StdinWrite("u", 1, b"a"),
        w.StdinWrite("u", 2, b"b", True),
        w.CloseStdin("u", 3),
    ]


def test_the_window_bounds_what_is_on_its_way_but_never_a_single_write() -> None:
    writes = queue(order(1, b"x" * 10), order(2, b"x" * 5), order(3, b"x" * 6))
    assert [m.write_seq for m in writes.next(4)] == [1]
    assert not list(writes.next(10))
    writes.acknowledge(1)
    assert [m.write_seq for m in writes.next(10)] == [2]
    writes.acknowledge(2)
    assert [m.write_seq for m in writes.next(10)] == [3]


def test_a_rewind_sends_every_write_above_the_last_acknowledged_one() -> None:
    writes = queue(*(order(n) for n in range(1, 5)))
    list(writes.next(100))
    writes.acknowledge(2)
    writes.rewind()
    assert [m.write_seq for m in writes.next(100)] == [3, 4]
    assert writes.waiting
    writes.acknowledge(4)
    assert not writes.waiting


def test_what_was_acknowledged_before_this_link_is_not_sent() -> None:
    writes = queue(order(1), order(2), order(3), accepted=2)
    assert [m.write_seq for m in writes.next(100)] == [3]


@pytest.mark.limit("protocols/rvbox/stdin.LARGEST")
def test_a_write_too_long_for_a_frame_keeps_its_number() -> None:
    writes = WriteQueue("u", 0)
    assert writes.add(order(1, b"x" * LARGEST))
    assert not writes.add(order(2, b"x" * (LARGEST + 1)))
    first, second = writes.next(10 * LARGEST)
    assert isinstance(first, w.StdinWrite)
    assert len(first.data) == LARGEST
    assert second == w.StdinWrite("u", 2, b"")


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 60), st.randoms())
def test_every_write_is_sent_once_and_in_order_whatever_the_acks(
    sizes: list[int], window: int, dice
) -> None:
    writes = queue(*(order(n, b"x" * size) for n, size in enumerate(sizes, 1)))
    sent: list[int] = []
    acked = 0
    while acked < len(sizes):
        sent += [m.write_seq for m in writes.next(window)]
        under_way = sum(max(1, sizes[n - 1]) for n in sent if n > acked)
        assert under_way <= window or len(sent) == acked + 1
        acked = dice.randint(acked + 1, len(sent))
        writes.acknowledge(acked)
    assert sent == list(range(1, len(sizes) + 1))


def test_a_repeat_is_told_from_a_gap_and_from_what_comes_behind_the_close() -> None:
    log = WriteLog(inputs=2, closed=False, answers={})
    assert [log.judge(n) for n in (1, 2, 3, 4)] == [Turn.REPEAT, Turn.REPEAT, Turn.NEXT, Turn.GAP]
    log.take(closes=True)
    assert [log.judge(n) for n in (3, 4, 5)] == [Turn.REPEAT, Turn.CLOSED, Turn.CLOSED]


@given(st.lists(st.booleans(), max_size=20))
def test_inputs_are_numbered_on_the_wire_around_the_answers(turns: list[bool]) -> None:
    log = WriteLog(inputs=0, closed=False, answers={})
    wire_number: dict[int, int] = {}
    for nth, is_answer in enumerate(turns, 1):
        if is_answer:
            log.answer(f"a{nth}")
        else:
            log.take()
            wire_number[len(wire_number) + 1] = nth
    assert log.taken == len(turns)
    assert {n: log.write_of(n) for n in wire_number} == wire_number
    again = WriteLog(len(wire_number), False, answers_in({"answers": log.answers}))
    assert again.taken == log.taken


def test_what_a_route_feeds_a_command_has_no_number_on_the_wire() -> None:
    log = WriteLog(inputs=1, closed=False, answers={}, own=1)
    assert log.shifted
    assert log.judge(1) is Turn.NEXT
    log.take()
    log.answer("a")
    assert [log.write_of(n) for n in (1, 2, 3)] == [0, 1, 3]
    assert not WriteLog(inputs=1, closed=False, answers={}).shifted


@pytest.mark.limit("protocols/rvbox/stdin.MOST_ANSWERS")
def test_only_so_many_answers_and_only_short_names_are_kept() -> None:
    log = WriteLog(0, False, {})
    assert not log.can_answer("x" * 65)
    for nth in range(MOST_ANSWERS):
        assert log.can_answer("a")
        log.answer(f"a{nth}")
    assert not log.can_answer("a")


def test_a_note_of_another_shape_is_no_answer() -> None:
    assert answers_in({}) == {}
    assert answers_in({"answers": 3}) == {}
    assert answers_in({"answers": {"a": "x", "b": 2}}) == {"b": 2}


def test_a_line_says_yes_or_no_or_nothing() -> None:
    assert verdict_of(b"y\n") is True
    assert verdict_of(b" NO ") is False
    assert verdict_of(b"yesterday") is None
