"""When events passed a point, as far as it is remembered."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.ids import Epoch, RunId, WorkerId
from fleetgate.core.passages import LINKS, SENT, STORED, Passages, Sent

RUN, OTHER = RunId("north/r"), RunId("north/o")
GUI = (SENT, "gui", "1")


class _Clock:
    def __init__(self) -> None:
        self.now = 100

    def __call__(self) -> int:
        self.now += 1
        return self.now


class _Teller:
    def __init__(self, peer: str) -> None:
        self.link = ("gui", peer)

    def reached(self, run: RunId) -> tuple[int, int] | None:
        return (2, 7) if run == RUN else None


def test_an_event_had_passed_by_the_first_mark_that_is_not_below_it() -> None:
    passages = Passages(_Clock())
    assert passages.since == 101
    assert passages.when(RUN, STORED, 1) is None
    passages.mark(RUN, STORED, 3)
    passages.mark(OTHER, STORED, 4)
    passages.mark(RUN, GUI, 4)
    passages.mark(RUN, STORED, 3)  # nothing new
    passages.mark(RUN, STORED, 5)
    times = [passages.when(RUN, STORED, seq) for seq in range(1, 7)]
    assert times == [102, 102, 102, 106, 106, None]


@pytest.mark.limit("core/passages.NOTED")
def test_I9_of_what_is_forgotten_no_later_time_is_told() -> None:
    passages = Passages(_Clock(), most=3)
    for through in (1, 2, 3):
        passages.mark(RUN, STORED, through)
    assert [passages.when(RUN, STORED, seq) for seq in (1, 2, 3)] == [None, 103, 104]
    passages.mark(OTHER, STORED, 9)
    assert [passages.when(RUN, STORED, seq) for seq in (1, 2, 3)] == [None, None, 104]
    assert passages.when(OTHER, STORED, 9) is None  # a mark before it may be what was forgotten


def test_those_who_follow_are_asked_and_those_who_are_gone_remembered() -> None:
    passages = Passages(_Clock())
    here, there = _Teller("1"), _Teller("3")
    passages.tellers.add(here)
    passages.tellers.add(there)
    for through in (4, 6, 9):
        passages.mark(RUN, (SENT, "gui", "2"), through)
    passages.mark(RUN, GUI, 7)
    assert passages.sent(RUN)[0] == Sent("gui", "2", 4, 9, now=False)
    live = sorted(passages.sent(RUN)[1:], key=lambda each: each.peer)
    assert live == [Sent("gui", peer, 2, 7, now=True) for peer in ("1", "3")]
    del here
    gc.collect()
    assert Sent("gui", "1", 7, 7, now=False) in passages.sent(RUN)
    assert passages.sent(OTHER) == []


@pytest.mark.limit("core/passages.LINKS")
def test_I9_links_are_bounded_and_the_oldest_go() -> None:
    passages = Passages(_Clock())
    for number in range(LINKS + 1):
        passages.came(WorkerId("w"), Epoch(number), "hosts", str(number))
    assert passages.link(WorkerId("w"), Epoch(0)) is None
    assert passages.link(WorkerId("w"), Epoch(LINKS)) == ("hosts", str(LINKS))


@given(st.lists(st.tuples(st.sampled_from([RUN, OTHER]), st.integers(0, 3))), st.integers(1, 30))
def test_a_time_that_is_told_is_that_of_the_passage(
    steps: list[tuple[RunId, int]], most: int
) -> None:
    """Numbers only rise. Whatever was forgotten, what is told is true."""
    clock = _Clock()
    passages = Passages(clock, most)
    reached = {RUN: 0, OTHER: 0}
    passed: dict[tuple[RunId, int], int] = {}
    for run, more in steps:
        before, reached[run] = reached[run], reached[run] + more
        passages.mark(run, STORED, reached[run])
        passed |= {(run, seq): clock.now for seq in range(before + 1, reached[run] + 1)}
    for (run, seq), time in passed.items():
        told = passages.when(run, STORED, seq)
        assert told in ((time,) if len(steps) < most else (time, None))
