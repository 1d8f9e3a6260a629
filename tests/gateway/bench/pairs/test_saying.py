"""What a worker says."""

from __future__ import annotations

import itertools

import pytest

from fleetgate.gateway.bench.pairs.dam import mark_of
from fleetgate.gateway.bench.pairs.saying import AT_ONCE, Work, in_turns


def test_the_events_are_shared_out_among_the_runs() -> None:
    assert Work(1, 100, 256).each == 100
    assert Work(64, 6400, 256).each == 100
    assert Work(64, 10, 256).each == 1


@pytest.mark.parametrize("each", [1, 2, 5])
def test_each_text_is_of_the_size_and_the_last_one_has_the_mark(each: int) -> None:
    texts = list(Work(3, 3 * each, 64).texts(2))
    assert len(texts) == each
    assert {len(text) for text in texts} == {64}
    assert [mark_of(2).decode() in text for text in texts] == [False] * (each - 1) + [True]
    assert all(a != b for a, b in itertools.pairwise(texts))


def test_runs_take_turns_each_with_as_much_as_a_worker_says_together() -> None:
    work = Work(2, 2 * (AT_ONCE + 1), 64)
    ways = [iter([b"%d %d" % (run, at) for at in range(work.each)]) for run in range(2)]
    frames = in_turns(ways, work)
    turns = [
        [len(list(told)), run]
        for run, told in itertools.groupby(frames, lambda frame: frame.split()[0])
    ]
    assert turns == [[AT_ONCE, b"0"], [AT_ONCE, b"1"], [1, b"0"], [1, b"1"]]
