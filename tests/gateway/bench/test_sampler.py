"""A program that looks at itself. Never how long something takes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from fleetgate.gateway.bench.sampler import THREADS, Sampler


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    was = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, was)


def test_time_is_counted_where_it_was_seen_and_looking_is_not() -> None:
    times = iter([100, 110, 1000, 1003, 5000])
    sampler = Sampler(clock=lambda: next(times))
    sampler._last = 90
    frame = sys._getframe()
    sampler.look(signal.SIGALRM, frame)  # 10 since the last one, and then 10 to look
    sampler.look(signal.SIGALRM, frame)  # 890, and 3
    (spot,) = (each for each in sampler.end() if each.room != THREADS[0])
    assert spot.seconds == pytest.approx(900e-9)
    assert spot.function.endswith("test_time_is_counted_where_it_was_seen_and_looking_is_not")


def test_a_signal_while_it_looks_is_let_go() -> None:
    calls = 0

    def clock() -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            sampler.look(signal.SIGALRM, None)
        return 10 * calls

    sampler = Sampler(clock)
    sampler.look(signal.SIGALRM, None)
    assert calls == 2
    assert [spot.seconds for spot in sampler.end() if spot.room != THREADS[0]] == [
        pytest.approx(10e-9)
    ]


def test_a_busy_program_sees_itself_and_its_threads() -> None:
    stop, busy = threading.Event(), threading.Event()

    def spin() -> None:
        while not stop.is_set():
            busy.set()

    other = threading.Thread(target=spin)
    sampler = Sampler()
    sampler.begin()
    other.start()
    try:
        while not busy.is_set() or "sees_itself" not in str(list(sampler._spent)):
            pass
    finally:
        spots = sampler.end()
        stop.set()
        other.join()
    (threads,) = (spot for spot in spots if spot.room == THREADS[0])
    assert threads.seconds > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
