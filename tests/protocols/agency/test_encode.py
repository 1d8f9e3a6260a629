"""Messages to frames: section 3 of the protocol, byte for byte."""

import json
import struct
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.codec import decode_client, decode_server
from fleetgate.protocols.agency.encode import (
    FREE_DEPTH,
    FrameTooLarge,
    encode_client,
    encode_event,
    encode_response,
    encode_server,
    snapshot_size,
    written,
)
from fleetgate.protocols.agency.state import capabilities

REQUEST = wire.RunRequest(
    "claude",
    "",
    "hi",
    "read_only",
    True,
    True,
    ("/w",),
    environment={"B": "2", "A": "1"},
    metadata={"projectId": "p1"},
)

CLIENT: list[tuple[wire.ClientMessage, str]] = [
    (
        wire.Hello("agency-proxy-client", wire.ProtocolVersion(0, 3)),
        '"type":"hello","client_name":"agency-proxy-client","version":{"major":0,"minor":3}',
    ),
    (wire.ListRuns(), '"type":"list_runs"'),
    (wire.ProbeProviders(), '"type":"probe_providers"'),
    (wire.ReadAccountUsage(), '"type":"read_account_usage"'),
    (wire.ShutdownIfIdle(), '"type":"shutdown_if_idle"'),
    (wire.Shutdown(wire.ShutdownMode.DRAIN), '"type":"shutdown","mode":"drain"'),
    (wire.Shutdown(wire.ShutdownMode.TERMINATE), '"type":"shutdown","mode":"terminate"'),
    (
        wire.StartRun("run-1", REQUEST, "run-1:start"),
        '"type":"start_run","run_id":"run-1","request":{"provider":"claude","model":"",'
        '"prompt":"hi","isCommand":false,"system":null,"permission":"read_only","effort":null,'
        '"extraThinking":null,"approvals":true,"interactive":true,"workspaceRoots":["/w"],'
        '"resumeSessionId":null,"binary":null,"environment":{"A":"1","B":"2"},"uncheckedArgs":[],'
        '"metadata":{"projectId":"p1"}},"idempotency_key":"run-1:start"',
    ),
    (wire.AttachRun("run-1", 0), '"type":"attach_run","run_id":"run-1","after_sequence":0'),
    (wire.DetachRun("run-1"), '"type":"detach_run","run_id":"run-1"'),
    (
        wire.InjectMessage("run-1", "also this", "run-1:inject:1"),
        '"type":"inject_message","run_id":"run-1","body":"also this",'
        '"idempotency_key":"run-1:inject:1"',
    ),
    (
        wire.CancelRun("run-1", "run-1:cancel"),
        '"type":"cancel_run","run_id":"run-1","idempotency_key":"run-1:cancel"',
    ),
    *(
        (
            wire.DecideApproval("run-1", "ap-1", decision, "k"),
            '"type":"decide_approval","run_id":"run-1","approval_id":"ap-1",'
            f'"decision":"{decision.value}","idempotency_key":"k"',
        )
        for decision in wire.ApprovalDecision
    ),
    (
        wire.AckEvents("run-1", 18446744073709551615),
        '"type":"ack_events","run_id":"run-1","through_sequence":18446744073709551615',
    ),
    (
        wire.InterruptSession("codex", "thread-8", "interrupt-thread-8"),
        '"type":"interrupt_session","provider":"codex","session_id":"thread-8","binary":null,'
        '"idempotency_key":"interrupt-thread-8"',
    ),
]


@pytest.mark.parametrize(("message", "text"), CLIENT)
def test_each_request_byte_for_byte(message: wire.ClientMessage, text: str) -> None:
    frame = wire.ClientFrame(8, message)
    assert encode_client(frame) == f'\0{{"requestId":8,{text}}}'.encode()
    assert decode_client(encode_client(frame), 4) == frame


def test_case_a1_the_layout_of_a_frame() -> None:
    """Case 1: what the transport's framing makes of it has the length in front."""
    frame = encode_client(wire.ClientFrame(2, wire.ListRuns()))
    text = b'{"requestId":2,"type":"list_runs"}'
    assert struct.pack(">I", len(frame)) + frame == bytes.fromhex("0000002300") + text


SNAPSHOT = wire.RunSnapshot("run-1", wire.RunState.STARTING, "claude", "", 0, 0, ("/w",))
SNAPSHOT_TEXT = (
    '{"runId":"run-1","state":"starting","provider":"claude","model":"","providerSessionId":null,'
    '"latestSequence":0,"acknowledgedSequence":0,"workspaceRoots":["/w"],"metadata":{}}'
)

RESPONSES: list[tuple[wire.ServerResponse, str]] = [
    (
        wire.HelloAnswer("agency-proxy", wire.ProtocolVersion(0, 3), capabilities(3)),
        '"type":"hello","server_name":"agency-proxy","version":{"major":0,"minor":3},'
        '"capabilities":["event_replay","live_injection","approvals","cancellation",'
        '"provider_detection","lifecycle_control"]',
    ),
    (wire.Runs(()), '"type":"runs","runs":[]'),
    (wire.Runs((SNAPSHOT, SNAPSHOT)), f'"type":"runs","runs":[{SNAPSHOT_TEXT},{SNAPSHOT_TEXT}]'),
    (
        wire.Providers(
            (
                wire.ProviderStatus(
                    "claude",
                    True,
                    False,
                    "logged_in",
                    "{}",
                    "claude /login",
                    version="2.1.212",
                    auth_method="claude.ai",
                    account="a@b",
                ),
            )
        ),
        '"type":"providers","providers":[{"provider":"claude","installed":true,'
        '"version":"2.1.212","outdated":false,"authState":"logged_in","detail":"{}",'
        '"authMethod":"claude.ai","account":"a@b","plan":null,"loginHint":"claude /login"}]',
    ),
    (
        wire.AccountUsage((wire.ProviderAccountUsage("claude", False),)),
        '"type":"account_usage","providers":[{"provider":"claude","supported":false,'
        '"usage":null,"error":null}]',
    ),
    (wire.RunAnswer(SNAPSHOT), f'"type":"run","run":{SNAPSHOT_TEXT}'),
    (wire.Accepted(), '"type":"accepted"'),
    (wire.SessionInterrupted(True), '"type":"session_interrupted","interrupted":true'),
    *(
        (wire.Error(code, "m"), f'"type":"error","code":"{code.value}","message":"m"')
        for code in wire.ErrorCode
    ),
]


@pytest.mark.parametrize(("response", "text"), RESPONSES)
def test_each_response_byte_for_byte(response: wire.ServerResponse, text: str) -> None:
    frame = wire.Response(9, response)
    assert encode_server(frame) == f'\0{{"kind":"response","request_id":9,{text}}}'.encode()
    assert decode_server(encode_server(frame)) == frame


EVENTS: list[tuple[w.RunEvent, str]] = [
    (w.Finished({"z": 1, "a": 2}), '{"type":"finished","payload":{"a":2,"z":1}}'),
    (w.Failed("the run was canceled"), '{"type":"failed","payload":"the run was canceled"}'),
    *(
        (w.StateChanged(state), f'{{"type":"state_changed","payload":"{state.value}"}}')
        for state in wire.RunState
    ),
    (
        w.SessionOpened("s-1"),
        '{"type":"session_opened","payload":{"provider_session_id":"s-1","model":null}}',
    ),
    (
        w.SessionOpened("s-1", "m"),
        '{"type":"session_opened","payload":{"provider_session_id":"s-1","model":"m"}}',
    ),
    (w.Reasoning("r"), '{"type":"reasoning","payload":"r"}'),
    (w.Text("t"), '{"type":"text","payload":"t"}'),
    (w.MessageBoundary(), '{"type":"message_boundary"}'),
    (
        w.ToolCall("Bash", {"command": "ls"}, id="t1"),
        '{"type":"tool_call","payload":{"id":"t1","name":"Bash","input":{"command":"ls"}}}',
    ),
    (
        w.ToolCall("Bash", None),
        '{"type":"tool_call","payload":{"id":null,"name":"Bash","input":null}}',
    ),
    (
        w.ToolResult(""),
        '{"type":"tool_result","payload":{"id":null,"ok":null,"output":""}}',
    ),
    (
        w.ToolResult("x", id="t1", ok=True),
        '{"type":"tool_result","payload":{"id":"t1","ok":true,"output":"x"}}',
    ),
    (
        w.ApprovalRequested("ap-1", "Bash", {"command": "touch x"}),
        '{"type":"approval_requested","payload":{"approval_id":"ap-1","title":"Bash",'
        '"detail":{"command":"touch x"}}}',
    ),
    (w.Usage({"input_tokens": 1}), '{"type":"usage","payload":{"input_tokens":1}}'),
    (w.RateLimit(None), '{"type":"rate_limit","payload":null}'),
    (w.Compaction("started"), '{"type":"compaction","payload":"started"}'),
    (
        w.Commands({"skills": [], "all": ()}),
        '{"type":"commands","payload":{"all":[],"skills":[]}}',
    ),
    (w.ErrorEvent("e"), '{"type":"error","payload":"e"}'),
]


@pytest.mark.parametrize(("event", "text"), EVENTS)
def test_each_event_byte_for_byte(event: w.RunEvent, text: str) -> None:
    expected = f'\0{{"kind":"event","run_id":"run-1","sequence":1,"event":{text}}}'
    assert encode_event("run-1", 1, event) == expected.encode()
    again: Any = decode_server(expected.encode())
    assert encode_server(again) == expected.encode()


def test_an_event_that_was_not_understood_is_not_sent_on() -> None:
    with pytest.raises(TypeError, match="never sent"):
        encode_server(w.EventFrame("r", 1, w.UnknownEvent("later", None)))


def body(spare: int) -> bytes:
    """A frame whose JSON text is `spare` bytes short of the limit."""
    room = wire.MAX_TEXT - len(encode_event("r", 1, w.Text(""))) + 1
    return encode_event("r", 1, w.Text("x" * (room - spare)))


@pytest.mark.limit("protocols/agency/wire.MAX_FRAME")
def test_the_limit_is_the_text_s_and_holds_when_writing() -> None:
    assert len(body(1)) == wire.MAX_FRAME - 1
    assert len(body(0)) == wire.MAX_FRAME == 1_048_577
    with pytest.raises(FrameTooLarge) as failure:
        body(-1)
    assert failure.value.size == wire.MAX_FRAME + 1


@pytest.mark.limit("protocols/agency/encode.FREE_DEPTH")
def test_a_value_too_deep_for_a_peer_is_replaced() -> None:
    deep: Any = 1
    for _ in range(FREE_DEPTH):
        deep = [deep]
    assert written(deep) == "[" * FREE_DEPTH + "1" + "]" * FREE_DEPTH
    assert json.loads(written([deep])) == {"note": "nested too deeply", "truncated": True}
    for _ in range(100_000):
        deep = {"a": deep}
    assert json.loads(written(deep))["truncated"]
    decode_server(encode_event("r", 1, w.ToolCall("t", deep)))


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1


def whole(depth: int) -> tuple[list[bytes], list[bytes]]:
    """Frames of either side whose free-form value makes them `depth` deep altogether."""
    two, three = nested(depth - 2), nested(depth - 3)
    deep = {"a": nested(depth - 4)}
    request = attrs.evolve(REQUEST, metadata={"a": nested(depth - 3)})
    snapshot = attrs.evolve(SNAPSHOT, metadata={"a": nested(depth - 3)})
    account = wire.ProviderAccountUsage("codex", True, three)
    client = [encode_client(wire.ClientFrame(1, wire.StartRun("r", request, "k")))]
    return client, [
        encode_response(1, wire.RunAnswer(snapshot)),
        encode_response(1, wire.Runs((attrs.evolve(snapshot, metadata=deep),))),
        encode_response(1, wire.AccountUsage((account,))),
        *(encode_event("r", 1, kind(two)) for kind in (w.Finished, w.Usage, w.Commands)),
        encode_event("r", 1, w.ToolCall("t", three)),
        encode_event("r", 1, w.ApprovalRequested("a", "t", three)),
    ]


def test_a_document_as_deep_as_a_peer_takes_is_written_whole() -> None:
    """As the genuine types write it (`just interop agency-rust`)."""
    client, server = whole(127)
    for frame in (*client, *server):
        assert b"nested too deeply" not in frame
    for frame in client:
        assert isinstance(decode_client(frame, 3), wire.ClientFrame)
    for frame in server:
        decode_server(frame)
    client, server = whole(128)
    for frame in (*client, *server):
        assert b"nested too deeply" in frame


def test_a_snapshot_s_size_is_that_of_its_text() -> None:
    assert snapshot_size(SNAPSHOT) == len(SNAPSHOT_TEXT) + 1
    longer = attrs.evolve(SNAPSHOT, metadata={"é": "\n"})
    assert snapshot_size(longer) == len(SNAPSHOT_TEXT) + 1 + len('"é":"\\n"'.encode())


@given(st.text(), st.integers(0, 2**64 - 1), st.text())
def test_any_text_comes_back(run: str, sequence: int, text: str) -> None:
    frame = w.EventFrame(run, sequence, w.Text(text))
    assert decode_server(encode_server(frame)) == frame
