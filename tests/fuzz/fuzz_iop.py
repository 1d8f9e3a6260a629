"""iop: both directions of a node's link, every message of a control call, and how gRPC frames
them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_args

import attrs
from fuzz_bytes import mutate_bytes
from fuzz_engine import Target, demand
from fuzz_same import same
from fuzz_seeds import either, recorded
from fuzz_streams import Framed, mutate_stream, pieces
from fuzz_wire import wired

from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import config as node_config
from fleetgate.protocols.iop import testing as t
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.names import BODY, SEQ, STREAM
from fleetgate.schemas.iop import link_pb2, runtime_pb2
from fleetgate.transports.framing import VarintFramer
from fleetgate.transports.grpc_messages import MessageFault, Messages, prefixed

NODE: Final = either(recorded("iop", "worker"), t.frames_for_edge())
EDGE: Final = either(recorded("iop", "controller"), t.frames_for_node())
_RUN: Final = w.RunRequest("r1", "cli", "sh", "/w", {"effort": "low"}, {"prompt": "hi"}, 5)
ASKED: Final[tuple[w.ControlMessage, ...]] = (
    _RUN,
    w.RunEvent("r1", "delta", "text", usage=w.Usage(1, 2), metadata={"a": "b"}),
    w.AttachRequest("r1", 4),
    w.CancelRequest("r1", session_id="s", action=2),
    w.CancelResponse(),
    w.NodeCommandRequest("q1", 1, "cli"),
    w.NodeCommandResponse("q1", 1, usage_status=w.AgentUsageStatus("raw")),
    w.WatchNodesRequest(),
    w.EdgeNodeEvent("e1", "node.connected", "edge", "n2"),
)
"""What a control client may ask for and be told."""


def _again(data: bytes, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]) -> Any:
    """A message, read, written, and read again; None where it is none."""
    try:
        message = decode(data)
    except RemoteProtocolError:
        return None
    frame = encode(message)
    again = decode(frame)
    demand(same(again, message), "decode(encode(x)) is not x")
    demand(len(encode(again)) == len(frame), "encoding it again gives other bytes")
    return message


def run_node(data: bytes) -> bool:
    """What a node says; the short way must read and write it no other way."""
    deltas = list(codec.deltas_of([data]))
    message = _again(data, codec.decode_node, codec.encode_node)
    if deltas:
        _compare(deltas[0], message)
    return message is not None


def _compare(delta: codec.Delta, message: Any) -> None:
    demand(isinstance(message, w.RunEvent), "the short way takes another message")
    event: w.RunEvent = message
    told = (event.run_id, event.delta, event.timestamp, event.session_id)
    read = (delta.run_id, delta.delta, delta.timestamp, delta.session_id)
    demand(told == read and event.type == "delta", "the short way reads something else")
    table = {SEQ: delta.seq, STREAM: delta.stream, BODY: delta.body}
    full = {key: value for key, value in event.metadata.items() if value}
    demand(full == {key: value for key, value in table.items() if value}, "other metadata")
    rest = [(event.delta, event.metadata, event.timestamp)] * 2
    other = attrs.evolve(event, delta="x", metadata={SEQ: "1", BODY: "b"}, timestamp=9)
    for frame in codec.encode_deltas(other, rest):
        demand(same(codec.decode_node(frame), event), "the short way writes something else")


def run_edge(data: bytes) -> bool:
    """What an edge says; a config that it pushes is applied."""
    message = _again(data, codec.decode_edge, codec.encode_edge)
    if isinstance(message, w.RegisterResponse) and message.config is not None:
        node_config.apply(message.config, ("cli", "ollama"))
    return message is not None


def run_control(kind: Any, data: bytes) -> bool:
    """A message of a control call."""
    return _again(data, partial(codec.decode, kind), codec.encode) is not None


def run_config(data: bytes) -> bool:
    """A node's config, as TOML."""
    try:
        node_config.read_config(tomllib.loads(data.decode()))
    except ValueError:
        return False
    return True


_MOST: Final = 4096


def run_messages(data: bytes) -> bool:
    """gRPC's frames, in pieces, as in one; nothing beyond the limit is kept."""
    way, stream = (data[0], data[1:]) if data else (0, b"")
    once, fault = _messages([stream])
    parts, other = _messages(pieces(stream, way))
    demand(parts == once, "pieces change what is read")
    demand(fault == other, "pieces change the fault")
    again, wrong = _messages([b"".join(map(prefixed, once))])
    demand(again == once and wrong is None, "decode(encode(x)) is not x")
    return fault is None


def _messages(stream: Any) -> tuple[list[bytes], int | None]:
    reader, found = Messages(_MOST), list[bytes]()
    try:
        for piece in stream:
            found += reader.feed(piece)
            demand(reader.held <= _MOST + 5 + len(piece), "more than the limit is kept")
        reader.eof()
    except MessageFault as fault:
        found += fault.messages
        demand(reader.held == 0, "something is kept behind a fault")
        return found, fault.status
    return found, None


_FRAMED: Final = Framed(VarintFramer)
_CONFIG: Final = (
    b"[runtime]\nconcurrency = 2\nworkspace_root = '/work'\n"
    b"[[adapters]]\ntype = 'cli'\nenabled = true\n[adapters.cli.profiles.sh]\ncommand = 'sh'\n"
    b"args = ['-c']\n",
    b"[[adapters]]\ntype = 'ollama'\n[adapters.ollama]\nbase_url = 'http://127.0.0.1'\n",
)


def _control(kind: type[Any]) -> Target:
    seeds = tuple(codec.encode(each) for each in ASKED if type(each) is kind)
    made: Any = getattr(link_pb2, kind.__name__, None) or getattr(runtime_pb2, kind.__name__)
    mutate = wired(made.DESCRIPTOR)
    return Target(f"iop.{kind.__name__}", seeds or (b"",), partial(run_control, kind), mutate)


TARGETS: Final = (
    Target("iop.node", NODE, run_node, wired(link_pb2.NodeMessage.DESCRIPTOR), share=8),
    Target("iop.edge", EDGE, run_edge, wired(link_pb2.EdgeMessage.DESCRIPTOR), share=8),
    Target("iop.node-bytes", NODE, run_node, mutate_bytes, share=2),
    Target("iop.edge-bytes", EDGE, run_edge, mutate_bytes, share=2),
    *map(_control, get_args(w.ControlMessage)),
    Target("iop.config", _CONFIG, run_config, mutate_bytes, share=0.5),
    Target(
        "iop.grpc-messages",
        tuple(
            b"\x01" + prefixed(one) + prefixed(two) for one, two in zip(NODE, EDGE, strict=False)
        ),
        run_messages,
        mutate_stream,
    ),
    Target("iop.framing-varint", tuple(_FRAMED.streams(NODE)), _FRAMED.run, mutate_stream),
)
