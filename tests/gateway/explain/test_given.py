"""Frames out of whatever somebody has."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.explain.given import Given, Unreadable, frames_in, from_hex
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.explaining import Whence

LIST = b'\0{"requestId":2,"type":"list_runs"}'
FRAMED = len(LIST).to_bytes(4, "big") + LIST


def found_in(data: bytes, protocol: str = "agency") -> Sequence[Given]:
    adapter = adapters(())[protocol]
    explainer = adapter.showing.explainer()

    def takes(frame: bytes) -> bool:
        explained = explainer.explain(frame)
        return explained.readable and not explained.rule

    side = adapter.northbound
    return frames_in(data, protocol, side.carriage(side.settings()), takes)


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


def recording(*items: dict[str, object]) -> bytes:
    lines = ({"recording": 1}, *items)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


LINK = {"event": "link", "link": 1, "protocol": "agency", "path": "/p"}
FRAME = {"event": "frame", "link": 1, "from": "controller", "raw": b64encode(LIST).decode()}


def test_a_recording_names_sender_and_path() -> None:
    (found,) = found_in(recording(LINK, FRAME))
    assert found == Given("line 3", LIST, "", Whence("controller", "/p"), 1)


def test_what_a_recording_lacks_is_said() -> None:
    unkept = {**FRAME, "raw": None, "rule": "invalid JSON frame: x"}
    wrong = {**FRAME, "raw": "%%"}
    found = found_in(recording(LINK, unkept, {**FRAME, "raw": None}, wrong) + b'{"event":"fr')
    assert [(each.data, each.fault) for each in found] == [
        (None, "invalid JSON frame: x"),
        (None, "it was not kept when it was recorded"),
        (None, "raw is no base64"),
        (None, "the recording is cut off here"),
    ]


def test_a_recording_of_another_protocol_has_none() -> None:
    with pytest.raises(Unreadable, match="has no frame of rvbox; it has agency"):
        found_in(recording(LINK, FRAME), "rvbox")


def test_nothing_is_no_frame() -> None:
    with pytest.raises(Unreadable, match="nothing came"):
        found_in(b" \n")


@given(st.sampled_from(sorted(adapters(()))), st.binary(min_size=1, max_size=200))
def test_any_bytes_have_an_answer(protocol: str, data: bytes) -> None:
    if data.strip():
        assert found_in(data, protocol)
