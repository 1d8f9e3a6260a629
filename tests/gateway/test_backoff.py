"""Waiting before the next dial."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.backoff import Backoff
from fleetgate.protocols.carriage import Redial


def test_the_reach_doubles_up_to_the_cap_and_starts_anew() -> None:
    backoff = Backoff(lambda: 1.0, Redial())
    assert [backoff.next() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    backoff.reset()
    assert backoff.next() == 1


def test_a_protocol_may_have_its_own_figures_and_no_jitter() -> None:
    backoff = Backoff(lambda: 0.0, Redial(0.01, 0.02, jitter=False))
    assert [backoff.next() for _ in range(3)] == [0.01, 0.02, 0.02]


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 2000))
def test_no_wait_is_above_the_cap_or_negative(draw: float, tries: int) -> None:
    backoff = Backoff(lambda: draw, Redial())
    assert all(0 <= backoff.next() <= 30 for _ in range(tries))


def test_fault_15_a_fleet_does_not_come_back_in_one_second() -> None:
    """5,000 nodes that lost their server and find it again only after a minute: the busiest
    second has less than three times the mean of the seconds that they spread over."""
    draw = random.Random(7).random
    arrivals: Counter[int] = Counter()
    for _ in range(5000):
        backoff, at = Backoff(draw, Redial()), 0.0
        while at < 60:
            at += backoff.next()
        arrivals[int(at)] += 1
    mean = sum(arrivals.values()) / (max(arrivals) - min(arrivals) + 1)
    assert max(arrivals.values()) / mean < 3
