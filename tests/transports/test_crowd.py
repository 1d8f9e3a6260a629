from __future__ import annotations

import socket

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.transports.crowd import Crowd, place, place_of


def test_one_place_never_has_them_all() -> None:
    crowd = Crowd("links", 3, 2)
    with crowd.one("a"), crowd.one("a"):
        assert str(crowd.refusal("a")) == "there are 2 links from a"
        assert crowd.refusal("b") is None
        with crowd.one("b"):
            assert str(crowd.refusal("c")) == "there are 3 links"
    assert crowd.refusal("a") is None


def test_where_nobody_has_a_place_only_the_whole_counts() -> None:
    crowd = Crowd("links", 3, 1)
    with crowd.one(""), crowd.one(""):
        assert crowd.refusal("") is None
        with crowd.one(""):
            assert str(crowd.refusal("")) == "there are 3 links"


@given(st.lists(st.sampled_from("abc"), max_size=20))
def test_what_has_gone_is_forgotten(places: list[str]) -> None:
    crowd = Crowd("links", 100, 1)
    for each in places:
        with crowd.one(each):
            assert crowd.refusal(each) is not None
    assert all(crowd.refusal(each) is None for each in "abc")
    assert crowd.count == 0


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
    ],
)
def test_a_network_of_ipv6_is_one_place(host: str, expected: str) -> None:
    assert place(host) == expected


async def test_a_socket_file_has_no_place_and_a_peer_that_has_gone_none_any_more() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        assert place_of(stream) == ""
        await stream.aclose()
        assert place_of(stream) == ""
