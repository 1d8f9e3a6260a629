"""Every message of the catalogue survives the trip, and has Go's zero values."""

import attrs
import pytest

from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.structs import read, write

PARAMS = [
    each
    for each in vars(wire).values()
    if isinstance(each, type)
    and attrs.has(each)
    and each.__module__ == wire.__name__
    and each not in (wire.Request, wire.Notification, wire.Success, wire.Failure)
]


@pytest.mark.parametrize("kind", PARAMS, ids=lambda kind: kind.__name__)
def test_the_zero_value_goes_out_and_comes_in(kind: type) -> None:
    assert read(kind, write(kind())) == kind()


@pytest.mark.limit("protocols/kodelet/wire.LONGEST_TEXT")
def test_a_text_is_cut_at_a_character() -> None:
    assert wire.cut("aé", 2) == "a"
    assert wire.cut("aé", 3) == "aé"
    assert len(wire.cut("x" * 99_999)) == wire.LONGEST_TEXT


def test_absent_is_not_null() -> None:
    assert wire.ABSENT is not None
    assert repr(wire.ABSENT) == "ABSENT"
