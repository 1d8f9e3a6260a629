"""Recordings, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetgate.gateway.recording import form, reading
from fleetgate.gateway.recording.reading import (
    CutOff,
    End,
    Frame,
    LinkUp,
    OtherForm,
    Unusable,
    read_recording,
)

HEADER = form.header(5, {"agency": "0.3"})
LINK = {
    "event": "link",
    "link": 1,
    "time": 6,
    "protocol": "agency",
    "entry": "",
    "path": "",
    "dialler": "controller",
}
FRAME = {
    "event": "frame",
    "link": 1,
    "number": 1,
    "time": 7,
    "from": "worker",
    "name": "x",
    "message": {"a": 1},
    "raw": "AAE=",
}
OVER = {"event": "over", "link": 1, "time": 8, "from": "worker", "code": None, "broken": True}
END = form.end(9, 1, 0)
WHOLE = (HEADER, LINK, FRAME, OVER, END)


def written(path: Path, *lines: Any) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    read = read_recording(written(tmp_path / "r", *WHOLE))
    assert (read.started, read.protocols) == (5, {"agency": "0.3"})
    assert read.items == (
        LinkUp(1, 6, "agency", "", "", "controller"),
        Frame(1, 1, 7, "worker", "x", {"a": 1}, b"\0\1"),
        End(1, 8, "worker", None, True),
    )


def test_unknown_events_and_members_are_passed_over(tmp_path: Path) -> None:
    more = {"event": "of the future", "x": 1}
    path = written(tmp_path / "r", HEADER, {**LINK, "future": 1}, more, END)
    assert len(read_recording(path).items) == 1


@pytest.mark.parametrize("size", range(1, 12))
def test_one_that_is_cut_off_says_so_and_its_whole_lines_can_be_had(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "r"
    data = Path(written(path, *WHOLE)).read_bytes()
    path.write_bytes(data[:-size])
    if size == 1:
        assert len(read_recording(str(path)).items) == 3  # only the last newline
        return
    with pytest.raises(CutOff, match="--partial plays what is before that"):
        read_recording(str(path))
    assert len(read_recording(str(path), partial=True).items) == 3


def test_one_without_an_end_or_with_a_gap_is_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path / "r", HEADER, LINK, FRAME)
    with pytest.raises(CutOff, match="is cut off behind line 3: it has no last line"):
        read_recording(path)
    whole = Path(path).read_bytes()
    for size in (1, 5):  # a last line that is whole but for its newline, and one that is not
        Path(path).write_bytes(whole[:-size])
        with pytest.raises(CutOff, match="ends in the middle, at line 3"):
            read_recording(path)
    path = written(tmp_path / "r", HEADER, LINK, form.lost(7, 3), FRAME, END)
    with pytest.raises(CutOff, match="has a gap at line 3"):
        read_recording(path)
    assert len(read_recording(path, partial=True).items) == 1


@pytest.mark.parametrize(
    ("lines", "kind", "said"),
    [
        ([], Unusable, "expected a header in its first line, nothing came; `gateway record`"),
        ([{"x": 1}], Unusable, "in its first line, another JSON object came"),
        ([{**HEADER, "recording": 2}], OtherForm, "another form than 1"),
        ([{**HEADER, "started": "x"}], Unusable, "with `started`"),
        (
            [HEADER, ["x"], END],
            Unusable,
            "line 2: expected a JSON object, a line of 5 bytes came that is none",
        ),
        ([HEADER, {"event": "frame"}, END], Unusable, "line 2: the member 'raw' is missing"),
        ([HEADER, {**FRAME, "raw": "?"}, END], Unusable, "line 2:"),
        ([HEADER, {**FRAME, "raw": 7}, END], Unusable, "line 2: expected a text"),
        ([HEADER, {**FRAME, "from": "me"}, END], Unusable, "expected controller or worker"),
        ([HEADER, {**LINK, "link": True}, END], Unusable, "expected a whole number"),
    ],
)
def test_what_is_no_recording_is_said(tmp_path: Path, lines: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind) as caught:
        read_recording(written(tmp_path / "r", *lines))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (b"hello there\n", Unusable, "text that is no JSON object (11 bytes to the first newline)"),
        (
            b"\x89PNG\r\n\x1a\n",
            Unusable,
            "bytes that are no JSON object (5 bytes to the first newline)",
        ),
        (b'{"recording":1,"by":"fl', CutOff, "cut off within its first line"),
    ],
)
def test_a_file_of_another_kind_is_said_by_its_kind(
    tmp_path: Path, data: bytes, kind: Any, said: str
) -> None:
    (tmp_path / "r").write_bytes(data)
    with pytest.raises(kind) as caught:
        read_recording(str(tmp_path / "r"))
    assert said in str(caught.value)


def test_a_line_that_is_cut_in_the_middle_is_said(tmp_path: Path) -> None:
    path = tmp_path / "r"
    lines = Path(written(path, *WHOLE)).read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2][:20] + b"\n", *lines[3:]]))
    for partial in (True, False):
        with pytest.raises(
            Unusable, match=r"line 3: .* 20 bytes came that is none: it was cut off"
        ):
            read_recording(str(path), partial=partial)


def test_a_file_that_is_missing_or_another_version_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="cannot be read"):
        read_recording(str(tmp_path / "none"))
    recording = read_recording(written(tmp_path / "r", *WHOLE))
    recording.check_version("agency", "0.3")
    with pytest.raises(OtherForm, match=r"agency 0\.3; agency 0\.4 is spoken here"):
        recording.check_version("agency", "0.4")
    with pytest.raises(OtherForm, match="of no version"):
        recording.check_version("iop", "1")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_recording_or_unusable(tmp_path: Path, data: bytes, headed: bool) -> None:
    path = tmp_path / "r"
    path.write_bytes(json.dumps(HEADER).encode() + b"\n" + data if headed else data)
    for partial in (True, False):
        try:
            read_recording(str(path), partial=partial)
        except Unusable:
            continue


@pytest.mark.limit("gateway/recording/reading.MAX_FILE")
def test_i9_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "r", *WHOLE)
    monkeypatch.setattr(reading, "MAX_FILE", (tmp_path / "r").stat().st_size)
    assert read_recording(path)
    monkeypatch.setattr(reading, "MAX_FILE", (tmp_path / "r").stat().st_size - 1)
    with pytest.raises(Unusable, match="record less at a time"):
        read_recording(path)
