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


payloads = st.one_of(st.binary(max_size=200), st.just(b"x" * 126), st.just(b"y" * 66_000))
scripts = st.lists(
    st.tuples(st.sampled_from(["data", "ping", "pong"]), payloads, st.integers(1, 4)), max_size=6
)


def wire_of(
    script: list[tuple[str, bytes, int]], client: bool
) -> tuple[bytes, list[bytes], list[bytes]]:
    """The frames of a script, fragments with pings between them; its messages; its control
    frames."""
    wire, sent, controls = b"", [], []

    def control(opcode: int, payload: bytes) -> bytes:
        controls.append(frame(opcode, payload, client=client))
        return controls[-1]

    for kind, payload, pieces in script:
        if kind != "data":
            wire += control(0x9 if kind == "ping" else 0xA, payload[:125])
            continue
        step = max(1, -(-len(payload) // pieces))
        parts = [payload[at : at + step] for at in range(0, len(payload), step)] or [b""]
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            wire += frame(0x2 if index == 0 else 0x0, part, last, client)
            wire += control(0x9, b"between")
        sent.append(payload)
    return wire, sent, controls


@given(script=scripts, client=st.booleans(), cuts=st.lists(st.integers(0, 1 << 20), max_size=20))
def test_messages_are_taken_out_and_control_frames_let_through_whatever_the_split(
    script: list[tuple[str, bytes, int]], client: bool, cuts: list[int]
) -> None:
    wire, sent, controls = wire_of(script, client)
    watching = guard(masked=client)
    edges = [0, *sorted(cut % (len(wire) + 1) for cut in cuts), len(wire)]
    passed = b"".join(watching.feed(wire[start:end]) for start, end in pairwise(edges))
    assert watching.violation is None
    assert list(watching.taken) == sent
    assert watching.payload == sum(map(len, sent))
    assert passed == b"".join(controls)
    assert watching.pongs == sum(kind == "pong" for kind, _, _ in script)
    assert not watching.peer_closed


@pytest.mark.parametrize("client", [False, True])
def test_only_a_frame_that_a_read_cuts_goes_the_long_way(
    client: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[bytes] = []
    end_frame = Guard._end_frame

    def long_way(self: Guard, payload: bytes) -> bytes:
        ways.append(payload)
        return end_frame(self, payload)

    monkeypatch.setattr(Guard, "_end_frame", long_way)
    sent = [bytes([nth]) * 300 for nth in range(40)]
    wire = b"".join(frame(0x2, each, client=client) for each in sent)
    watching, read = guard(masked=client), len(wire) // 4 - 50
    for at in range(0, len(wire), read):
        watching.feed(wire[at : at + read])
    assert watching.taken == sent
    assert len(ways) == 4, "one at the end of each read but the last"


def by_wsproto(wire: bytes, client: bool) -> list[bytes] | None:
    """The messages that wsproto finds; None where it refuses something."""
    decoder = FrameProtocol(client, [])
    decoder.receive_bytes(wire)
    found, message = [], b""
    try:
        for each in decoder.received_frames():
            if each.opcode is Opcode.CLOSE:
                return found
            if not each.opcode.iscontrol():
                message += each.payload.encode() if isinstance(each.payload, str) else each.payload
                if each.message_finished and each.frame_finished:
                    found.append(message)
                    message = b""
    except ParseFailed:
        return None
    return found


chunks = st.builds(
    frame, st.sampled_from([0, 1, 1, 2, 8, 9]), st.binary(max_size=9) | st.just("é".encode())
)


@given(st.lists(chunks | st.binary(max_size=3), max_size=5).map(b"".join), st.booleans())
def test_what_it_takes_is_what_wsproto_takes(wire: bytes, binary: bool) -> None:
    """Any bytes: no error; and where both find nothing wrong, the same messages."""
    watching = guard(binary=binary)
    watching.feed(wire)
    theirs = by_wsproto(wire, client=True)
    if theirs is not None and watching.violation is None:
        assert list(watching.taken) == theirs
    elif theirs is not None:
        assert list(watching.taken) == theirs[: len(watching.taken)]


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4))
def test_a_mask_comes_off(payload: bytes, key: bytes) -> None:
    masked = bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))
    watching = guard(masked=True)
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    watching.feed(b"\x82" + length + key + masked)
    assert list(watching.taken) == [payload]


def test_a_text_is_utf8_however_it_is_cut() -> None:
    text = "é€𝄞".encode()
    watching = guard(binary=False)
    for at in range(len(text)):
        watching.feed(frame(0x1 if not at else 0x0, text[at : at + 1], at == len(text) - 1))
    assert list(watching.taken) == [text]
    watching.feed(frame(0x1, text[:-1]))
    assert watching.violation is not None
    assert watching.violation.code == 1007


def test_a_text_may_be_any_bytes_where_its_reader_sees_to_them() -> None:
    watching = Guard(masked=False, binary=False, limit=LIMIT, any_text=True)
    watching.feed(frame(0x1, b"a\xff"))
    assert (list(watching.taken), watching.violation) == ([b"a\xff"], None)


@pytest.mark.parametrize(("drop", "code"), [(False, 1003), (True, None)])
def test_a_message_of_the_other_kind_ends_it_with_a_word_or_without(
    drop: bool, code: int | None
) -> None:
    watching = Guard(masked=False, binary=False, limit=LIMIT, drop_other=drop)
    watching.feed(frame(0x2, b"binary"))
    assert watching.violation is not None
    assert watching.violation.code == code


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT])
def test_up_to_the_limit(size: int) -> None:
    watching = guard()
    watching.feed(frame(0x2, b"x" * size))
    assert watching.violation is None
    assert len(watching.taken) == 1


def test_above_the_limit_is_known_from_the_header() -> None:
    watching = guard()
    watching.feed(frame(0x2, b"ok") + frame(0x2, b"x" * (LIMIT + 1))[:10])
    assert list(watching.taken) == [b"ok"]
    assert watching.violation is not None
    assert watching.violation.code == 1009
    assert "70001 bytes" in watching.violation.text
    huge = guard()
    huge.feed(b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff")
    assert huge.violation is not None
    assert huge.violation.code == 1009


def test_fault_5_fragments_add_up() -> None:
    watching = guard(limit=10)
    watching.feed(frame(0x2, b"12345", fin=False) + frame(0x0, b"67890", fin=False))
    assert watching.violation is None
    watching.feed(frame(0x0, b"1"))
    assert watching.violation is not None
    assert watching.violation.code == 1009


@pytest.mark.limit("transports/websocket_guard.FRAGMENTS")
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
    assert list(fresh.taken) == [b"", b"", b""]


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
    assert (watching.violation.code, list(watching.taken)) == (1003, [b"fine"])
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
    rest = frame(0x8, b"\x03\xe8bye")[3:]
    assert watching.feed(rest + frame(0x2, b"late")) == frame(0x8, b"\x03\xe8bye")
    assert watching.peer_closed
    assert not watching.taken


@pytest.mark.parametrize("client", [False, True])
def test_pings_are_counted_and_may_be_kept_from_who_answers_them(client: bool) -> None:
    keeper, ping = guard(masked=client), frame(0x9, b"life", client=client)
    assert keeper.feed(ping) == ping
    keeper.pings.answered = False
    assert keeper.feed(frame(0x9, b"", client=client)) == b""
    assert (keeper.pings.came, keeper.pings.last) == (2, b"")
    pong = frame(0xA, b"life", client=client)
    assert keeper.feed(pong) == pong
