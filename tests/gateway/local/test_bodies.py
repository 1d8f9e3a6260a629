"""Pieces that fit into an event."""

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.events import MAX_BODY
from fleetgate.gateway.local.bodies import PIECE, Decoder, split_text


@given(st.text(), st.integers(1, PIECE))
def test_a_split_text_is_the_text_and_every_piece_fits(text: str, times: int) -> None:
    long = (text * times)[: 3 * PIECE]
    pieces = list(split_text(long))
    assert "".join(pieces) == long
    assert all(0 < len(piece.encode(errors="replace")) <= MAX_BODY for piece in pieces)


def test_a_text_of_exactly_one_body_is_one_piece_and_one_more_byte_are_two() -> None:
    assert list(split_text("a" * MAX_BODY)) == ["a" * MAX_BODY]
    assert len(list(split_text("a" * (MAX_BODY + 1)))) == 5
    assert list(split_text("")) == []


@given(st.text(), st.integers(1, 5))
def test_characters_in_parts_come_out_whole(text: str, size: int) -> None:
    data, decoder = text.encode(errors="replace"), Decoder()
    parts = [decoder.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert "".join(parts) + decoder.end() == data.decode()


def test_half_a_character_at_the_end_is_said_to_be_one() -> None:
    decoder = Decoder()
    assert decoder.feed("é".encode()[:1]) == ""
    assert decoder.end() == "\ufffd"
