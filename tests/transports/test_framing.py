from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.transports.api import FrameRefused, FrameTooLong
from fleetgate.transports.framing import FRAMINGS, Framer, FramingError, make_framer

LIMIT = 300
PLAIN = ("kind", "varint", "lines", "text_lines")


def fit(name: str, body: bytes) -> bytes:
    """The body as a frame that the framing carries."""
    if name == "varint":
        return body
    body = body.replace(b"\n", b" ") if "lines" in name else body
    return body if name == "text_lines" else b"\x00" + body


def feed_in_pieces(framer: Framer, data: bytes, cuts: list[int]) -> tuple[list[bytes], str | None]:
    """All frames and the text of the error, if one came, from the data cut at these offsets."""
    frames: list[bytes] = []
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    try:
        for start, end in pairwise(edges):
            frames += framer.feed(data[start:end])
        framer.eof()
    except FramingError as error:
        return frames + list(error.frames), str(error)
    return frames, None


bodies = st.lists(st.binary(max_size=LIMIT - 1), max_size=8)
cuts = st.lists(st.integers(0, 4000), max_size=30)


@pytest.mark.parametrize("name", PLAIN)
@given(bodies=bodies, cuts=cuts)
def test_any_split_points_give_the_same_frames(
    name: str, bodies: list[bytes], cuts: list[int]
) -> None:
    frames = [fit(name, body) for body in bodies]
    wire = b"".join(make_framer(name, LIMIT).encode(frame) for frame in frames)
    assert feed_in_pieces(make_framer(name, LIMIT), wire, cuts) == (frames, None)


@pytest.mark.parametrize("name", FRAMINGS)
@given(junk=st.binary(max_size=900), cuts=cuts)
def test_junk_gives_frames_or_an_error_whatever_the_split(
    name: str, junk: bytes, cuts: list[int]
) -> None:
    whole = feed_in_pieces(make_framer(name, LIMIT), junk, [])
    framer = make_framer(name, LIMIT)
    assert feed_in_pieces(framer, junk, cuts) == whole
    assert framer.buffered <= LIMIT + 5
    assert all(len(frame) <= LIMIT for frame in whole[0])


@pytest.mark.parametrize("name", PLAIN)
def test_fault_1_the_limit_is_the_same_both_ways(name: str) -> None:
    for size in (LIMIT - 1, LIMIT):
        frame = fit(name, b"x" * LIMIT)[:size]
        framer = make_framer(name, LIMIT)
        assert framer.feed(make_framer(name, LIMIT).encode(frame)) == [frame]
    above = fit(name, b"x" * (LIMIT + 1))[: LIMIT + 1]
    with pytest.raises(FrameTooLong, match="301 bytes; the limit is 300"):
        make_framer(name, LIMIT).encode(above)
    with pytest.raises(FramingError, match="the limit is 300"):
        make_framer(name, LIMIT).feed(make_framer(name, LIMIT + 1).encode(above))


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("kind", (2 << 30).to_bytes(4, "big")),
        ("kind", b"\xff\xff\xff\xff"),
        ("varint", b"\x80\x80\x80\x80\x08"),
        ("varint", b"\xff\xff\xff\xff\xff"),
        ("kind_or_lines", b"\x7b"[:0] + b"\x80\x00\x00\x00"),
    ],
)
def test_fault_1_a_prefix_of_two_gib_is_refused_before_any_body(name: str, wire: bytes) -> None:
    framer = make_framer(name, 1 << 20)
    with pytest.raises(FramingError, match="the limit is 1048576"):
        framer.feed(wire + b"x" * 1000)
    assert framer.buffered == 0


@pytest.mark.parametrize("name", ["kind", "varint"])
def test_a_large_frame_in_small_pieces_is_looked_at_once(name: str) -> None:
    frame = b"\x00" + b"y" * (1 << 20)
    framer = make_framer(name, len(frame))
    wire = framer.encode(frame)
    pieces = [wire[at : at + 100] for at in range(0, len(wire), 100)]
    got = [found for piece in pieces for found in framer.feed(piece)]
    assert got == [frame]


@pytest.mark.parametrize("name", PLAIN)
def test_the_end_of_the_stream_is_judged(name: str) -> None:
    wire = make_framer(name, LIMIT).encode(fit(name, b"abc"))
    between = make_framer(name, LIMIT)
    assert between.feed(wire) == [fit(name, b"abc")]
    between.eof()
    within = make_framer(name, LIMIT)
    assert within.feed(wire + wire[:-1]) == [fit(name, b"abc")]
    with pytest.raises(FramingError, match="the stream ended in the middle of a frame"):
        within.eof()


def test_frames_before_a_fault_are_handed_over_and_the_fault_stays() -> None:
    framer = make_framer("kind", LIMIT)
    with pytest.raises(FramingError, match="empty frame") as caught:
        framer.feed(b"\x00\x00\x00\x02\x00a" + b"\x00\x00\x00\x00" + b"\x00\x00\x00\x02\x00b")
    assert caught.value.frames == (b"\x00a",)
    for _ in range(2):
        with pytest.raises(FramingError, match="empty frame") as caught:
            framer.feed(b"\x00\x00\x00\x02\x00c")
        assert caught.value.frames == ()
        with pytest.raises(FramingError, match="empty frame"):
            framer.eof()


def test_kind_counts_the_kind_byte() -> None:
    framer = make_framer("kind", LIMIT)
    assert framer.encode(b"\x00") == b"\x00\x00\x00\x01\x00"
    assert framer.encode(b"\x04bye") == b"\x00\x00\x00\x04\x04bye"
    assert framer.feed(b"\x00\x00\x00\x01\x00\x00\x00\x00\x03\x01hi") == [b"\x00", b"\x01hi"]
    with pytest.raises(FrameRefused, match="kind byte"):
        framer.encode(b"")


def test_varint_is_protobufs_delimited_format() -> None:
    framer = make_framer("varint", 1 << 20)
    assert framer.encode(b"") == b"\x00"
    assert framer.encode(b"x" * 300) == b"\xac\x02" + b"x" * 300
    assert framer.feed(b"\x00\x01a\xac\x02" + b"x" * 300) == [b"", b"a", b"x" * 300]
    with pytest.raises(FramingError, match="at most 5 bytes"):
        framer.feed(b"\x80\x80\x80\x80\x80\x01")


def test_lines_look_like_text_frames_of_kind() -> None:
    framer = make_framer("lines", LIMIT)
    assert framer.feed(b'{"a":1}\n\n{"b"') == [b'\x00{"a":1}', b"\x00"]
    assert framer.feed(b":2}\n") == [b'\x00{"b":2}']
    assert framer.encode(b"\x00{}") == b"{}\n"
    assert framer.encode(b"\x00") == b"\n"
    for frame, why in (
        (b"\x01{}", "first byte must be 0"),
        (b"", "first byte must be 0"),
        (b"\x00a\nb", "cannot hold a newline"),
    ):
        with pytest.raises(FrameRefused, match=why):
            framer.encode(frame)


def test_text_lines_have_no_kind_byte() -> None:
    framer = make_framer("text_lines", LIMIT)
    assert framer.feed(b"quit\n\nx\r\n") == [b"quit", b"", b"x\r"]
    assert framer.encode(b"{}") == b"{}\n"
    with pytest.raises(FrameRefused, match="newline"):
        framer.encode(b"a\nb")


def test_an_endless_line_is_refused_when_it_passes_the_limit() -> None:
    framer = make_framer("text_lines", LIMIT)
    assert framer.feed(b"x" * LIMIT) == []
    with pytest.raises(FramingError, match="more than 300"):
        framer.feed(b"x")
    assert framer.buffered == 0


@pytest.mark.parametrize(
    ("first", "answer"),
    [
        (b'{"request_id":1}\n', b"{}\n"),
        (b"\x00\x00\x00\x12\x00" + b'{"request_id":1}\n', b"\x00\x00\x00\x03\x00{}"),
    ],
)
def test_the_first_byte_chooses_between_kind_and_lines(first: bytes, answer: bytes) -> None:
    framer = make_framer("kind_or_lines", LIMIT)
    assert framer.feed(b"") == []
    with pytest.raises(FrameRefused, match="has not spoken yet"):
        framer.encode(b"\x00{}")
    framer.eof()
    frames = [frame for byte in first for frame in framer.feed(bytes([byte]))]
    assert [frame.rstrip(b"\n") for frame in frames] == [b'\x00{"request_id":1}']
    assert framer.encode(b"\x00{}") == answer
    framer.eof()


def test_there_is_no_other_framing() -> None:
    assert set(FRAMINGS) == {"kind", "varint", "lines", "text_lines", "kind_or_lines"}
    with pytest.raises(KeyError):
        make_framer("ndjson", LIMIT)


@pytest.mark.parametrize("name", PLAIN)
def test_what_has_the_same_form_encodes_the_same(name: str) -> None:
    forms = {make_framer(other, limit).form for other in PLAIN for limit in (LIMIT, 2 * LIMIT)}
    assert len(forms) == 2 * len(PLAIN)
    assert make_framer(name, LIMIT).form == make_framer(name, LIMIT).form


def test_the_form_of_one_that_adapts_is_that_of_what_it_has_become() -> None:
    adapting = make_framer("kind_or_lines", LIMIT)
    with pytest.raises(FrameRefused):
        adapting.form  # noqa: B018
    adapting.feed(b"{")
    assert adapting.form == make_framer("lines", LIMIT).form
