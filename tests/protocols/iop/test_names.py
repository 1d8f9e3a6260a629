"""The reserved metadata."""

from fleetgate.protocols.iop import names


def test_the_names_are_the_pages() -> None:
    assert frozenset({"gateway.seq", "gateway.kind", "gateway.stream", "gateway.body"}) == (
        names.RESERVED
    )
