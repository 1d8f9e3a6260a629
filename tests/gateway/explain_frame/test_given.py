"""Frames out of whatever somebody has."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.explain_frame.given import AS_BYTES, frames_in, from_hex, wrong_with
from fleetgate.gateway.explain_frame.recorded import Given, Unreadable
from fleetgate.gateway.registry import adapters

LIST = b'\0{"requestId":2,"type":"list_runs"}'
FRAMED = len(LIST).to_bytes(4, "big") + LIST


def found_in(data: bytes, protocol: str = "agency") -> Sequence[Given]:
    adapter = adapters(())[protocol]
    explainer = adapter.showing.explainer()

    def takes(frame: bytes) -> bool:
        explained = explainer.explain(frame)
        return explained.readable and not explained.rule

    side = adapter.northbound
    carriage = side.carriage(side.settings())
    return frames_in(data, protocol, adapter.showing.version, carriage, takes)


@pytest.mark.parametrize("text", [b"00ff", b"00 FF\n", b"0x00, 0xff", b"00:ff", b" 00\n ff "])
def test_digits_may_be_written_in_many_ways(text: bytes) -> None:
    assert from_hex(text) == b"\x00\xff"


@pytest.mark.parametrize("text", [b"", b"0", b"00f", b"hello", b"00 f f", b"{}"])
def test_what_is_no_digits_is_told(text: bytes) -> None:
    assert from_hex(text) is None


@pytest.mark.parametrize(
    "data",
    [
        LIST,
        FRAMED,
        FRAMED.hex().encode(),
        LIST.hex(" ").encode(),
        LIST[1:] + b"\n",
    ],
)
def test_a_frame_is_found_with_and_without_its_length(data: bytes) -> None:
    assert [each.data for each in found_in(data)] == [LIST]


def test_a_stream_has_several_and_says_where_it_goes_wrong() -> None:
    assert [each.data for each in found_in(FRAMED * 3)] == [LIST] * 3
    *frames, last = found_in(FRAMED * 2 + bytes(5))
    assert [each.data for each in frames] == [LIST] * 2
    assert (last.data, "empty frame" in last.fault) == (None, True)
    (only,) = found_in(b"\x00\x11\x00\x01\x00{")
    assert "1114113" in only.fault


def test_each_line_of_digits_is_a_frame_of_its_own() -> None:
    lines = f"{LIST.hex()}\n{FRAMED.hex()}\nff\n".encode()
    found = found_in(lines)
    assert [each.data for each in found] == [LIST, LIST, b"\xff"]
    assert [each.where for each in found] == ["line 1", "line 2", "line 3"]


def test_a_line_among_digits_that_is_none_is_told_in_its_place() -> None:
    found = found_in(f"{LIST.hex()}\nzz\n{LIST.hex()}0\n".encode())
    assert [each.data for each in found] == [LIST, None, None]
    assert "other characters came" in found[1].fault
    assert "one is alone among the 71 that came" in found[2].fault


@pytest.mark.parametrize(
    ("text", "said"),
    [(b"abc", "one is alone among the 3"), (b"0x0", "one is alone"), (b"zz", "other")],
)
def test_wrong_digits_are_told_by_what_is_wrong(text: bytes, said: str) -> None:
    assert said in wrong_with(text)


def test_text_that_is_no_frame_may_have_been_meant_as_digits() -> None:
    with pytest.raises(Unreadable, match="one is alone among the 3 that came"):
        found_in(b"abc\n")
    (only,) = found_in(b"0xzz\n")
    assert (only.where, only.data) == (AS_BYTES, b"0xzz\n")
    assert [each.where for each in found_in(b'{"a":1}')] == ["the frame"]


def test_nothing_is_no_frame() -> None:
    with pytest.raises(Unreadable, match="nothing came"):
        found_in(b" \n")


@given(st.sampled_from(sorted(adapters(()))), st.binary(min_size=1, max_size=200))
def test_any_bytes_have_an_answer(protocol: str, data: bytes) -> None:
    try:
        assert found_in(data, protocol)
    except Unreadable:
        return
