"""The short way, where a connection has none."""

from __future__ import annotations

from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.testing import START


def test_a_connection_that_overrides_nothing_takes_nothing() -> None:
    connection = BulkConnection()
    assert connection.receive_bulk([b"frame"], START) is None
    assert connection.deliver_bulk([], START) is None
