"""The close that was asked for is the one that is said."""

from __future__ import annotations

import pytest

from fleetgate.gateway.last_words import last_words
from fleetgate.protocols.api import Close
from fleetgate.transports.memory import memory_link_pair


@pytest.mark.parametrize(
    ("closing", "status", "said"),
    [
        (None, True, (1000, "")),
        (Close(1008, "no", status=16), True, (16, "no")),
        (Close(1008, "no", status=16), False, (1008, "no")),
        (Close(1008, "no"), True, (1008, "no")),
        (Close(None, "cut"), False, (1000, "cut")),
    ],
)
def test_a_status_goes_where_the_carriage_has_one(
    closing: Close | None, status: bool, said: tuple[int, str]
) -> None:
    link, _ = memory_link_pair()
    link.speaks_status = status
    assert last_words(closing, link, 1000) == said
