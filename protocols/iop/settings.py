"""What can be set on either side. Durations are seconds; the defaults are the page's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from fleetgate.core.json import NOTHING
from fleetgate.core.values import value
from fleetgate.protocols.carriage import (
    Carriage,
    GrpcCall,
    GrpcUse,
    WebSocketUse,
    met_by_listening,
)
from fleetgate.protocols.iop import codec, wire
from fleetgate.protocols.iop.config import read_config
from fleetgate.protocols.iop.errors import UNAUTHENTICATED
from fleetgate.protocols.ranges import not_negative, positive

ANYBODY: Final = "*"
"""Among `controllers`: whoever shows a token of the entry."""


def _above_zero(default: Any) -> Any:
    return attrs.field(default=default, validator=positive)


def _from_zero(default: Any) -> Any:
    return attrs.field(default=default, validator=not_negative)


@value
class NodeSettings:
    """What an edge sets at one node. `config` is a `NodeConfigPayload` as a table, with the
    schema's names: it takes the place of the entry's own."""

    alias: str = ""
    config: Any = None

    def __attrs_post_init__(self) -> None:
        if self.config is not None:
            read_config(self.config)


@value
class EdgeSettings:
    """The edge's side, which faces nodes."""

    path: str = "/iop"
    """Where nodes come in over WebSocket."""
    control: bool = False
    """Serve EdgeControl on the same gRPC address. Its runs come from this entry's own name, so a
    route `from` it says where they go."""
    controllers: tuple[str, ...] = ()
    """The ids of those of the entry's tokens that may call EdgeControl; such a token registers no
    node. Empty: none of them may. `["*"]`: every token may do both, so that any node can start runs
    on the others."""
    alias: str = ""
    """The alias of nodes that have none of their own in `nodes`; empty: their id."""
    config: Any = attrs.field(factory=dict[str, Any])
    """The `NodeConfigPayload` that nodes are sent, as a table with the schema's names."""
    nodes: Mapping[str, NodeSettings] = NOTHING
    """What differs from that, by the id that a token names."""
    adapter: str = "cli"
    """The adapter of runs that have no label `adapter`."""
    target: str = ""
    """The target of runs that have no label `target` and name no provider or model."""
    open_runs: int = _above_zero(256)
    """Runs that a node may have at a time, those among them that wait there."""
    register_timeout: float = _above_zero(10.0)
    """How long a node may take to register."""
    heartbeat: float = _above_zero(15.0)
    """How long we are silent before a heartbeat."""
    dead_after: float = _above_zero(45.0)
    """How long the peer may be."""
    reconnect_grace: float = _above_zero(30.0)
    """How long runs wait for their node; and, once it is back, for a word about them."""
    timeout_margin: float = _from_zero(5.0)
    """How long after its timeout a run may take to end at its node."""
    command_timeout: float = _above_zero(30.0)
    """How long a node may take to answer a question that names no time."""
    cancel_on_disconnect: bool = False
    """End a foreground run whose control client goes away."""
    deny_approvals: bool = True
    """Deny what a run asks for as it asks: iop carries no decisions. Else it waits for operators,
    who answer with `gateway approve`."""
    max_message: int = _above_zero(wire.MAX_MESSAGE)
    """Bytes of a message, both ways."""
    pings_allowed_every: float = _above_zero(10.0)
    """How often clients may send gRPC pings."""

    def __attrs_post_init__(self) -> None:
        read_config(self.config)


@value
class NorthSettings:
    """The side that faces an edge, which it dials as a node, or control clients, which come in
    and call EdgeControl."""

    path: str = "/iop"
    """The edge's path over WebSocket."""
    register_timeout: float = _above_zero(10.0)
    """How long an edge may take to answer a registration."""
    heartbeat: float = _above_zero(15.0)
    """How long we are silent before a heartbeat."""
    dead_after: float = _above_zero(45.0)
    """How long the peer may be."""
    retained: int = _above_zero(10_000)
    """Events of a run that are sent again to an edge after a reconnect, the last ones first."""
    local_adapters: tuple[str, ...] = ("mock", "cli", "ollama", "vllm")
    """The adapter types that an edge may enable here."""
    command_timeout: float = _above_zero(30.0)
    """How long a question that names no time may take."""
    cancel_on_disconnect: bool = False
    """End a foreground run whose control client goes away."""
    deny_approvals: bool = True
    """Deny what a run asks for as it asks: iop carries no decisions. Else it waits for operators,
    who answer with `gateway approve`."""
    max_message: int = _above_zero(wire.MAX_MESSAGE)
    """Bytes of a message, both ways."""
    ping_every: float = _above_zero(300.0)
    """How often we send gRPC pings to an edge; doubled whenever it finds that too often."""
    pings_allowed_every: float = _above_zero(10.0)
    """How often control clients may send gRPC pings."""


_CONNECT: Final = {wire.CONNECT: GrpcCall(client_streams=True, server_streams=True)}
CALLS: Final[Mapping[str, GrpcCall]] = {
    f"{wire.CONTROL}{name}": GrpcCall(client_streams=False, server_streams=streams)
    for name, streams in (
        ("Run", True),
        ("Attach", True),
        ("Cancel", False),
        ("Command", False),
        ("WatchNodes", True),
    )
}
"""The calls of EdgeControl."""


def _socket(path: str) -> WebSocketUse:
    return WebSocketUse(binary=True, path=path)


def edge_carriage(settings: EdgeSettings) -> Carriage:
    """How an edge's links carry messages."""
    grpc = GrpcUse(
        calls={**_CONNECT, **CALLS} if settings.control else _CONNECT,
        dial=wire.CONNECT,
        descriptors=codec.descriptors(),
        pings_allowed_every=settings.pings_allowed_every,
    )
    return Carriage("varint", settings.max_message, _socket(settings.path), grpc=grpc, in_band=True)


def north_carriage(settings: NorthSettings) -> Carriage:
    """How a node's link, and the calls of control clients, carry messages."""
    grpc = GrpcUse(
        calls=CALLS,
        dial=wire.CONNECT,
        descriptors=codec.descriptors(),
        final=frozenset({UNAUTHENTICATED}),
        ping_every=settings.ping_every,
        pings_allowed_every=settings.pings_allowed_every,
    )
    return Carriage("varint", settings.max_message, _socket(settings.path), grpc=grpc, in_band=True)


_GRPC: Final = ("grpc", "grpcs")
_nodes_dial: Final = met_by_listening("nodes dial their edge")


def edge_misplaced(settings: EdgeSettings, scheme: str, listens: bool) -> str:
    """Why an edge could meet nobody there; empty: it could."""
    wrong = _nodes_dial(settings, scheme, listens)
    if not wrong and settings.control and scheme not in _GRPC:
        return "control clients come by gRPC only; use grpc: or grpcs:, or leave control out"
    return wrong


def north_misplaced(settings: NorthSettings, scheme: str, listens: bool) -> str:
    """Why neither an edge nor a control client could be met there; empty: one could."""
    if not listens or scheme in _GRPC:
        return ""
    return (
        "who comes in here is a control client, and those come by gRPC only; use grpc: or grpcs:, "
        "or connect, to be a node of the edge at that address"
    )
