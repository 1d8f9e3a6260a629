import pytest

from fleetgate.protocols.rvbox import ADAPTER
from fleetgate.protocols.rvbox.settings import ClientSettings, ServerSettings


def test_the_defaults_are_those_of_the_protocol_page() -> None:
    server, client = ServerSettings(), ClientSettings()
    assert (server.hello_timeout, server.snapshot_timeout, server.accept_timeout) == (10, 30, 30)
    assert (server.ack_delay, server.ack_events) == (0.1, 64)
    assert (client.retained, client.tombstone_days, client.tombstones) == (8_000, 7, 10_000)
    assert client.early_stdin == 1 << 20


@pytest.mark.parametrize("side", [ADAPTER.northbound, ADAPTER.southbound])
def test_both_sides_are_carried_alike(side) -> None:
    carriage = side.carriage(side.settings())
    assert (carriage.stream, carriage.limit) == ("varint", 1 << 20)
    use = carriage.websocket
    assert use is not None
    assert (use.binary, use.path, use.subprotocols) == (True, "/agent", ("rvbox.v1",))
    assert (use.ping_every, use.dead_after) == (20, 60)


def test_a_path_can_be_set() -> None:
    use = ADAPTER.southbound.carriage(ServerSettings(path="/other")).websocket
    assert use is not None
    assert use.path == "/other"


@pytest.mark.parametrize("bad", [{"platform": "plan9"}, {"shells": ()}, {"shells": ("fish",)}])
def test_a_platform_or_shell_without_a_number_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must"):
        ClientSettings(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("id", ["a b", "x" * 129, "é", "a\n"])
def test_a_client_id_that_every_server_refuses_is_refused_here(id: str) -> None:
    with pytest.raises(ValueError, match="client_id must be 1 to 128"):
        ClientSettings(client_id=id)
