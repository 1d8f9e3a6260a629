"""Hypothesis strategies for the messages, and valid frames for `check_adapter`. Only this file of
the folder imports Hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fleetgate.core.testing import json_values, texts
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w

NODE_KINDS: Final[tuple[type[Any], ...]] = get_args(w.NodePayload)
EDGE_KINDS: Final[tuple[type[Any], ...]] = get_args(w.EdgePayload)
CONTROL_KINDS: Final[tuple[type[Any], ...]] = get_args(w.ControlMessage)

_INT32: Final = st.integers(-(1 << 31), (1 << 31) - 1)
_UINT64: Final = st.integers(0, (1 << 64) - 1)
_INT64: Final = st.integers(-(1 << 63), (1 << 63) - 1)
_SIZES: Final[Mapping[str, SearchStrategy[int]]] = {
    "timestamp": _INT64,
    "after_sequence": _UINT64,
}


def structs() -> SearchStrategy[Mapping[str, Any]]:
    """JSON objects as a `Struct` holds them: numbers are those that a float holds."""
    return st.dictionaries(texts(max_size=6), json_values(1).map(_as_floats), max_size=3)


def _as_floats(value: Any) -> Any:
    match value:
        case bool() | None | str():
            return value
        case int():
            exact = -(1 << 53) <= value <= 1 << 53
            return value if exact else 0.5
        case float():
            return int(value) if value.is_integer() and abs(value) <= 1 << 53 else value
        case dict():
            table = cast("dict[str, Any]", value)
            return {key: _as_floats(each) for key, each in table.items()}
        case _:
            return [_as_floats(each) for each in value]


def messages(kind: Any) -> SearchStrategy[Any]:
    """Messages of one class, with every member."""
    return st.builds(kind, **{member.name: _member(member) for member in attrs.fields(kind)})


def _member(member: Any) -> SearchStrategy[Any]:
    of, default = member.metadata.get("of"), member.default
    inner: SearchStrategy[Any] = texts(max_size=8)
    if of == w.STRUCT:
        inner = structs()
    elif of is not None:
        inner = messages(of)
    match default:
        case None:
            return st.none() | inner
        case tuple():
            return st.lists(inner, max_size=3).map(tuple)
        case Mapping():
            return st.dictionaries(texts(max_size=8), inner, max_size=2)
        case bool():
            return st.booleans()
        case int():
            return _SIZES.get(member.name, _INT32)
        case _:
            return inner


def adapter_configs() -> SearchStrategy[w.AdapterConfig]:
    """Adapters as the schema allows them: one configuration at most."""
    kinds = ("cli", "ollama", "vllm")

    def one(config: w.AdapterConfig, kept: str) -> w.AdapterConfig:
        others: dict[str, Any] = dict.fromkeys(kind for kind in kinds if kind != kept)
        return attrs.evolve(config, **others)

    return st.builds(one, messages(w.AdapterConfig), st.sampled_from(kinds))


def payloads(kind: Any) -> SearchStrategy[Any]:
    """Messages of one class that the wire can hold."""
    if kind is not w.RegisterResponse:
        return messages(kind)
    config = st.builds(
        w.NodeConfigPayload,
        st.lists(adapter_configs(), max_size=2).map(tuple),
        st.none() | messages(w.NodeRuntimeConfig),
    )
    made: SearchStrategy[Any] = st.builds(attrs.evolve, messages(kind), config=st.none() | config)
    return made


def frames_for_node() -> tuple[bytes, ...]:
    """What an edge may say, in order."""
    cli = w.CLIAdapterConfig({"sh": w.CLIProfileConfig("sh", ("-c",))})
    adapter = w.AdapterConfig("cli", True, cli=cli)
    config = w.NodeConfigPayload((adapter,), w.NodeRuntimeConfig(2, "/work"))
    said: tuple[w.EdgePayload, ...] = (
        w.RegisterResponse(True, "n1", "one", "", config),
        w.Heartbeat(1),
        w.RunRequest("r1", "cli", "sh", "/work", {"effort": "low"}, {"prompt": "hi"}, 5),
        w.RunRequest("r2", "cli", "sh", input={"command": ["ls", "-l"]}, session_id="s"),
        w.RunRequest("r3", "vllm", session_mode=99, timeout_sec=-1),
        w.CancelRequest("r1"),
        w.CancelRequest("r1", session_id="s", action=2),
        w.NodeCommandRequest("q1", 1, "cli"),
        w.NodeCommandRequest("q1", 7),
        w.EdgeNodeEvent("e1", "node.connected", "edge", "n2"),
        w.Error("unavailable", "soon"),
        w.Unknown(),
        w.Error("replaced", "by another"),
    )
    return tuple(map(codec.encode_edge, said))


def frames_for_edge() -> tuple[bytes, ...]:
    """What a node may say, in order."""
    said: tuple[w.NodePayload, ...] = (
        w.RegisterRequest("token"),
        w.Heartbeat(1),
        w.RunEvent("r1", "start", timestamp=5),
        w.RunEvent("r1", "delta", "text", usage=w.Usage(1, 2), metadata={"a": "b"}),
        w.RunEvent("r1", "complete", message="done"),
        w.NodeCommandResponse("ask 1", 1, usage_status=w.AgentUsageStatus("raw")),
        w.EdgeNodeEvent("e1", "node.config_applied"),
        w.Error("not_found", "r1: no such run"),
        w.Unknown(),
    )
    return tuple(map(codec.encode_node, said))
