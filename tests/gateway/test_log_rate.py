"""A kind of line has a budget, and what is above it is counted."""

from __future__ import annotations

import pytest

from fleetgate.gateway.log_rate import BURST, KEPT, RATE, LogRate


class _Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.limit("gateway/log_rate.BURST")
def test_i9_so_many_lines_come_at_once_and_the_next_one_tells_of_the_others() -> None:
    time = _Time()
    rate = LogRate(time)
    assert [rate.take("a") for _ in range(BURST)] == [0] * BURST
    assert [rate.take("a") for _ in range(7)] == [None] * 7
    time.now = 1.5 / RATE
    assert rate.take("a") == 7
    assert rate.take("a") is None


@pytest.mark.limit("gateway/log_rate.RATE")
def test_i9_so_many_lines_come_in_a_second_for_ever() -> None:
    time = _Time()
    rate = LogRate(time)
    written = 0
    for each in range(60 * RATE * 10):
        time.now = each / (RATE * 10)
        written += rate.take("a") is not None
    assert BURST + 59 * RATE <= written <= BURST + 60 * RATE


def test_a_flood_of_one_kind_takes_no_line_from_another() -> None:
    rate = LogRate(_Time())
    for _ in range(2 * BURST):
        rate.take("a")
    assert rate.take("b") == 0


def test_a_long_silence_gives_one_burst_and_no_more() -> None:
    time = _Time()
    rate = LogRate(time)
    time.now = 1e9
    assert sum(rate.take("a") is not None for _ in range(2 * BURST)) == BURST


@pytest.mark.limit("gateway/log_rate.KEPT")
def test_i9_so_many_budgets_are_kept() -> None:
    rate = LogRate(_Time())
    for _ in range(BURST + 1):
        rate.take("first")
    for each in range(KEPT - 1):
        rate.take(each)
    assert rate.take("first") is None
    for each in range(KEPT):
        rate.take(("later", each))
    assert rate.take("first") == 0
