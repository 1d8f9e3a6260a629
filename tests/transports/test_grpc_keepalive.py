from __future__ import annotations

import pytest

from fleetgate.transports.grpc_keepalive import PATIENCE, Patience, PingWatch


def test_pings_as_often_as_allowed_are_borne_for_ever() -> None:
    watch = PingWatch(10)
    assert all(watch.pinged(10.0 * number) for number in range(1000))


@pytest.mark.limit("transports/grpc_keepalive.STRIKES")
def test_the_third_early_ping_is_one_too_many() -> None:
    watch = PingWatch(10)
    assert [watch.pinged(now) for now in (0, 1, 2, 3)] == [True, True, True, False]


def test_a_strike_is_not_forgiven_by_waiting() -> None:
    watch = PingWatch(10)
    assert [watch.pinged(now) for now in (0, 1, 50, 51, 90, 91)] == [True] * 5 + [False]


def test_whoever_is_spoken_to_may_ask() -> None:
    watch = PingWatch(10)
    for number in range(100):
        assert watch.pinged(number)
        watch.spoke()


def test_a_client_that_was_sent_away_asks_half_as_often() -> None:
    patience = Patience()
    assert patience.interval("grpc://a:1", 300) == 300
    patience.sent_away("grpc://a:1")
    assert patience.interval("grpc://a:1", 300) == 600
    patience.sent_away("grpc://a:1")
    assert patience.interval("grpc://a:1", 300) == 1200
    assert patience.interval("grpc://b:1", 300) == 300


@pytest.mark.limit("transports/grpc_keepalive.PATIENCE")
def test_it_remembers_so_many_servers_and_no_more() -> None:
    patience = Patience()
    for number in range(PATIENCE + 1):
        patience.sent_away(f"grpc://a:{number}")
    assert patience.interval("grpc://a:0", 300) == 300
    assert patience.interval("grpc://a:1", 300) == 600
