from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.frame_protocol import FrameProtocol, Opcode, ParseFailed

from fleetgate.transports.websocket_guard import FRAGMENTS, Guard

LIMIT = 70_000


def frame(opcode: int, payload: bytes, fin: bool = True, client: bool = False) -> bytes:
    """One frame, made by wsproto."""
    maker = FrameProtocol(client, [])
    return bytes(maker._serialize_frame(Opcode(opcode), payload, fin))


def guard(limit: int = LIMIT, binary: bool = True, masked: bool = False) -> Guard:
    return Guard(masked=masked, binary=binary, limit=limit)


messages = st.lists(
    st.tuples(
        st.sampled_from(["data", "ping", "pong"]),
        st.one_of(st.binary(max_size=200), st.just(b"x" * 126), st.just(b"y" * 66_000)),
        st.integers(1, 4),
    ),
    max_size=6,
)


def wire_of(script: list[tuple[str, bytes, int]], client: bool) -> tuple[bytes, list[bytes]]:
    """The frames of a script, fragments with pings between them, and its messages."""
    wire, sent = b"", []
    for kind, payload, pieces in script:
        if kind != "data":
            wire += frame(0x9 if kind == "ping" else 0xA, payload[:125], client=client)
            continue
        step = max(1, -(-len(payload) // pieces))
        parts = [payload[at : at + step] for at in range(0, len(payload), step)] or [b""]
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            wire += frame(0x2 if index == 0 else 0x0, part, last, client)
            wire += frame(0x9, b"between", client=client)
        sent.append(payload)
    return wire, sent


@given(script=messages, client=st.booleans(), cuts=st.lists(st.integers(0, 1 << 20), max_size=20))
def test_counts_messages_and_boundaries_whatever_the_split(
    script: list[tuple[str, bytes, int]], client: bool, cuts: list[int]
) -> None:
    wire, sent = wire_of(script, client)
    watching = guard(masked=client)
    edges = [0, *sorted(cut % (len(wire) + 1) for cut in cuts), len(wire)]
    reached = 0
    for start, end in pairwise(edges):
        boundary = watching.feed(wire[start:end])
        assert 0 <= boundary <= end - start
        if boundary:
            reached = start + boundary
    assert watching.violation is None
    assert (watching.messages, watching.payload) == (len(sent), sum(map(len, sent)))
    assert reached == len(wire)
    assert not watching.peer_closed


@given(st.binary(max_size=300), st.booleans(), st.booleans())
def test_lets_nothing_pass_that_wsproto_takes_for_more(
    junk: bytes, masked: bool, binary: bool
) -> None:
    """Any bytes: no error, and never more messages than wsproto finds in what was let through."""
    watching = guard(masked=masked, binary=binary, limit=50)
    boundary = watching.feed(junk)
    decoder = FrameProtocol(not masked, [])
    decoder.receive_bytes(junk[:boundary])
    finished = 0
    try:
        for found in decoder.received_frames():
            if not found.opcode.iscontrol() and found.message_finished and found.frame_finished:
                finished += 1
    except ParseFailed:
        return  # what wsproto finds besides (UTF-8, close payloads) is its own to find
    assert watching.messages == finished


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT])
def test_up_to_the_limit(size: int) -> None:
    watching = guard()
    watching.feed(frame(0x2, b"x" * size))
    assert watching.violation is None
    assert watching.messages == 1


def test_above_the_limit_is_known_from_the_header() -> None:
    watching = guard()
    assert watching.feed(frame(0x2, b"ok") + frame(0x2, b"x" * (LIMIT + 1))[:10]) == 4
    assert watching.violation is not None
    assert watching.violation.code == 1009
    assert "70001 bytes" in watching.violation.text
    huge = guard()
    huge.feed(b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff")
    assert huge.violation is not None
    assert huge.violation.code == 1009


def test_fragments_add_up() -> None:
    watching = guard(limit=10)
    watching.feed(frame(0x2, b"12345", fin=False) + frame(0x0, b"67890", fin=False))
    assert watching.violation is None
    watching.feed(frame(0x0, b"1"))
    assert watching.violation is not None
    assert watching.violation.code == 1009


def test_empty_fragments_come_to_an_end() -> None:
    watching = guard()
    watching.feed(frame(0x2, b"", fin=False) + frame(0x0, b"", fin=False) * (FRAGMENTS - 1))
    assert watching.violation is None
    watching.feed(frame(0x0, b"", fin=False))
    assert watching.violation is not None
    assert watching.violation.code == 1008
    fresh = guard()
    for _ in range(3):
        fresh.feed(frame(0x2, b"", fin=False) + frame(0x0, b"", fin=False) * (FRAGMENTS - 2))
        fresh.feed(frame(0x0, b""))
    assert fresh.violation is None
    assert fresh.messages == 3


@pytest.mark.parametrize(
    ("wire", "code", "words"),
    [
        (frame(0x1, b"text"), 1003, "only binary messages"),
        (b"\xc2\x00", 1002, "reserved bits"),
        (b"\x83\x00", 1002, "unknown opcode"),
        (b"\x82\x80\x00\x00\x00\x00", 1002, "only by the client"),
        (frame(0x0, b"x"), 1002, "without a start"),
        (frame(0x2, b"x", fin=False) + frame(0x2, b"y"), 1002, "began inside another"),
        (b"\x09\x00", 1002, "a control frame is whole"),
        (b"\x89\x7e\x00\x7e", 1002, "at most 125 bytes"),
    ],
)
def test_a_violation_has_its_code(wire: bytes, code: int, words: str) -> None:
    for pieces in ([wire], [bytes([byte]) for byte in wire]):
        watching = guard()
        for piece in pieces:
            watching.feed(piece)
        assert watching.violation is not None
        assert watching.violation.code == code
        assert words in watching.violation.text


def test_binary_on_a_text_link() -> None:
    watching = guard(binary=False)
    watching.feed(frame(0x1, b"fine") + frame(0x2, b"no"))
    assert watching.violation is not None
    assert (watching.violation.code, watching.messages) == (1003, 1)
    assert "only text" in watching.violation.text


def test_an_unmasked_client_frame() -> None:
    watching = guard(masked=True)
    watching.feed(frame(0x2, b"x"))
    assert watching.violation is not None
    assert watching.violation.code == 1002


def test_a_close_frame_is_seen() -> None:
    watching = guard()
    watching.feed(frame(0x8, b"\x03\xe8bye")[:3])
    assert not watching.peer_closed
    watching.feed(frame(0x8, b"\x03\xe8bye")[3:])
    assert watching.peer_closed
