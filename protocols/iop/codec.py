"""Frames to messages and back. The only file that knows protobuf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import attrs
from google.protobuf import struct_pb2
from google.protobuf.message import DecodeError

from fleetgate.core.json import Json
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.names import BODY, SEQ, STREAM
from fleetgate.schemas.iop import link_pb2, runtime_pb2

_Kind = TypeVar("_Kind")

_NODE: Final[Mapping[str, Any]] = {
    "register": w.RegisterRequest,
    "heartbeat": w.Heartbeat,
    "run_event": w.RunEvent,
    "command_response": w.NodeCommandResponse,
    "node_event": w.EdgeNodeEvent,
    "error": w.Error,
}
_EDGE: Final[Mapping[str, Any]] = {
    "registered": w.RegisterResponse,
    "heartbeat": w.Heartbeat,
    "run": w.RunRequest,
    "cancel": w.CancelRequest,
    "command": w.NodeCommandRequest,
    "node_event": w.EdgeNodeEvent,
    "error": w.Error,
}
_LINK: Final = frozenset({w.AttachRequest, w.CancelResponse, w.WatchNodesRequest})


def decode_node(frame: bytes) -> w.NodePayload:
    """What a node sent. Raises: `RemoteProtocolError`, without steps."""
    return cast("w.NodePayload", _unpack(link_pb2.NodeMessage(), _NODE, frame))


def decode_edge(frame: bytes) -> w.EdgePayload:
    """What an edge sent. Raises: `RemoteProtocolError`, without steps."""
    return cast("w.EdgePayload", _unpack(link_pb2.EdgeMessage(), _EDGE, frame))


def encode_node(payload: w.NodePayload) -> bytes:
    """A node's frame."""
    return _pack(link_pb2.NodeMessage(), _NODE, payload)


class Delta(NamedTuple):
    """What matters of a delta that has a text or output, and nothing else."""

    run_id: str
    delta: str
    seq: str
    stream: str
    body: str
    timestamp: int
    session_id: str


def deltas_of(frames: Iterable[bytes]) -> Iterator[Delta]:
    """Such deltas that a node sent, up to the first frame that is anything else, be it a message
    at all or not. Nearly every frame of a busy node is one, and no value is made of it here."""
    parse = link_pb2.NodeMessage.FromString
    for frame in frames:
        try:
            message = parse(frame)
        except DecodeError:
            return
        event = message.run_event
        if event.type != "delta" or message.WhichOneof("payload") != "run_event":
            return
        if event.message or event.error or event.HasField("usage"):
            return
        metadata = event.metadata
        seq, stream = metadata.get(SEQ), metadata.get(STREAM)
        body = metadata.get(BODY) if stream else None
        if len(metadata) != sum(each is not None for each in (seq, stream, body)):
            return
        yield Delta(
            event.run_id,
            event.delta,
            seq or "",
            stream or "",
            body or "",
            event.timestamp,
            event.session_id,
        )


def encode_deltas(first: w.RunEvent, rest: Iterable[Told]) -> list[bytes]:
    """The frames of a node's events that are as `first` but for what is told of each: what
    `encode_node` makes of them, with one message written again and again."""
    message = link_pb2.NodeMessage()
    event: Any = message.run_event
    _write(event, first)
    metadata = event.metadata
    frames: list[bytes] = []
    for delta, table, timestamp in rest:
        event.delta = _plain(delta)
        event.timestamp = timestamp
        metadata.clear()
        _write_table(metadata, None, table)
        frames.append(message.SerializeToString())
    return frames


Told: TypeAlias = tuple[str, Mapping[str, str], int]
"""The text, the metadata and the time of an event."""


def encode_edge(payload: w.EdgePayload) -> bytes:
    """An edge's frame."""
    return _pack(link_pb2.EdgeMessage(), _EDGE, payload)


def decode(kind: type[_Kind], frame: bytes) -> _Kind:
    """A message of EdgeControl. Raises: `RemoteProtocolError`, without steps."""
    message = _class_of(kind)()
    _parse(message, frame)
    return cast(_Kind, _read(kind, message))


def encode(message: w.ControlMessage) -> bytes:
    """A frame of EdgeControl."""
    made = _class_of(type(message))()
    _write(made, message)
    return cast(bytes, made.SerializeToString())


def descriptors() -> tuple[bytes, ...]:
    """The files of the schema, each behind what it imports."""
    files = (struct_pb2.DESCRIPTOR, runtime_pb2.DESCRIPTOR, link_pb2.DESCRIPTOR)
    return tuple(file.serialized_pb for file in files)


def to_json(message: Any) -> dict[str, Json]:
    """A message as a JSON object: what is not at its default, by the schema's names."""
    found: dict[str, Json] = {}
    for name, default, _, _ in _plan(type(message)):
        value = getattr(message, name)
        if value != default:
            found[name] = _json_of(value)
    return found


def _json_of(value: Any) -> Json:
    if attrs.has(value.__class__):
        return to_json(value)
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {key: _json_of(each) for key, each in table.items()}
    if isinstance(value, tuple | list):
        return [_json_of(each) for each in cast("Sequence[Any]", value)]
    return cast(Json, value)


# --- for those who show messages and do not use them

_CALLS: Final[Mapping[str, tuple[Any, Any]]] = {
    "Run": (runtime_pb2.RunRequest, runtime_pb2.RunEvent),
    "Attach": (link_pb2.AttachRequest, runtime_pb2.RunEvent),
    "Cancel": (runtime_pb2.CancelRequest, link_pb2.CancelResponse),
    "Command": (runtime_pb2.NodeCommandRequest, runtime_pb2.NodeCommandResponse),
    "WatchNodes": (link_pb2.WatchNodesRequest, runtime_pb2.EdgeNodeEvent),
}


def empty(path: str, *, controller: bool) -> Any:
    """An empty message of what is sent on a link: by its path, and by whether the side that asks
    sends it."""
    call = _CALLS.get(path.removeprefix(w.CONTROL)) if path.startswith(w.CONTROL) else None
    if call is not None:
        return call[0]() if controller else call[1]()
    return link_pb2.EdgeMessage() if controller else link_pb2.NodeMessage()


# --- underneath


def _class_of(kind: type[Any]) -> Any:
    module: Any = link_pb2 if kind in _LINK else runtime_pb2
    return getattr(module, kind.__name__)


def _parse(message: Any, frame: bytes) -> None:
    try:
        message.ParseFromString(frame)
    except DecodeError:
        name = message.DESCRIPTOR.name
        raise RemoteProtocolError(
            f"expected {name} in protobuf; {len(frame)} bytes came that are none"
        ) from None


def _unpack(message: Any, kinds: Mapping[str, Any], frame: bytes) -> Any:
    _parse(message, frame)
    name = message.WhichOneof("payload")
    return w.Unknown() if name is None else _read(kinds[name], getattr(message, name))


def _pack(message: Any, kinds: Mapping[str, Any], payload: Any) -> bytes:
    for name, kind in kinds.items():
        if type(payload) is kind:
            member = getattr(message, name)
            member.SetInParent()
            _write(member, payload)
    return cast(bytes, message.SerializeToString())


class _Shape(Enum):
    """What a member's default says of it."""

    ONE = auto()
    """A message, or a value that may be absent."""
    MANY = auto()
    TABLE = auto()
    PLAIN = auto()
    """A number, a text: absent is as good as empty."""


_PLANS: Final[dict[Any, tuple[tuple[str, Any, Any, _Shape], ...]]] = {}
_READERS: Final[dict[Any, dict[str, tuple[Callable[[Any], Any], _Shape]]]] = {}


def _plan(kind: Any) -> tuple[tuple[str, Any, Any, _Shape], ...]:
    """A class's members: name, default, of what it is made, and its shape."""
    plan = _PLANS.get(kind)
    if plan is None:
        members = attrs.fields(kind)
        plan = _PLANS[kind] = tuple(
            (m.name, m.default, m.metadata.get("of"), _shape_of(m.default)) for m in members
        )
    return plan


def _shape_of(default: Any) -> _Shape:
    if default is None:
        return _Shape.ONE
    if isinstance(default, tuple):
        return _Shape.MANY
    return _Shape.TABLE if isinstance(default, Mapping) else _Shape.PLAIN


def _readers(kind: Any) -> dict[str, tuple[Callable[[Any], Any], _Shape]]:
    readers = _READERS.get(kind)
    if readers is None:
        plan = _plan(kind)
        # What is not set is not read: then it must be what the schema has for it.
        assert not any(default for _, default, _, _ in plan), kind
        readers = _READERS[kind] = {name: (_reader(of), shape) for name, _, of, shape in plan}
    return readers


def _read(kind: type[Any], message: Any) -> Any:
    values: dict[str, Any] = {}
    readers = _readers(kind)
    for field, value in message.ListFields():
        name = field.name
        known = readers.get(name)
        if known is None:
            continue
        read, shape = known
        if shape is _Shape.PLAIN:
            values[name] = value
        elif shape is _Shape.ONE:
            values[name] = read(value)
        elif shape is _Shape.MANY:
            values[name] = tuple(map(read, value))
        else:
            values[name] = {key: read(each) for key, each in value.items()}
    return kind(**values)


def _reader(of: Any) -> Callable[[Any], Any]:
    if of is None:
        return _as_it_is
    return from_struct if of == w.STRUCT else lambda message: _read(of, message)


def _as_it_is(value: Any) -> Any:
    return value


def _write(message: Any, value: Any) -> None:
    for name, default, of, shape in _plan(type(value)):
        given = getattr(value, name)
        if _is_unsaid(given, default):
            continue
        if shape is _Shape.PLAIN:
            setattr(message, name, _plain(given) if isinstance(given, str) else given)
        elif shape is _Shape.ONE:
            member = getattr(message, name)
            member.SetInParent()
            (_write_struct if of == w.STRUCT else _write)(member, given)
        elif shape is _Shape.MANY:
            _write_many(getattr(message, name), of, given)
        else:
            _write_table(getattr(message, name), of, given)


def _is_unsaid(given: Any, default: Any) -> bool:
    """Whether nothing is as good on the wire. -0.0 equals 0.0, and is not."""
    return given is default or (given == default and type(given) is not float)


def _write_many(field: Any, of: Any, given: Sequence[Any]) -> None:
    for each in given:
        if of is None:
            field.append(_plain(each))
        else:
            _write(field.add(), each)


def _write_table(field: Any, of: Any, given: Mapping[str, Any]) -> None:
    for key, each in given.items():
        if of is None:
            field[_plain(key)] = _plain(each)
        else:
            _write(field[_plain(key)], each)


def _plain(text: str) -> str:
    """Text that UTF-8 can hold; what it cannot is written as `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# --- Struct

_EXACT: Final = 1 << 53


def from_struct(message: Any) -> dict[str, Json]:
    """A `Struct` as a JSON object. Whole numbers that a float holds exactly come as integers."""
    return {key: _from_value(value) for key, value in message.fields.items()}


def _from_value(value: Any) -> Json:
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            whole = number.is_integer() and abs(number) <= _EXACT and str(number) != "-0.0"
            return int(number) if whole else number
        case "string_value":
            return cast(str, value.string_value)
        case "bool_value":
            return cast(bool, value.bool_value)
        case "struct_value":
            return from_struct(value.struct_value)
        case "list_value":
            return [_from_value(each) for each in value.list_value.values]
        case _:
            return None


def _write_struct(message: Any, value: Mapping[str, Json]) -> None:
    for key, each in value.items():
        _write_value(message.fields[_plain(key)], each)


def _write_value(message: Any, value: Json) -> None:
    match value:
        case None:
            message.null_value = 0
        case bool():
            message.bool_value = value
        case int() | float():
            _write_number(message, value)
        case str():
            message.string_value = _plain(value)
        case Mapping():
            message.struct_value.SetInParent()
            _write_struct(message.struct_value, value)
        case _:
            message.list_value.SetInParent()
            for each in value:
                _write_value(message.list_value.values.add(), each)


def _write_number(message: Any, value: float) -> None:
    """An integer that no float holds goes as text."""
    try:
        message.number_value = float(value)
    except OverflowError:
        message.string_value = str(value)
