from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.transports.grpc_messages import MessageFault, Messages, prefixed


@given(st.lists(st.binary(max_size=40), max_size=20), st.lists(st.integers(1, 30), min_size=1))
def test_messages_come_however_they_are_cut(sent: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(prefixed, sent))
    messages, got, turn = Messages(40), [], 0
    while stream:
        size = cuts[turn % len(cuts)]
        got += messages.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    messages.eof()
    assert got == sent
    assert messages.held == 0


def test_a_long_message_is_refused_by_its_length() -> None:
    messages = Messages(10)
    with pytest.raises(MessageFault, match="11 bytes came; the limit is 10") as caught:
        messages.feed(prefixed(b"first") + b"\0\0\0\0\x0b")
    assert caught.value.messages == [b"first"]
    assert caught.value.status == 8
    assert messages.feed(b"x" * 100) == []
    assert messages.held == 0


@pytest.mark.parametrize(
    ("data", "encoding", "status"),
    [
        (b"\x01\0\0\0\0", "identity", 13),
        (b"\x01\0\0\0\0", "gzip", 12),
        (b"\x02\0\0\0\0", "identity", 13),
        (b"GET / HTTP/1.1", "identity", 13),
    ],
)
def test_what_is_no_plain_message(data: bytes, encoding: str, status: int) -> None:
    with pytest.raises(MessageFault) as caught:
        Messages(1 << 20, encoding).feed(data)
    assert caught.value.status == status
    assert "GET" not in str(caught.value)


@pytest.mark.parametrize("part", [b"\0", b"\0\0\0\0\x05", b"\0\0\0\0\x05four"])
def test_the_stream_ends_between_messages_only(part: bytes) -> None:
    messages = Messages(100)
    assert messages.feed(prefixed(b"whole") + part) == [b"whole"]
    assert messages.held == len(part)
    with pytest.raises(MessageFault, match="in the middle"):
        messages.eof()
