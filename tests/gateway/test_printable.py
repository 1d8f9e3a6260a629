"""No escape sequence of a worker's acts on the operator's terminal."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.printable import PrintableStream, escaped, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 漢 🎉\ttab\n", "plain ä 漢 🎉\ttab\n"),
        ("\x1b]0;title\x07", "^[]0;title^G"),
        ("\x1b[2J", "^[[2J"),
        ("a\rb", "a\nb"),
        ("a\r\nb", "a\nb"),
        ("\x7f\x9b31m", "^?<9b>31m"),
        ("\u202eabc", "<202e>abc"),
        ("\ud800", "<d800>"),
        ("\x00", "^@"),
    ],
)
def test_control_characters_become_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_without_newlines_all_is_one_line() -> None:
    assert printable("a\nb\rc", newlines=False) == "a^Jb^Jc"


@given(st.text())
def test_json_without_them_says_the_same(text: str) -> None:
    line = escaped(json.dumps({text: text}, ensure_ascii=False))
    assert json.loads(line) == {text: text}
    assert printable(line) == line


@given(st.text())
def test_nothing_that_acts_is_left(text: str) -> None:
    shown = printable(text)
    assert all(char in "\t\n" or char >= " " for char in shown)
    assert not any("\x7f" <= char <= "\x9f" for char in shown)
    assert printable(shown) == shown


@given(st.binary(), st.lists(st.integers(0, 40)))
def test_a_stream_may_be_cut_anywhere(data: bytes, cuts: list[int]) -> None:
    whole = PrintableStream().feed(data, final=True)
    stream = PrintableStream()
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    assert "".join(map(stream.feed, pieces)) + stream.feed(b"", final=True) == whole


def test_bytes_that_are_no_text_are_shown() -> None:
    assert PrintableStream().feed(b"a\xffb") == "a\\xffb"
    stream = PrintableStream()
    assert stream.feed(b"\xe6\xbc") + stream.feed(b"\xa2") == "漢"
