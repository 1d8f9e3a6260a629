"""rvbox's messages live in a pool of their own, the well-known types with them."""

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf import descriptor_pool, timestamp_pb2

from fleetgate.schemas.rvbox.v1 import agent_pb2, common_pb2
from fleetgate.schemas.rvbox.v1.pool import POOL, Duration, Timestamp


@pytest.mark.parametrize("path", ["rvbox/v1/agent.proto", "rvbox/v1/common.proto"])
def test_its_files_are_in_the_private_pool_only(path: str) -> None:
    assert POOL.FindFileByName(path).package == "rvbox.v1"
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindFileByName(path)


def test_messages_of_both_files_fit_together() -> None:
    event = common_pb2.CommandEvent(issue_uuid="u", event_seq=2**64 - 1)
    event.output.data = b"\xff"
    event.output.stream = common_pb2.OUTPUT_STREAM_STDERR
    envelope = agent_pb2.AgentEnvelope(session_id="s", command_event=event)
    back = agent_pb2.AgentEnvelope.FromString(envelope.SerializeToString())
    assert back == envelope
    assert back.WhichOneof("payload") == "command_event"
    assert back.command_event.output.data == b"\xff"


def test_a_timestamp_is_set_in_place_and_read() -> None:
    hello = agent_pb2.ClientHello()
    assert not hello.HasField("sent_at")
    hello.sent_at.FromNanoseconds(1_700_000_000_123_456_789)
    back = agent_pb2.ClientHello.FromString(hello.SerializeToString())
    assert back.sent_at.ToNanoseconds() == 1_700_000_000_123_456_789
    assert back.sent_at.ToDatetime(UTC) == datetime(2023, 11, 14, 22, 13, 20, 123456, UTC)


def test_a_timestamp_and_a_duration_are_given_whole() -> None:
    hello = agent_pb2.ClientHello(sent_at=Timestamp(seconds=7))
    assert hello.sent_at == Timestamp(seconds=7)
    spec = common_pb2.ExecutionSpec(timeout=Duration(seconds=3, nanos=5))
    assert spec.timeout.ToNanoseconds() == 3_000_000_005
    assert common_pb2.ExecutionSpec(timeout=timedelta(seconds=2)).timeout.seconds == 2


def test_a_timestamp_of_the_default_pool_is_another_type() -> None:
    with pytest.raises(TypeError):
        agent_pb2.ClientHello(sent_at=timestamp_pb2.Timestamp(seconds=7))


def test_unknown_fields_pass_through() -> None:
    unknown = b"\xaa\x06\x03new"  # field 101
    data = agent_pb2.ClientHello(client_id="h").SerializeToString() + unknown
    assert agent_pb2.ClientHello.FromString(data).SerializeToString() == data
