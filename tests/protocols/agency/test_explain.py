"""The frames for people."""

from __future__ import annotations

import pytest

from fleetgate.protocols.agency.codec import Kind
from fleetgate.protocols.agency.explain import SHOWING, AgencyExplainer
from fleetgate.protocols.explaining import Explained, Whence

CLIENT, DAEMON = Whence("controller"), Whence("worker")
HELLO = b'\0{"requestId":1,"type":"hello","client_name":"c","version":{"major":0,"minor":3}}'
START = (
    b'\0{"requestId":2,"type":"start_run","run_id":"r","idempotency_key":"k","request":'
    b'{"provider":"p","model":"","prompt":"hi","permission":"edit","approvals":false,'
    b'"interactive":false,"workspaceRoots":[],"environment":{"KEY":"s3cr3t"}}}'
)


def explain(frame: bytes, whence: Whence = CLIENT) -> Explained:
    return AgencyExplainer().explain(frame, whence)


def test_messages_responses_and_events_have_their_names() -> None:
    assert explain(HELLO).name == "hello"
    assert explain(HELLO).rule == ""
    assert explain(HELLO).frame == HELLO
    answer = b'\0{"kind":"response","request_id":1,"type":"accepted"}'
    assert explain(answer, DAEMON).name == "response.accepted"
    event = b'\0{"kind":"event","run_id":"r","sequence":1,"event":{"type":"text","payload":"x"}}'
    assert explain(event, DAEMON).name == "event.text"
    assert explain(event, DAEMON).rule == ""


def test_an_environment_is_taken_out() -> None:
    explained = explain(START)
    assert explained.rule == ""
    assert explained.redacted == 1
    assert explained.frame is not None
    assert b"s3cr3t" not in explained.frame
    assert b'"KEY":"[redacted]"' in explained.frame
    assert AgencyExplainer().encode(explained.body, CLIENT) == explained.frame


def test_a_key_that_comes_twice_hides_nothing() -> None:
    hidden = b'\0{"requestId":1,"environment":{"K":"s3cr3t"},"environment":{},"type":"list_runs"}'
    explained = explain(hidden)
    assert explained.frame is not None
    assert b"s3cr3t" not in explained.frame


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (b'\0{"requestId":1,"type":"nonsense"}', "the message's type is unknown"),
        (b'\0{"type":"list_runs"}', "the key requestId is missing"),
        (b'\0{"requestId', "not JSON at character"),
        (b"\x09x", "unknown frame kind: 9"),
        (b"", "empty frame"),
    ],
)
def test_a_bad_frame_is_shown_with_its_rule(frame: bytes, rule: str) -> None:
    assert rule in explain(frame).rule


def test_the_sender_is_told_from_the_frame() -> None:
    explainer = AgencyExplainer()
    assert explainer.explain(HELLO).sender == "controller"
    assert explainer.explain(b'\0{"kind":"response"}').sender == "worker"


def test_control_frames_and_answers() -> None:
    explainer = AgencyExplainer()
    ping = explain(bytes((Kind.PING,)) + b"payload")
    assert (ping.name, ping.body, ping.frame) == ("ping", {}, bytes((Kind.PING,)))
    assert ping.name in explainer.idle
    assert explainer.answers(explain(b'\0{"kind":"response","type":"accepted"}', DAEMON))
    assert explainer.answers(explain(b'\0{"requestId":1,"type":"ack_events"}'))
    assert not explainer.answers(explain(HELLO))
    assert SHOWING.dials("") == "controller"


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (b"\2", "expected a JSON text frame"),
        (b"\2x", "expected a JSON text frame"),
        (b"\3", "expected a JSON text frame"),
        (b"\4\x0a", "malformed close frame"),
        (b"\4", ""),
        (b"\4\x03\xe8", ""),
    ],
)
def test_what_a_daemon_drops_a_client_for_is_refused_from_a_client(frame: bytes, rule: str) -> None:
    explained = explain(frame)
    assert explained.rule == rule
    assert explained.frame == frame[:1]
    assert explain(frame, DAEMON).rule == ""


def test_binary_that_is_no_text_is_passed_over_by_a_client() -> None:
    assert "passes it over" in explain(b'\1"\xff"', DAEMON).rule
