"""Protobuf for people."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf import struct_pb2

from fleetgate.protocols import protobuf_text
from fleetgate.protocols.redaction import REDACTED
from fleetgate.schemas.iop import link_pb2, runtime_pb2

HIDDEN = "s3cr3t-value"


def cleaned(message: Any) -> tuple[Any, int]:
    """The message after its secrets were taken out of its frame."""
    frame = message.SerializeToString()
    read = type(message)()
    assert protobuf_text.parsed(read, frame)
    kept, count = protobuf_text.clean(read, frame)
    assert type(message).FromString(kept) == read
    return read, count


def test_a_frame_without_secrets_is_the_very_one() -> None:
    message = link_pb2.NodeMessage()
    message.run_event.run_id = "r"
    frame = message.SerializeToString()
    assert protobuf_text.clean(link_pb2.NodeMessage.FromString(frame), frame) == (frame, 0)


def test_secrets_go_from_members_lists_maps_and_structs() -> None:
    message = link_pb2.EdgeMessage()
    adapter = message.registered.config.adapters.add(type="cli")
    adapter.settings.update({"apiKey": HIDDEN, "n": 1, "inner": {"password": HIDDEN}})
    adapter.cli.profiles["sh"].env.extend([f"A={HIDDEN}", "B"])
    adapter.cli.profiles["sh"].args.append(f"Bearer {HIDDEN}")
    read, count = cleaned(message)
    assert count == 4
    assert HIDDEN not in str(read)
    profile = read.registered.config.adapters[0].cli.profiles["sh"]
    assert list(profile.env) == [f"A={REDACTED}", "B"]
    asked = link_pb2.EdgeMessage()
    asked.command.metadata["token"] = HIDDEN
    asked.command.metadata["color"] = "blue"
    read, count = cleaned(asked)
    assert dict(read.command.metadata) == {"token": REDACTED, "color": "blue"}
    assert count == 1


def test_what_the_schema_does_not_know_is_not_kept() -> None:
    strange = runtime_pb2.RegisterRequest(token=HIDDEN).SerializeToString()
    beat = runtime_pb2.Heartbeat()
    assert protobuf_text.parsed(beat, strange)
    assert protobuf_text.has_unknown(beat)
    kept, _ = protobuf_text.clean(beat, strange)
    assert HIDDEN.encode() not in kept


def test_a_member_that_comes_twice_hides_nothing() -> None:
    one = runtime_pb2.Error(code=HIDDEN).SerializeToString()
    two = runtime_pb2.Error(code="ok").SerializeToString()
    read = runtime_pb2.Error.FromString(one + two)
    assert protobuf_text.clean(read, one + two) == (two, 0)


def test_numbers_without_a_json_form_are_text_and_a_struct_of_them_is_not_kept() -> None:
    message = runtime_pb2.RunRequest(run_id="r")
    message.input.fields["x"].CopyFrom(struct_pb2.Value(number_value=math.inf))
    shown = protobuf_text.show(message)
    assert "run_id" in str(shown["text"])
    read, count = cleaned(message)
    assert count == 1
    assert protobuf_text.show(read)["input"] == {"input": REDACTED}


def test_what_is_shown_is_read_again() -> None:
    message = link_pb2.NodeMessage()
    message.run_event.run_id = "r"
    message.run_event.timestamp = 1 << 60
    shown = protobuf_text.show(message)
    assert shown == {"run_event": {"run_id": "r", "timestamp": str(1 << 60)}}
    assert protobuf_text.read(shown, link_pb2.NodeMessage()) == message.SerializeToString()
    with pytest.raises(ValueError, match="no NodeMessage"):
        protobuf_text.read({"strange": 1}, link_pb2.NodeMessage())


def test_bytes_that_are_none_are_refused() -> None:
    assert not protobuf_text.parsed(link_pb2.NodeMessage(), b"\xff\xff\xff")
