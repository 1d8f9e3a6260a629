"""Pieces that fit into an event."""

import codecs
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.events import MAX_BODY
from fleetgate.gateway.local.bodies import PIECE, characters, readable, split_text


@pytest.mark.limit("gateway/local/bodies.PIECE")
@given(st.text(), st.integers(1, PIECE))
def test_a_split_text_is_the_text_and_every_piece_fits(text: str, times: int) -> None:
    long = (text * times)[: 3 * PIECE]
    pieces = list(split_text(long))
    assert "".join(pieces) == long
    assert all(0 < len(piece.encode(errors="replace")) <= MAX_BODY for piece in pieces)


@pytest.mark.limit("core/events.MAX_BODY")
def test_a_text_of_exactly_one_body_is_one_piece_and_one_more_byte_are_two() -> None:
    assert list(split_text("a" * MAX_BODY)) == ["a" * MAX_BODY]
    assert len(list(split_text("a" * (MAX_BODY + 1)))) == 5
    assert list(split_text("")) == []


@given(st.binary() | st.text().map(lambda text: text.encode(errors="replace")))
def test_only_the_start_of_a_character_waits_for_more(data: bytes) -> None:
    whole, rest = characters(data)
    assert whole + rest == data
    assert len(rest) < 4
    assert whole.decode(errors="replace") == decoder().decode(data)


@given(st.text(min_size=1), st.integers(1, 3))
def test_a_text_that_is_cut_is_text_up_to_the_cut(text: str, short: int) -> None:
    data = text.encode(errors="replace")
    whole, _ = characters(data[:-short])
    assert readable(whole) == whole.decode()


def test_what_is_no_utf_8_stays_bytes() -> None:
    assert readable("é".encode()) == "é"
    assert readable(b"a\xff") == b"a\xff"


decoder = partial(codecs.getincrementaldecoder("utf-8"), "replace")
