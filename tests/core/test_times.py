"""Spans of time."""

from fleetgate.core.times import SECOND, nanos


def test_seconds_are_nanoseconds_within() -> None:
    assert nanos(0.1) == 100_000_000
    assert nanos(1.5) == 1_500_000_000
    assert nanos(1) == SECOND
