import contextlib
import hashlib
from itertools import takewhile

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.testing import UUID, envelopes, events, specs
from fleetgate.schemas.rvbox.v1 import agent_pb2

DISPATCH = w.CommandDispatch(
    issue_uuid=UUID,
    command_revision=1,
    target_session_generation=7,
    issue_time=1_700_000_000_123_456_789,
    spec=w.ExecutionSpec(program="make", env={"B": "2", "A": "1"}, timeout=1_500_000_000),
    queue_expiry_time=1_700_000_060_000_000_000,
)


@given(envelopes())
def test_every_message_comes_back_as_it_was(envelope: w.Envelope) -> None:
    assert codec.decode(codec.encode(envelope)) == envelope


def plain_output(frame: bytes) -> codec.Output | None:
    """What `outputs_of` should say of one, by way of the whole message."""
    try:
        envelope = codec.decode(frame)
    except RemoteProtocolError:
        return None
    event = envelope.payload
    if not isinstance(event, w.CommandEvent) or not isinstance(event.event, w.OutputChunk):
        return None
    place = (envelope.session_id, envelope.session_generation, event.issue_uuid, event.event_seq)
    return codec.Output(*place, event.event.stream, event.event.data, event.event.offset)


@given(envelopes() | st.builds(w.Envelope, st.just(UUID), st.just(7), events()))
def test_output_is_found_where_it_is(envelope: w.Envelope) -> None:
    frame = codec.encode(envelope)
    assert next(codec.outputs_of([frame]), None) == plain_output(frame)


@given(st.lists(envelopes() | st.builds(w.Envelope, st.just(UUID), st.just(7), events())))
def test_output_is_found_up_to_the_first_frame_that_is_none(told: list[w.Envelope]) -> None:
    frames = list(map(codec.encode, told))
    plain = list(takewhile(lambda each: each is not None, map(plain_output, frames)))
    assert list(codec.outputs_of(frames)) == plain


@given(st.builds(w.Envelope, st.just(UUID), st.just(7), events()), st.data())
def test_output_is_found_nowhere_else(envelope: w.Envelope, data: st.DataObject) -> None:
    frame = bytearray(codec.encode(envelope))
    at = data.draw(st.integers(0, len(frame)))
    frame[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    assert next(codec.outputs_of([bytes(frame)]), None) == plain_output(bytes(frame))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_envelope_or_a_remote_error(frame: bytes) -> None:
    with contextlib.suppress(RemoteProtocolError):
        assert isinstance(codec.decode(frame), w.Envelope)


@given(envelopes(), st.integers(0, 60), st.binary(max_size=4))
def test_a_damaged_frame_is_an_envelope_or_a_remote_error(
    envelope: w.Envelope, at: int, noise: bytes
) -> None:
    frame = codec.encode(envelope)
    with contextlib.suppress(RemoteProtocolError):
        decoded = codec.decode(frame[:at] + noise + frame[at + len(noise) :])
        assert isinstance(decoded, w.Envelope)


def test_the_error_of_an_undecodable_frame_shows_no_payload() -> None:
    with pytest.raises(RemoteProtocolError, match="14 bytes came") as caught:
        codec.decode(b"\xff\xffsecret\xff\xff\xff\xff\xff\xff")
    assert "secret" not in str(caught.value)


def test_the_bytes_are_those_of_the_published_schema() -> None:
    frame = codec.encode(w.Envelope("s", 3, w.EventAck(UUID, 64)))
    theirs = agent_pb2.AgentEnvelope.FromString(frame)
    assert (theirs.session_id, theirs.session_generation) == ("s", 3)
    assert (theirs.event_ack.issue_uuid, theirs.event_ack.through_event_seq) == (UUID, 64)
    assert frame[:3] == b"\x0a\x01s"
    assert b"\x42" in frame  # member 8 of the envelope, length-delimited


def test_a_payload_of_a_later_version_is_unknown() -> None:
    assert codec.decode(b"\x9a\x01\x00").payload == w.Unknown()  # member 19
    assert codec.decode(b"").payload == w.Unknown()


def test_an_empty_message_is_not_the_same_as_none() -> None:
    frame = codec.encode(w.Envelope("", 0, w.ReconcileSnapshot()))
    assert codec.decode(frame).payload == w.ReconcileSnapshot()
    event = w.Envelope("", 0, w.CommandEvent(event=w.CommandExit(exit_code=0)))
    assert codec.decode(codec.encode(event)) == event


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    error = w.AgentError(w.ControlError(1, "bad \ud800 text"))
    sent = codec.decode(codec.encode(w.Envelope("", 0, error)))
    assert sent.payload == w.AgentError(w.ControlError(1, "bad ? text"))


def test_the_digest_is_over_what_may_never_change() -> None:
    message = agent_pb2.CommandDispatch(issue_uuid=UUID)
    message.issue_time.FromNanoseconds(1_700_000_000_123_456_789)
    message.queue_expiry_time.FromNanoseconds(1_700_000_060_000_000_000)
    message.spec.command_line = "make"
    message.spec.timeout.FromNanoseconds(1_500_000_000)
    message.spec.env["A"] = "1"
    message.spec.env["B"] = "2"
    expected = hashlib.sha256(message.SerializeToString(deterministic=True)).digest()
    assert codec.request_digest(DISPATCH) == expected
    moved = attrs.evolve(DISPATCH, command_revision=9, target_session_generation=8)
    assert codec.request_digest(moved) == expected
    other = attrs.evolve(DISPATCH, queue_expiry_time=None)
    assert codec.request_digest(other) != expected


@given(specs())
def test_equal_requests_have_equal_digests(spec: w.ExecutionSpec) -> None:
    turned = attrs.evolve(spec, env=dict(reversed(list(spec.env.items()))))
    one, other = (attrs.evolve(DISPATCH, spec=each) for each in (spec, turned))
    assert codec.request_digest(one) == codec.request_digest(other)
