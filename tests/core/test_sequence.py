"""The rules of a numbered sequence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.events import MAX_BODY
from fleetgate.core.ids import Seq
from fleetgate.core.sequence import (
    Arrival,
    acknowledge,
    arrival,
    replay_floor,
    split_bytes,
    split_text,
)
from fleetgate.core.testing import LARGEST, texts

numbers = st.integers(0, 50)
far = st.integers(-5, LARGEST)


# --- arrival


@given(st.lists(st.integers(1, 12), max_size=60))
def test_i4_every_number_is_taken_once_and_in_order(arriving: list[int]) -> None:
    taken: list[int] = []
    for seq in arriving:
        how = arrival(len(taken), seq)
        assert (how is Arrival.DUPLICATE) == (seq in taken)
        if how is Arrival.NEXT:
            taken.append(seq)
    assert taken == list(range(1, len(taken) + 1))
    rest, count = arriving, 0
    while count + 1 in rest:
        rest, count = rest[rest.index(count + 1) + 1 :], count + 1
    assert len(taken) == count


@given(st.integers(0, LARGEST), st.integers(2, 1000))
def test_a_number_beyond_the_next_is_a_gap(last: int, ahead: int) -> None:
    assert arrival(last, last + 1) is Arrival.NEXT
    assert arrival(last, last + ahead) is Arrival.GAP


# --- acknowledgement


@given(numbers, st.lists(far, max_size=20))
def test_an_acknowledgement_never_falls_and_never_passes_the_last(
    last: int, through: list[int]
) -> None:
    at = Seq(0)
    for number in through:
        after = acknowledge(at, Seq(last), number)
        assert at <= after <= last
        at = after
    assert at == max([0, *(min(number, last) for number in through)])


@given(numbers, numbers, far)
def test_an_acknowledgement_said_twice_is_said_once(last: int, done: int, through: int) -> None:
    at = Seq(min(done, last))
    once = acknowledge(at, Seq(last), through)
    assert acknowledge(once, Seq(last), through) == once


# --- replay


@given(numbers, numbers, numbers)
def test_a_replay_offers_what_is_not_acknowledged_and_no_more_than_its_bound(
    last: int, done: int, bound: int
) -> None:
    acknowledged = min(done, last)
    offered = range(replay_floor(Seq(last), Seq(acknowledged), bound) + 1, last + 1)
    owed = range(acknowledged + 1, last + 1)
    assert list(offered) == list(owed)[-bound:] if bound else list(offered) == list(owed)


# --- splitting


@given(st.binary(max_size=300), st.integers(1, 40))
def test_bytes_cut_into_pieces_join_to_the_whole(data: bytes, limit: int) -> None:
    pieces = list(split_bytes(data, limit))
    assert b"".join(pieces) == data
    assert all(len(piece) <= limit for piece in pieces)
    assert len(pieces) == max(1, -(-len(data) // limit))


@given(texts(max_size=120), st.integers(4, 40))
def test_text_cut_into_pieces_joins_to_the_whole(text: str, limit: int) -> None:
    """A piece that were cut inside a character could not be text at all; what is left to
    prove is that pieces are bounded and that none is needlessly small."""
    pieces = list(split_text(text, limit))
    sizes = [len(piece.encode()) for piece in pieces]
    assert "".join(pieces) == text
    assert all(size <= limit for size in sizes)
    assert all(size > limit - 4 for size in sizes[:-1])


@given(st.sampled_from("aé€𝄞"), st.integers(0, 12), st.integers(4, 9))
def test_a_character_on_the_edge_goes_to_the_next_piece(
    character: str, before: int, limit: int
) -> None:
    pieces = list(split_text("x" * before + character * 3, limit))
    assert sum(piece.count(character) for piece in pieces) == 3


def test_a_limit_that_no_character_fits_in_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 4"):
        list(split_text("é", 1))


def test_nothing_is_one_empty_piece() -> None:
    assert list(split_bytes(b"")) == [b""]
    assert list(split_text("")) == [""]


def test_a_body_at_the_bound_is_whole_and_one_byte_more_is_two() -> None:
    for size, pieces in ((MAX_BODY - 1, 1), (MAX_BODY, 1), (MAX_BODY + 1, 2)):
        assert len(list(split_bytes(b"x" * size))) == pieces
        assert len(list(split_text("x" * size))) == pieces
