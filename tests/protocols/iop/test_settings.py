"""What can be set."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.settings import (
    CALLS,
    EdgeSettings,
    NodeSettings,
    NorthSettings,
    edge_carriage,
    north_carriage,
)


def test_the_defaults_are_the_pages() -> None:
    edge, north = EdgeSettings(), NorthSettings()
    for either in (edge, north):
        assert (either.register_timeout, either.heartbeat, either.dead_after) == (10, 15, 45)
        assert (either.max_message, either.path) == (4 << 20, "/iop")
        assert (either.pings_allowed_every, either.command_timeout) == (10, 30)
        assert not either.cancel_on_disconnect
        assert either.deny_approvals
    assert (edge.reconnect_grace, edge.timeout_margin, edge.open_runs) == (30, 5, 256)
    assert north.ping_every == 300
    assert north.local_adapters == ("mock", "cli", "ollama", "vllm")


@pytest.mark.parametrize("kind", [EdgeSettings, NorthSettings])
def test_a_time_or_a_number_of_nothing_is_refused(kind: Any) -> None:
    for member in attrs.fields(kind):
        if isinstance(member.default, int | float) and not isinstance(member.default, bool):
            with pytest.raises(ValueError, match=member.name):
                kind(**{member.name: -1})


def test_a_configuration_that_cannot_be_pushed_is_refused() -> None:
    for make in (lambda t: EdgeSettings(config=t), lambda t: NodeSettings(config=t)):
        with pytest.raises(ValueError, match="unknown key runtimes"):
            make({"runtimes": {}})
    assert NodeSettings().config is None


def test_an_edge_serves_nodes_and_if_set_control_clients() -> None:
    plain = edge_carriage(EdgeSettings())
    assert plain.grpc is not None
    assert set(plain.grpc.calls) == {w.CONNECT}
    both = edge_carriage(EdgeSettings(control=True))
    assert both.grpc is not None
    assert set(both.grpc.calls) == {w.CONNECT, *CALLS}
    assert plain.in_band
    assert plain.stream == "varint"
    assert plain.websocket is not None
    assert (plain.websocket.path, plain.websocket.binary) == ("/iop", True)


def test_a_node_dials_the_link_and_serves_control_clients() -> None:
    carriage = north_carriage(NorthSettings(ping_every=1000.0))
    assert carriage.grpc is not None
    assert carriage.grpc.dial == w.CONNECT
    assert set(carriage.grpc.calls) == set(CALLS)
    assert carriage.grpc.final == {16}
    assert carriage.grpc.ping_every == 1000
    streams = {path: call.server_streams for path, call in CALLS.items()}
    assert streams == {
        "/iop.EdgeControl/Run": True,
        "/iop.EdgeControl/Attach": True,
        "/iop.EdgeControl/Cancel": False,
        "/iop.EdgeControl/Command": False,
        "/iop.EdgeControl/WatchNodes": True,
    }
