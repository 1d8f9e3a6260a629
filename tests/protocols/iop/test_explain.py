"""The frames for people."""

from __future__ import annotations

import pytest

from fleetgate.protocols.explaining import Whence
from fleetgate.protocols.iop import codec, wire
from fleetgate.protocols.iop.explain import SHOWING, IopExplainer
from fleetgate.protocols.iop.testing import frames_for_edge, frames_for_node

NODE, EDGE = Whence("worker", wire.CONNECT), Whence("controller", wire.CONNECT)
EXPLAINER = IopExplainer()


def test_each_message_has_its_name_and_can_be_written_again() -> None:
    for whence, frames in ((NODE, frames_for_edge()), (EDGE, frames_for_node())):
        for frame in frames:
            explained = EXPLAINER.explain(frame, whence)
            assert (explained.name == "") == bool(explained.rule)
            assert explained.frame is not None
            assert EXPLAINER.encode(explained.body, whence) == explained.frame


def test_a_token_and_an_environment_are_taken_out() -> None:
    explained = EXPLAINER.explain(codec.encode_node(wire.RegisterRequest("s3cr3t")), NODE)
    assert explained.body == {"register": {"token": "[redacted]"}}
    assert explained.redacted == 1
    assert explained.frame == codec.encode_node(wire.RegisterRequest("[redacted]"))
    profile = wire.CLIProfileConfig("sh", env=("A=s3cr3t",))
    adapter = wire.AdapterConfig("cli", cli=wire.CLIAdapterConfig({"sh": profile}))
    config = wire.NodeConfigPayload((adapter,))
    pushed = codec.encode_edge(wire.RegisterResponse(True, config=config))
    assert "s3cr3t" not in str(EXPLAINER.explain(pushed, EDGE))
    assert b"s3cr3t" not in (EXPLAINER.explain(pushed, EDGE).frame or b"s3cr3t")


@pytest.mark.parametrize(
    ("method", "sender", "message"),
    [
        ("Run", "controller", wire.RunRequest("r")),
        ("Run", "worker", wire.RunEvent("r", "delta")),
        ("Attach", "controller", wire.AttachRequest("r", 4)),
        ("Cancel", "worker", wire.CancelResponse(True)),
        ("Command", "worker", wire.NodeCommandResponse("q")),
        ("WatchNodes", "controller", wire.WatchNodesRequest(True)),
    ],
)
def test_a_calls_message_is_told_from_its_path(method: str, sender, message) -> None:
    whence = Whence(sender, wire.CONTROL + method)
    explained = EXPLAINER.explain(codec.encode(message), whence)
    assert explained.name == type(message).__name__
    assert EXPLAINER.encode(explained.body, whence) == explained.frame


def test_without_a_sender_it_is_whose_message_says_more() -> None:
    register = codec.encode_node(wire.RegisterRequest("t"))
    event = codec.encode_node(wire.RunEvent("r", "delta", "text", metadata={"a": "b"}))
    run = codec.encode_edge(wire.RunRequest("r1", "cli", input={"prompt": "hi"}))
    assert EXPLAINER.explain(register).sender == "worker"
    assert EXPLAINER.explain(event).sender == "worker"
    assert EXPLAINER.explain(run).sender == "controller"


def test_what_is_no_message_says_so() -> None:
    assert "none" in EXPLAINER.explain(b"\xff\xff", NODE).rule
    assert "none" in EXPLAINER.explain(b"\xff\xff").rule
    empty = EXPLAINER.explain(b"", NODE)
    assert empty.rule == "the NodeMessage has no payload known here"


def test_answers_and_who_dials() -> None:
    answer = codec.encode_node(wire.NodeCommandResponse("q"))
    assert EXPLAINER.answers(EXPLAINER.explain(answer, NODE))
    assert not EXPLAINER.answers(EXPLAINER.explain(codec.encode_node(wire.Heartbeat(1)), NODE))
    assert SHOWING.dials(wire.CONNECT) == "worker"
    assert SHOWING.dials(wire.CONTROL + "Run") == "controller"
