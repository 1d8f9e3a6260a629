import pytest

from fleetgate.protocols.rvbox import codec, codec_common
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.limits import check_spec
from fleetgate.schemas.rvbox.v1 import agent_pb2, common_pb2


def test_fault_30_members_unknown_here_pass_between_two_ends_unchanged() -> None:
    later = b"\xa2\x06\x02hi"  # member 100
    spec = common_pb2.ExecutionSpec.FromString(
        common_pb2.ExecutionSpec(command_line="ls").SerializeToString() + later
    )
    theirs = agent_pb2.AgentEnvelope(session_id="s")
    theirs.command_dispatch.spec.MergeFrom(spec)
    ours = codec.decode(theirs.SerializeToString())
    assert isinstance(ours.payload, w.CommandDispatch)
    assert ours.payload.spec.unknown == later
    assert later in codec.encode(ours)


@pytest.mark.parametrize(
    ("data", "fits"),
    [(b"", True), (b"\xa2\x06\x02hi", True), (b"\x0a\x02ls", False), (b"\xff", False)],
)
def test_only_members_unknown_here_count_as_an_unknown_part(data: bytes, fits: bool) -> None:
    assert codec_common.is_unknown_part(data) is fits


@pytest.mark.parametrize(
    ("seconds", "nanos", "expected"),
    [(0, 0, 0), (1, 5, 1_000_000_005), (-1, 999_999_999, -1), (1 << 40, 0, (1 << 40) * 10**9)],
)
def test_instants_are_nanoseconds(seconds: int, nanos: int, expected: int) -> None:
    message = common_pb2.CommandEvent()
    message.event_time.seconds, message.event_time.nanos = seconds, nanos
    read = codec_common.read_event(message)
    assert read.event_time == expected
    written = common_pb2.CommandEvent()
    codec_common.write_event(written, read)
    assert written == message
    assert codec_common.read_event(common_pb2.CommandEvent()).event_time is None


@pytest.mark.parametrize(
    ("seconds", "nanos", "expected"),
    [
        ((1 << 63) - 1, 999_999_999, (1 << 63) * 10**9 - 1),
        ((1 << 63) - 1, (1 << 31) - 1, (1 << 63) * 10**9 - 1),
        (-(1 << 63), 0, -(1 << 63) * 10**9),
        (-(1 << 63), -(1 << 31), -(1 << 63) * 10**9),
    ],
)
def test_an_instant_at_the_end_of_time_is_one_that_can_be_written(
    seconds: int, nanos: int, expected: int
) -> None:
    message = common_pb2.CommandEvent()
    message.event_time.seconds, message.event_time.nanos = seconds, nanos
    read = codec_common.read_event(message)
    assert read.event_time == expected
    written = common_pb2.CommandEvent()
    codec_common.write_event(written, read)
    assert codec_common.read_event(written) == read


@pytest.mark.parametrize(
    ("seconds", "nanos", "expected"),
    [
        (1, 5, 1_000_000_005),
        (0, 999_999_999, 999_999_999),
        (0, -5, -5),
        (-1, -5, -1_000_000_005),
        (1, -5, codec_common.MALFORMED),
        (-1, 5, codec_common.MALFORMED),
        (1, 1_000_000_000, codec_common.MALFORMED),
        (-1, -1_000_000_000, codec_common.MALFORMED),
    ],
)
def test_a_malformed_duration_is_no_timeout(seconds: int, nanos: int, expected: int) -> None:
    message = common_pb2.ExecutionSpec(command_line="ls")
    message.timeout.seconds, message.timeout.nanos = seconds, nanos
    read = codec_common.read_spec(message)
    assert read.timeout == expected
    assert (check_spec(read) is None) is (expected > 0)
    written = common_pb2.ExecutionSpec()
    codec_common.write_spec(written, read)
    assert (written == message) is (expected != codec_common.MALFORMED)


def test_an_exit_code_of_0_is_not_the_same_as_none() -> None:
    for code in (None, 0):
        message = common_pb2.CommandEvent()
        codec_common.write_event(message, w.CommandEvent(event=w.CommandExit(4, code)))
        assert message.exit.HasField("exit_code") is (code is not None)
        event = codec_common.read_event(message).event
        assert isinstance(event, w.CommandExit)
        assert event.exit_code == code
