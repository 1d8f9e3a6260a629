"""Formats and markers, whatever the pieces that the output comes in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.local.cli_output import MAX_DOCUMENT, MAX_LINE, Output, TooLong
from fleetgate.gateway.local.cli_profile import CliProfile, CompletionMarker


def said_by(output: Output, *pieces: bytes, end: bool = True) -> list[str | bytes]:
    said = [each for piece in pieces for each in output.feed(piece)]
    return [*said, *output.end()] if end else said


def text_of(output: Output, *pieces: bytes, end: bool = True) -> str:
    said = said_by(output, *pieces, end=end)
    assert all(isinstance(each, str) for each in said)
    return "".join(map(str, said))


def as_bytes(said: list[str | bytes]) -> bytes:
    return b"".join(each if isinstance(each, bytes) else each.encode() for each in said)


def profile(format="text", line="", regex="") -> CliProfile:
    marked = bool(line or regex)
    return CliProfile(
        "a",
        persistent=marked,
        output_format=format,
        completion_marker=CompletionMarker(line, regex),
    )


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(st.text(), st.integers(1, 7))
def test_text_is_as_it_comes(text: str, size: int) -> None:
    data = text.encode(errors="replace")
    assert text_of(Output(profile()), *cut(data, size)) == data.decode()


@given(st.binary(), st.integers(1, 7), st.sampled_from(["text", "json", "ndjson"]), st.booleans())
def test_whatever_is_written_in_whatever_pieces_comes_out_byte_for_byte(
    data: bytes, size: int, format: str, marked: bool
) -> None:
    """Of objects and documents only what is none. A blank line of the former says nothing."""
    pieces = cut(b"x" + data.replace(b"{", b"").replace(b"\n", b"\nx"), size)
    said = said_by(Output(profile(format, line="END" if marked else "")), *pieces)
    assert as_bytes(said) in (b"".join(pieces), b"".join(pieces).rstrip())
    shown = "".join(s if isinstance(s, str) else s.decode(errors="replace") for s in said)
    assert shown == as_bytes(said).decode(errors="replace")


@pytest.mark.parametrize("format", ["text", "json", "ndjson"])
def test_a_line_that_is_no_utf_8_is_handed_on_as_it_is(format: str) -> None:
    output = Output(profile(format))
    line = b'{"text":"\xff"}\n'
    assert said_by(output, line) == [line]


def test_text_without_a_marker_waits_for_no_line_end() -> None:
    assert text_of(Output(profile("")), b"wor", b"d", end=False) == "word"


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("written", "said", "complete"),
    [
        (b"one\nEND\nnever", "one\n", True),
        (b"END\n", "", True),
        (b"one\r\nEND\r\n", "one\r\n", True),
        (b"ENDING\nEN\n", "ENDING\nEN\n", False),
        (b"x END\n", "x END\n", False),
        (b"half\nEN", "half\nEN", False),
        (b"half\nEND", "half\n", True),
        (b"\n\nEND\n", "\n\n", True),
    ],
)
def test_a_marker_line_ends_the_answer_and_is_not_of_it(
    written: bytes, said: str, complete: bool, size: int
) -> None:
    output = Output(profile(line="END"))
    assert text_of(output, *cut(written, size)) == said
    assert output.complete is complete


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_regex_is_searched_in_each_line(size: int) -> None:
    output = Output(profile(regex=r"^done in \d+"))
    said = text_of(output, *cut(b"not done in 3\nab\ndone in 30 s\nafter\n", size))
    assert said == "not done in 3\nab\n"
    assert output.complete


def test_with_a_marker_text_that_cannot_be_it_does_not_wait() -> None:
    output = Output(profile(line="END"))
    assert text_of(output, b"EXP", b"EN", end=False) == "EXPEN"
    assert text_of(output, b"D\nEN", end=False) == "D\n"
    assert text_of(output, b"D\n", end=False) == ""
    assert output.complete


def test_what_comes_after_the_marker_belongs_to_nobody() -> None:
    output = Output(profile(line="END"))
    assert text_of(output, b"END\nmore", b"still\n") == ""


LINES = b"""{"type":"x","text":"one "}
{"delta":"two "}

{"content":"three ","text":4}
{"usage":{}}
no json
[1]
{"text":"end"}"""


@pytest.mark.parametrize("format", ["ndjson", "stream-json"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_an_object_a_line_gives_its_text_and_what_is_none_is_text(format, size: int) -> None:
    output = Output(profile(format))
    assert text_of(output, *cut(LINES, size)) == "one two three no json\n[1]\nend"
    assert output.left_out == 1


def test_a_marker_ends_lines_of_objects_too() -> None:
    output = Output(profile("ndjson", line="END"))
    assert text_of(output, b'{"text":"a"}\nEND\n{"text":"b"}\n') == "a"
    assert output.complete


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    ("document", "said"),
    [
        ('{"text": "t", "content": "c"}', "t"),
        ('{"content": "c"}\n', "c"),
        ('{\n "text": {"a": 1}\n}\n', '{\n "text": {"a": 1}\n}\n'),
        ("[1, 2]", "[1, 2]"),
        ("not json", "not json"),
        ("", ""),
    ],
)
def test_a_document_is_taken_whole(document: str, said: str, size: int) -> None:
    output = Output(profile("json"))
    assert text_of(output, *cut(document.encode(), size), end=False) == ""
    assert "".join(output.end()) == said


def test_a_document_before_a_marker() -> None:
    output = Output(profile("json", line="END"))
    assert text_of(output, b'{"text":\n"t"}\nEND\n') == "t"


@pytest.mark.parametrize("evil", ["[" * 100_000, "1" * 10_000])
def test_json_that_python_does_not_read_is_text(evil: str) -> None:
    assert text_of(Output(profile("ndjson")), f"{evil}\n".encode()) == f"{evil}\n"
    assert text_of(Output(profile("json")), evil.encode()) == evil


@pytest.mark.limit("gateway/local/cli_output.MAX_LINE")
def test_an_endless_line_is_kept_no_longer_than_the_limit() -> None:
    output = Output(profile("ndjson"))
    line = json.dumps({"text": "x" * MAX_LINE})
    assert text_of(output, *cut(line.encode(), 65536), b'\n{"text":"next"}\n') == f"{line}\nnext"


@pytest.mark.limit("gateway/local/cli_output.MAX_DOCUMENT")
def test_an_endless_document_is_refused() -> None:
    output = Output(profile("json"))
    with pytest.raises(TooLong, match=str(MAX_DOCUMENT)):
        text_of(output, *[b"x" * (1 << 20)] * 6)
