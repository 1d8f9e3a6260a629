"""The types of metadata, as values."""

from typing import Any

import pytest

from fleetgate.protocols.kodelet.metadata_types import TYPES
from fleetgate.protocols.kodelet.structs import read, write


@pytest.mark.parametrize("kind", TYPES.values(), ids=list(TYPES))
def test_a_type_of_which_nothing_is_said_is_the_empty_one(kind: type[Any]) -> None:
    """Go leaves out what is zero, and reads what is left out as zero."""
    empty = read(kind, {})
    assert empty == kind()
    assert read(kind, write(empty)) == empty
