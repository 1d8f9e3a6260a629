"""Frames out of a recording, and what is said of one that lacks something."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.explain_frame.recorded import Given, Unreadable, read_recorded
from fleetgate.protocols.explaining import Whence

LIST = b'\0{"requestId":2,"type":"list_runs"}'
HEADER = {"recording": 1, "protocols": {"agency": "0.3"}}
LINK = {"event": "link", "link": 1, "protocol": "agency", "path": "/p"}
FRAME = {"event": "frame", "link": 1, "from": "controller", "raw": b64encode(LIST).decode()}
END = {"event": "end"}


def lines(*items: dict[str, object]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def found_in(data: bytes, protocol: str = "agency") -> Sequence[Given]:
    found = read_recorded(data, protocol, "0.3")
    assert found is not None
    return found


def faults(data: bytes) -> list[tuple[str, str]]:
    return [(each.where, each.fault) for each in found_in(data) if each.fault]


def test_a_recording_names_sender_and_path() -> None:
    (found,) = found_in(lines(HEADER, LINK, FRAME, END))
    assert found == Given("line 3", LIST, "", Whence("controller", "/p"), 1)


def test_some_of_its_lines_will_do() -> None:
    (found,) = found_in(lines(FRAME))
    assert (found.where, found.data, found.fault) == ("line 1", LIST, "")


def test_what_was_not_kept_is_said() -> None:
    unkept = {**FRAME, "raw": None, "rule": "invalid JSON frame: x"}
    wrong, foreign = {**FRAME, "raw": "%%"}, {**FRAME, "raw": "é"}
    assert faults(lines(HEADER, LINK, unkept, {**FRAME, "raw": None}, wrong, foreign, END)) == [
        ("line 3", "invalid JSON frame: x"),
        ("line 4", "it was not kept when it was recorded"),
        ("line 5", "raw is no base64"),
        ("line 6", "raw is no base64"),
    ]


@pytest.mark.parametrize("size", range(1, 19))
def test_one_that_is_cut_off_says_so_behind_what_is_whole(size: int) -> None:
    data = lines(HEADER, LINK, FRAME, FRAME, END)
    found = found_in(data[:-size])
    assert [each.data for each in found[:2]] == [LIST, LIST]
    if size == 1:  # only the last newline
        assert len(found) == 2
    else:
        assert "the recording is cut off here" in found[2].fault


def test_one_without_a_last_line_is_cut_off() -> None:
    ((where, fault),) = faults(lines(HEADER, LINK, FRAME))
    assert (where, "the event `end` is missing" in fault) == ("behind that", True)


def test_a_line_in_the_middle_that_is_cut_and_a_gap_are_said_in_their_places() -> None:
    data = lines(HEADER, LINK) + lines(FRAME)[:30] + b"\n" + lines({"event": "lost", "items": 3})
    broken, gap = faults(data + lines(FRAME, END))
    assert broken[0] == "line 3"
    assert "a line came that is none" in broken[1]
    assert gap[0] == "line 4"
    assert "3 lines are missing here" in gap[1]


def test_another_form_is_not_read() -> None:
    with pytest.raises(Unreadable, match=r"form 1, one of another form came: explain it with what"):
        found_in(lines({**HEADER, "recording": 2}, LINK, FRAME, END))


def test_another_version_is_read_as_ours_and_that_is_said_first() -> None:
    theirs = {**HEADER, "protocols": {"agency": "0.9", "iop": "7"}}
    first, frame = found_in(lines(theirs, LINK, FRAME, END))
    assert first.where == "line 1"
    assert "recorded with agency 0.9; what follows is read as agency 0.3" in first.fault
    assert frame.data == LIST


def test_a_recording_of_another_protocol_has_none() -> None:
    with pytest.raises(Unreadable, match="has no frame of rvbox; it has agency"):
        found_in(lines(HEADER, LINK, FRAME, END), "rvbox")
    with pytest.raises(Unreadable, match="it has no link"):
        found_in(lines(HEADER, END))


def test_one_that_is_cut_off_in_its_header_is_said() -> None:
    with pytest.raises(Unreadable, match="cut off within its first line"):
        found_in(lines(HEADER)[:-5])


@pytest.mark.parametrize("data", [b"\0{}", b"{}", b"[1]", b"\x80\n{}", b'{"event":"frame"}'])
def test_what_is_no_recording_is_told_apart(data: bytes) -> None:
    assert read_recorded(data, "agency", "0.3") is None


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_have_an_answer(data: bytes, headed: bool) -> None:
    try:
        read_recorded(lines(HEADER) * headed + data, "agency", "0.3")
    except Unreadable:
        return
