"""The links of a trial are carried as the gateway carries its own."""

from __future__ import annotations

from fleetgate.gateway.bench.links import CLIENT, HOST
from fleetgate.gateway.registry import adapters


def test_limits_paths_and_messages_are_those_of_the_protocols() -> None:
    known = adapters()
    south = known["rvbox"].southbound
    carriage = south.carriage(south.settings())
    assert carriage.websocket is not None
    assert (HOST.limit, HOST.path, HOST.binary, HOST.subprotocols) == (
        carriage.limit,
        carriage.websocket.path,
        carriage.websocket.binary,
        carriage.websocket.subprotocols,
    )
    client = known["agency"].southbound
    carriage = client.carriage(client.settings())
    assert (CLIENT.limit, CLIENT.framing) == (carriage.limit, carriage.stream)
