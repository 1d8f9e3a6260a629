"""Frames and messages."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import attrs
import pytest
from google.protobuf import struct_pb2
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.testing import json_objects
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.testing import CONTROL_KINDS, EDGE_KINDS, NODE_KINDS, payloads
from fleetgate.schemas.iop import link_pb2, runtime_pb2


@given(st.one_of(*map(payloads, NODE_KINDS)))
def test_what_a_node_says_comes_back_as_it_was(message: Any) -> None:
    assert codec.decode_node(codec.encode_node(message)) == message


@given(st.one_of(*map(payloads, EDGE_KINDS)))
def test_what_an_edge_says_comes_back_as_it_was(message: Any) -> None:
    assert codec.decode_edge(codec.encode_edge(message)) == message


@given(st.one_of(*map(payloads, CONTROL_KINDS)))
def test_what_a_call_carries_comes_back_as_it_was(message: Any) -> None:
    assert codec.decode(type(message), codec.encode(message)) == message


@given(st.binary(max_size=300))
def test_bytes_are_a_message_or_the_typed_error(frame: bytes) -> None:
    for read in (
        codec.decode_node,
        codec.decode_edge,
        *(lambda frame, kind=kind: codec.decode(kind, frame) for kind in CONTROL_KINDS),
    ):
        with contextlib.suppress(RemoteProtocolError):
            read(frame)


def test_every_message_of_the_schema_has_its_class_with_its_members() -> None:
    files = [runtime_pb2.DESCRIPTOR, link_pb2.DESCRIPTOR]
    named = {n: m for file in files for n, m in file.message_types_by_name.items()}
    for name in named.keys() - {"NodeMessage", "EdgeMessage"}:
        kind = getattr(w, name)
        assert {field.name for field in named[name].fields} == set(attrs.fields_dict(kind))
    assert {f.name for f in named["NodeMessage"].fields} == set(codec._NODE)
    assert {f.name for f in named["EdgeMessage"].fields} == set(codec._EDGE)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (w.SessionMode, runtime_pb2.RunSessionMode),
        (w.CancelAction, runtime_pb2.CancelAction),
        (w.CommandType, runtime_pb2.NodeCommandType),
    ],
)
def test_enums_are_those_of_the_schema(ours: Any, theirs: Any) -> None:
    assert sorted(ours) == sorted(theirs.values())


def test_an_unknown_enum_number_is_kept() -> None:
    frame = codec.encode_edge(w.RunRequest("r", session_mode=99))
    assert codec.decode_edge(frame) == w.RunRequest("r", session_mode=99)


def test_a_message_without_a_payload_is_unknown() -> None:
    assert codec.decode_node(b"") == w.Unknown()
    assert codec.decode_edge(b"\xf2\x07\x01x") == w.Unknown()
    assert codec.encode_node(w.Unknown()) == b""


def test_text_that_utf8_cannot_hold_is_written_with_a_question_mark() -> None:
    event = w.RunEvent("r\udc80", metadata={"k\udc80": "v"})
    assert codec.decode(w.RunEvent, codec.encode(event)) == w.RunEvent("r?", metadata={"k?": "v"})


def written(value: Any) -> Any:
    frame = codec.encode(w.RunRequest("r", input={"v": value}))
    return (codec.decode(w.RunRequest, frame).input or {})["v"]


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (3, 3),
        (3.0, 3),
        (1 << 53, 1 << 53),
        (0.1, 0.1),
        (True, True),
        (None, None),
        ([1, [2.5, {}]], [1, [2.5, {}]]),
        ({"a": {"b": []}}, {"a": {"b": []}}),
        (10**400, str(10**400)),
        (1e300, 1e300),
    ],
)
def test_numbers_of_a_struct_come_as_what_they_are(value: Any, back: Any) -> None:
    came = written(value)
    assert (came, type(came)) == (back, type(back))


def test_negative_zero_and_what_is_no_number_stay_floats() -> None:
    assert math.copysign(1, written(-0.0)) == -1
    assert math.isnan(written(math.nan))
    assert written(math.inf) == math.inf


def test_a_value_without_a_kind_is_null() -> None:
    message = runtime_pb2.RunRequest()
    message.input.fields["v"].CopyFrom(struct_pb2.Value())
    assert codec.decode(w.RunRequest, message.SerializeToString()).input == {"v": None}


@given(json_objects())
def test_any_json_can_be_written(value: Any) -> None:
    assert codec.decode_edge(codec.encode_edge(w.RunRequest("r", input=value)))


def test_deep_nesting_is_no_fault_of_ours() -> None:
    deep: Any = {}
    for _ in range(60):
        deep = {"a": deep}
    with pytest.raises(RemoteProtocolError):
        codec.decode(w.RunRequest, codec.encode(w.RunRequest("r", input=deep)))


def test_the_descriptors_stand_behind_what_they_import() -> None:
    from google.protobuf import descriptor_pb2

    files = [descriptor_pb2.FileDescriptorProto.FromString(each) for each in codec.descriptors()]
    seen: set[str] = set()
    for file in files:
        assert set(file.dependency) <= seen
        seen.add(file.name)
    assert {service.name for service in files[-1].service} == {"NodeLink", "EdgeControl"}


def test_a_message_as_json_has_what_is_not_at_its_default() -> None:
    request = w.RunRequest("r", input={"a": 1}, metadata={"m": "x"})
    assert codec.to_json(request) == {"run_id": "r", "input": {"a": 1}, "metadata": {"m": "x"}}
    profile = w.CLIProfileConfig("sh", ("-c",), completion_marker=w.CLICompletionMarker("END"))
    assert codec.to_json(w.CLIAdapterConfig({"p": profile})) == {
        "profiles": {"p": {"command": "sh", "args": ["-c"], "completion_marker": {"line": "END"}}}
    }
    assert codec.to_json(w.RunRequest(input={})) == {"input": {}}
