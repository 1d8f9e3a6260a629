"""What may stand in a hole for a number."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.kodelet.holes import DIGITS, is_count


@given(st.binary(max_size=3) | st.text("0123456789-+.eE _", max_size=20).map(str.encode))
def test_a_count_is_an_integer_of_json_that_fits_everywhere(value: bytes) -> None:
    if is_count(value):
        assert json.loads(value) == int(value)
        assert str(int(value)).encode() == value
        assert int(value) < 10**DIGITS


@given(st.integers(0, 10**19))
def test_any_such_integer_is_one(number: int) -> None:
    assert is_count(str(number).encode()) is (number < 10**DIGITS)


@pytest.mark.parametrize("value", [b"", b"-1", b"-0", b"00", b"01", b"1.0", b"1e1", b" 1", b"1_0"])
def test_nothing_else_is(value: bytes) -> None:
    assert not is_count(value)


def test_digits_of_other_scripts_are_none() -> None:
    assert not is_count("\u0661".encode())
