"""The frames for people."""

from __future__ import annotations

import pytest
from hypothesis import given

from fleetgate.protocols.explaining import Whence
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.explain import _DIGESTS, SHOWING, RvboxExplainer
from fleetgate.protocols.rvbox.testing import envelopes, make_dispatch

SERVER, CLIENT = Whence("controller"), Whence("worker")
SPEC = w.ExecutionSpec(program="ls", env={"KEY": "s3cr3t"})


def dispatched(uuid: str = "u", spec: w.ExecutionSpec = SPEC) -> w.CommandDispatch:
    asked = w.CommandDispatch(uuid, 1, 1, 5, spec)
    return w.CommandDispatch(
        uuid, 1, 1, 5, spec, immutable_request_sha256=codec.request_digest(asked)
    )


def frame_of(payload: w.Payload) -> bytes:
    return codec.encode(w.Envelope("s", 1, payload))


@given(envelopes())
def test_every_message_is_shown_and_what_is_kept_decodes(envelope: w.Envelope) -> None:
    frame = codec.encode(envelope)
    explained = RvboxExplainer().explain(frame)
    assert explained.frame is not None
    if not explained.redacted and not isinstance(envelope.payload, w.CommandDispatch):
        assert codec.decode(explained.frame) == codec.decode(frame)


def test_an_environment_goes_and_the_digest_is_of_what_is_left() -> None:
    explainer = RvboxExplainer()
    sent = dispatched()
    explained = explainer.explain(frame_of(sent), SERVER)
    assert explained.frame is not None
    assert b"s3cr3t" not in explained.frame
    left = codec.decode(explained.frame).payload
    assert isinstance(left, w.CommandDispatch)
    assert left.spec.env == {"KEY": "[redacted]"}
    assert left.immutable_request_sha256 == codec.request_digest(left)
    assert left.immutable_request_sha256 != sent.immutable_request_sha256
    for named in (
        w.ReconcileRequest((w.ReconcileTarget("u", 0, 1, sent.immutable_request_sha256),)),
        w.ReconcileSnapshot(
            (w.ReconcileCommandState("u", 1, 1, 1, False, sent.immutable_request_sha256),)
        ),
    ):
        kept = explainer.explain(frame_of(named)).frame
        assert kept is not None
        assert sent.immutable_request_sha256 not in kept
        assert left.immutable_request_sha256 in kept


def test_a_wrong_digest_stays_a_wrong_one() -> None:
    wrong = make_dispatch(spec=SPEC, immutable_request_sha256=bytes(32))
    explained = RvboxExplainer().explain(frame_of(wrong), SERVER)
    assert explained.frame is not None
    left = codec.decode(explained.frame).payload
    assert isinstance(left, w.CommandDispatch)
    assert left.immutable_request_sha256 == bytes(32)


def test_without_an_environment_a_dispatch_is_the_very_one() -> None:
    frame = frame_of(dispatched(spec=w.ExecutionSpec(program="ls")))
    assert RvboxExplainer().explain(frame, SERVER).frame == frame


def test_a_body_becomes_a_frame_with_a_digest_of_its_own() -> None:
    explainer = RvboxExplainer()
    body = explainer.explain(frame_of(dispatched()), SERVER).body
    assert isinstance(body, dict)
    body["command_dispatch"]["issue_time"] = "2026-01-01T00:00:00Z"  # type: ignore[index,call-overload]
    made = codec.decode(explainer.encode(body, SERVER)).payload
    assert isinstance(made, w.CommandDispatch)
    assert made.immutable_request_sha256 == codec.request_digest(made)
    ack = frame_of(w.EventAck("u", 4))
    assert explainer.encode(explainer.explain(ack).body, SERVER) == ack


@pytest.mark.limit("protocols/rvbox/explain._DIGESTS")
def test_digests_that_are_remembered_are_bounded() -> None:
    explainer = RvboxExplainer()
    for number in range(_DIGESTS + 5):
        explainer.explain(frame_of(dispatched(str(number))))
    assert len(explainer._digests) == _DIGESTS


def test_senders_and_rules() -> None:
    explainer = RvboxExplainer()
    hello = explainer.explain(frame_of(w.ClientHello("c")))
    assert (hello.name, hello.sender, hello.rule) == ("client_hello", "worker", "")
    assert explainer.explain(frame_of(w.ClientHello("c")), SERVER).rule
    assert explainer.explain(frame_of(w.ServerWelcome()), CLIENT).rule
    assert explainer.explain(frame_of(w.Unknown())).rule
    assert "none" in explainer.explain(b"\xff").rule
    assert explainer.explain(frame_of(w.AgentError())).sender is None
    assert SHOWING.dials("") == "worker"


def test_answers() -> None:
    explainer = RvboxExplainer()
    for payload, answers in (
        (w.CommandAccepted("u", 1, True), True),
        (w.EventAck("u", 1), True),
        (w.CommandEvent("u", 1, 1, 1, w.StdinAck(1)), True),
        (w.CommandEvent("u", 1, 1, 1, w.LifecycleChanged(1)), False),
        (w.ClientCapacity(), False),
    ):
        assert explainer.answers(explainer.explain(frame_of(payload))) is answers
