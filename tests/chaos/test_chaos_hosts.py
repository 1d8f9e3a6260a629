"""The workers of the kill loop: what their books say of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from chaos_book import Line
from chaos_hosts import NEVER, Shelf, Work, executions, missed, repeats, shelf_of, under_way
from chaos_lives import Blow
from chaos_site import GRACE

from fleetgate.core.times import SECOND

NOW = 1_000 * SECOND


def ago(share: float) -> int:
    return NOW - round(share * GRACE * SECOND)


@pytest.mark.parametrize(
    ("ups", "downs", "gone"),
    [
        ([], [], True),
        ([ago(5)], [], False),
        ([ago(5)], [ago(0.5)], True),
        ([ago(5)], [ago(0.3)], False),
        ([ago(5), ago(0.7)], [ago(2)], False),
        ([ago(5), ago(0.5)], [ago(2)], True),
        ([ago(5), ago(0.9), ago(0.3)], [ago(2), ago(0.5)], False),
        ([ago(5), ago(0.9), ago(0.1)], [ago(2), ago(0.5)], True),
    ],
)
def test_a_peer_is_missed_that_was_hardly_there_within_the_grace(
    ups: list[int], downs: list[int], gone: bool
) -> None:
    assert missed(ups, downs, NOW) is gone
    assert Shelf(ups=ups, downs=downs).missed(NOW) is gone


def lines(*each: tuple[Any, ...]) -> list[Line]:
    return [Line(life, at, *rest) for life, at, *rest in each]


BOOK = lines(
    (0, 1, "up"),
    (0, 2, "began", "cut"),
    (0, 3, "began", "over"),
    (0, 4, "said", "cut.0"),
    (0, 5, "got", "cut", "an input"),
    (0, 6, "over", "over"),
    (1, 20, "up"),
    (1, 21, "began", "cut"),
    (1, 22, "said", "cut.0"),
    (1, 23, "over", "cut"),
    (1, 24, "down", "the gateway went"),
    (2, 40, "fault", "KeyError()"),
    (2, 41, "up"),
)
BLOWS = (Blow(10, 11, "worker agency"), Blow(30, 31, "worker agency"))


def test_a_book_is_read_with_the_ends_of_its_lives() -> None:
    shelf = shelf_of(BOOK, BLOWS)
    assert (shelf.ups, shelf.downs) == ([1, 20, 41], [10, 24])
    assert shelf.got["cut"] == [b"an input"]
    assert shelf.faults == ["KeyError()"]
    assert shelf.work["cut"].began == ((0, 2), (1, 21))
    assert executions(shelf.work["cut"]) == Counter({0: 1, 1: 1})
    assert shelf.work["cut"].executed == 2
    assert shelf.work["none"].executed == 0


def test_a_kill_lasts_until_the_next_link_is_there() -> None:
    shelf = shelf_of(BOOK, BLOWS)
    assert [(fall.before, fall.after) for fall in shelf.falls(BLOWS)] == [(10, 20), (30, 41)]
    assert [fall.after for fall in shelf.falls([Blow(50, 51, "worker agency")])] == [NEVER]


def test_a_run_is_cut_whose_last_beginning_had_no_end_before_the_kill() -> None:
    assert Work(((0, 2),)).cut(1)
    assert not Work(((0, 2),)).cut(0)
    assert not Work(((0, 2),), frozenset({0})).cut(1)
    assert not Work(((0, 2), (1, 9))).cut(1)
    assert Work(((0, 2), (1, 9)), frozenset({0})).cut(2)
    assert not Work().cut(3)


def test_a_worker_is_at_work_between_beginning_and_end() -> None:
    assert [under_way(BOOK[:many], 0) for many in (1, 2, 3, 6)] == [False, True, True, True]
    assert [under_way(BOOK[:many], 1) for many in (6, 8, 10)] == [False, True, False]
    assert not under_way(BOOK, 2)


def test_what_was_said_again_is_counted_once_the_gateway_had_it() -> None:
    shelf = shelf_of(BOOK, BLOWS)
    assert repeats([shelf], {"cut.0": 7}) == 1
    assert repeats([shelf], {"cut.0": 22}) == 0
    assert repeats([shelf], {}) == 0
