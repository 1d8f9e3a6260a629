"""Frames to messages: table 1.1, the rules of section 2, and cases A, C and D."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.json import Json
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.codec import decode_client, decode_server, texts_of, wrong
from fleetgate.protocols.agency.encode import (
    encode_client,
    encode_server,
    encode_texts,
    text_head,
)
from fleetgate.protocols.agency.testing import CLIENT_FRAMES, SERVER_FRAMES
from fleetgate.protocols.api import Close, RemoteProtocolError

LIST = '{"requestId":2,"type":"list_runs"}'
REQ = (
    '{"provider":"claude","model":"","prompt":"p","permission":"plan","approvals":false,'
    '"interactive":false,"workspaceRoots":[]}'
)


def text(document: str) -> bytes:
    return b"\0" + document.encode()


def start(request: str) -> bytes:
    return text(
        f'{{"requestId":1,"type":"start_run","run_id":"r","request":{request},'
        '"idempotency_key":"k"}'
    )


def event(document: str) -> bytes:
    return text(f'{{"kind":"event","run_id":"r","sequence":1,"event":{document}}}')


# --- table 1.1: a daemon


def test_binary_that_is_utf8_counts_as_text() -> None:
    assert decode_client(b"\x01" + LIST.encode(), 3) == wire.ClientFrame(2, wire.ListRuns())


@pytest.mark.parametrize("frame", [b"\x04", b"\x04\x03\xe8", b"\x04\x03\xe8bye"])
def test_a_close_frame_is_a_clean_end(frame: bytes) -> None:
    assert decode_client(frame, 3) == wire.PeerCloses()
    assert decode_server(frame) == wire.PeerCloses()


DROPPED = [
    (b"\x01\xff", "expected a JSON text frame"),
    (b"\x02", "expected a JSON text frame"),
    (b"\x02hi", "expected a JSON text frame"),
    (b"\x03", "expected a JSON text frame"),
    (b"\x00\xff", "byte 0 is not"),
    (b"\x04x", "malformed close frame"),
    (b"\x05", "unknown frame kind: 5"),
    (b"\x09" + LIST.encode(), "unknown frame kind: 9"),
    (b"\xff", "unknown frame kind: 255"),
    (b"", "empty frame"),
    (b"\x00", "not JSON"),
    (b"\x00" + b" " * wire.MAX_FRAME, "1048577 are allowed"),
    (text("{nope"), "not JSON"),
    (text("[]"), "expected an object"),
    (text("null"), "expected an object"),
    (text('{"requestId":1}'), "type is missing"),
    (text('{"type":"list_runs"}'), "requestId is missing"),
    (text('{"requestId":1,"type":"nope"}'), "type is unknown"),
    (text('{"requestId":1,"type":3}'), "type: expected a string"),
    (text('{"requestId":1,"type":{"list_runs":null}}'), "type: expected a string"),
    (text('[1,"list_runs"]'), "expected an object"),
    (text(LIST + LIST), "not JSON"),
    (text("\ufeff" + LIST), "not JSON"),
]


@pytest.mark.parametrize(("frame", "why"), DROPPED)
def test_what_drops_the_link_drops_it_without_a_word(frame: bytes, why: str) -> None:
    with pytest.raises(RemoteProtocolError, match=why) as failure:
        decode_client(frame, 3)
    assert failure.value.steps == (Close(None, str(failure.value)),)


@pytest.mark.limit("protocols/agency/wire.MAX_TEXT")
def test_a_frame_of_exactly_the_limit_is_taken() -> None:
    padded = LIST.encode() + b" " * (wire.MAX_TEXT - len(LIST))
    assert len(padded) == 1_048_576
    assert decode_client(b"\0" + padded, 3) == wire.ClientFrame(2, wire.ListRuns())


# --- table 1.1: a client (case 7)


@pytest.mark.parametrize("frame", [b"\x02", b"\x02abc", b"\x03", b"\x01\xff\xfe"])
def test_case_a7_a_client_passes_over_what_is_not_text(frame: bytes) -> None:
    assert decode_server(frame) is None


@pytest.mark.parametrize("frame", [b"", b"\x05", b"\x04x", b"\x00\xff", text("{}"), text("[]")])
def test_a_client_ends_on_what_it_cannot_read(frame: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_server(frame)


def test_a_client_takes_binary_that_is_text() -> None:
    frame = b"\x01" + SERVER_FRAMES[6][1:]
    assert decode_server(frame) == wire.Response(7, wire.Accepted())


# --- client frames, accepted


def again(document: str, minor: int = 3) -> str:
    frame = decode_client(text(document), minor)
    assert isinstance(frame, wire.ClientFrame)
    return encode_client(frame)[1:].decode()


def test_case_c15_keys_come_in_any_order_and_go_out_in_theirs() -> None:
    assert (
        again('{"version":{"major":0,"minor":3},"client_name":"x","type":"hello","requestId":1}')
        == '{"requestId":1,"type":"hello","client_name":"x","version":{"major":0,"minor":3}}'
    )


def test_case_c17_the_largest_numbers_stay_whole() -> None:
    document = (
        '{"requestId":18446744073709551615,"type":"attach_run","run_id":"",'
        '"after_sequence":9007199254740993}'
    )
    assert again(document) == document


def test_case_c19_free_form_numbers_and_key_order() -> None:
    given = '{"z":{"b":1,"a":[1.0,2,1e3,-0,12345678901234567890]},"a":null}'
    wanted = '{"a":null,"z":{"a":[1.0,2,1000.0,-0.0,12345678901234567890],"b":1}}'
    frame = decode_client(start(REQ[:-1] + f',"metadata":{given}}}'), 3)
    assert isinstance(frame, wire.ClientFrame)
    assert f'"metadata":{wanted}'.encode() in encode_client(frame)


def test_the_smallest_request() -> None:
    frame = decode_client(start(REQ), 3)
    request = wire.RunRequest("claude", "", "p", "plan", False, False, ())
    assert frame == wire.ClientFrame(1, wire.StartRun("r", request, "k"))


OPTIONAL = ("system", "effort", "extraThinking", "resumeSessionId", "binary")
DEFAULTED = ("isCommand", "environment", "uncheckedArgs", "metadata")


@pytest.mark.parametrize("key", OPTIONAL)
def test_an_optional_member_may_be_null(key: str) -> None:
    decode_client(start(f'{REQ[:-1]},"{key}":null}}'), 3)


@pytest.mark.parametrize("key", DEFAULTED)
def test_a_member_with_a_default_may_not(key: str) -> None:
    with pytest.raises(RemoteProtocolError, match="null came"):
        decode_client(start(f'{REQ[:-1]},"{key}":null}}'), 3)


def test_a_key_in_the_wrong_style_is_an_unknown_key() -> None:
    frame: Any = decode_client(start(REQ[:-1] + ',"is_command":true,"uncheckedArgs":["a"]}'), 3)
    assert not frame.message.request.is_command
    assert frame.message.request.unchecked_args == ("a",)


def test_unit_messages_take_extra_keys() -> None:
    for name in ("list_runs", "probe_providers", "read_account_usage", "shutdown_if_idle"):
        decode_client(text(f'{{"requestId":1,"type":"{name}","mode":[],"run_id":null}}'), 3)


def test_repeated_keys_known_unknown_and_free() -> None:
    decode_client(text('{"requestId":1,"type":"list_runs","x":1,"x":2}'), 3)
    frame: Any = decode_client(
        start(REQ[:-1] + ',"environment":{"A":"1","A":"2"},"metadata":{"m":{"a":1,"a":2}}}'), 3
    )
    assert frame.message.request.environment == {"A": "2"}
    assert frame.message.request.metadata == {"m": {"a": 2}}
    for document in (
        '{"requestId":1,"requestId":1,"type":"list_runs"}',
        '{"requestId":1,"type":"list_runs","type":"list_runs"}',
        '{"requestId":1,"type":"detach_run","run_id":"a","run_id":"a"}',
        '{"requestId":1,"type":"hello","client_name":"x","version":{"major":0,"major":0,"minor":3}}',
    ):
        with pytest.raises(RemoteProtocolError, match="came more than once"):
            decode_client(text(document), 3)


def test_interrupt_session_is_known_from_minor_4_on() -> None:
    document = (
        '{"requestId":8,"type":"interrupt_session","provider":"codex","session_id":"thread-8",'
        '"binary":null,"idempotency_key":"k"}'
    )
    assert again(document, 4) == document
    with pytest.raises(RemoteProtocolError, match="type is unknown"):
        decode_client(text(document), 3)


# --- client frames, refused

C21 = ["null", '"1"', "1.0", "1e0", "-1", "-0", "01", "18446744073709551616", "true"]


@pytest.mark.parametrize("number", C21)
def test_case_c21_a_request_id_is_a_whole_number(number: str) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_client(text(f'{{"requestId":{number},"type":"list_runs"}}'), 3)


C23 = [
    '"run_id":"r"',
    '"run_id":"r","after_sequence":null',
    '"run_id":"r","after_sequence":"1"',
    '"run_id":"r","after_sequence":1.0',
    '"run_id":"r","after_sequence":-1',
    '"run_id":"r","after_sequence":true',
    '"runId":"r","after_sequence":1',
    '"run_id":"r","afterSequence":1',
    '"run_id":7,"after_sequence":1',
    '"run_id":["r"],"after_sequence":1',
]


@pytest.mark.parametrize("members", C23)
def test_case_c23_attach_wants_a_run_and_a_sequence(members: str) -> None:
    decode_client(text('{"requestId":1,"type":"attach_run","run_id":"r","after_sequence":1}'), 3)
    with pytest.raises(RemoteProtocolError):
        decode_client(text(f'{{"requestId":1,"type":"attach_run",{members}}}'), 3)


C25 = [
    ("approvals", None),
    ("interactive", None),
    ("workspaceRoots", None),
    ("model", "null"),
    ("isCommand", "null"),
    ("environment", "null"),
    ("environment", '{"A":1}'),
    ("environment", "[]"),
    ("approvals", "1"),
    ("extraThinking", '"yes"'),
    ("workspaceRoots", '"/w"'),
    ("workspaceRoots", "[1]"),
    ("metadata", "[]"),
]


@pytest.mark.parametrize(("key", "value"), C25)
def test_case_c25_a_run_request_is_strict(key: str, value: str | None) -> None:
    members = {k: json.dumps(v) for k, v in json.loads(REQ).items()}
    if value is None:
        del members[key]
    else:
        members[key] = value
    document = "{" + ",".join(f'"{k}":{v}' for k, v in members.items()) + "}"
    with pytest.raises(RemoteProtocolError, match=key):
        decode_client(start(document), 3)


@pytest.mark.parametrize(
    "members",
    [
        '"type":"shutdown"',
        '"type":"shutdown","mode":"now"',
        '"type":"shutdown","mode":{"drain":null}',
        '"type":"inject_message","run_id":"r","body":"b"',
        '"type":"decide_approval","run_id":"r","approval_id":"a","decision":"maybe",'
        '"idempotency_key":"k"',
        '"type":"hello","client_name":"x","version":[0,3]',
        '"type":"hello","client_name":"x","version":{"major":0,"minor":65536}',
        '"type":"hello","version":{"major":0,"minor":3}',
    ],
)
def test_unknown_values_and_missing_members_are_refused(members: str) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_client(text(f'{{"requestId":1,{members}}}'), 3)


# --- server frames


def test_case_d27_a_response_takes_extra_keys() -> None:
    frame = decode_server(
        text('{"request_id":1,"type":"accepted","kind":"response","payload":null}')
    )
    assert isinstance(frame, wire.Response)
    assert encode_server(frame) == text('{"kind":"response","request_id":1,"type":"accepted"}')


@pytest.mark.parametrize(
    "document",
    [
        '{"kind":"response","requestId":1,"type":"accepted"}',
        '{"kind":"response","type":"accepted"}',
        '{"kind":"response","request_id":1.0,"type":"accepted"}',
        '{"kind":"response","request_id":1,"type":"error","code":"teapot","message":"m"}',
        '{"kind":"response","request_id":1,"type":"error","code":"internal"}',
        '{"kind":"response","request_id":1,"type":"perhaps"}',
        '{"kind":"request","request_id":1,"type":"accepted"}',
        '{"request_id":1,"type":"accepted"}',
        '{"kind":"response","kind":"response","request_id":1,"type":"accepted"}',
    ],
)
def test_case_d27_a_response_that_is_none_is_refused(document: str) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_server(text(document))


@pytest.mark.parametrize(
    "document",
    [
        '{"kind":"event","run_id":"r","sequence":1,"event":{"type":"text","payload":"x"},'
        '"type":1,"type":2,"request_id":3,"request_id":4}',
        '{"kind":"response","request_id":1,"type":"accepted","event":1,"event":2,'
        '"run_id":3,"run_id":4,"sequence":5,"sequence":6}',
    ],
)
def test_a_key_that_means_nothing_in_this_frame_may_be_repeated(document: str) -> None:
    """The genuine types pass over it (`just interop agency-rust`)."""
    assert decode_server(text(document)) is not None


def test_case_d29_text() -> None:
    frame = decode_server(event('{"payload":"x","ts":1,"type":"text"}'))
    assert isinstance(frame, w.EventFrame)
    assert encode_server(frame) == event('{"type":"text","payload":"x"}')
    for document in (
        '{"type":"text"}',
        '{"type":"text","payload":null}',
        '{"type":"text","payload":5}',
        '{"type":"text","payload":"a","payload":"b"}',
    ):
        with pytest.raises(RemoteProtocolError):
            decode_server(event(document))


def test_case_d31_session_opened() -> None:
    frame = decode_server(event('{"type":"session_opened","payload":{"provider_session_id":"s"}}'))
    assert isinstance(frame, w.EventFrame)
    assert encode_server(frame) == event(
        '{"type":"session_opened","payload":{"provider_session_id":"s","model":null}}'
    )
    with pytest.raises(RemoteProtocolError, match="provider_session_id is missing"):
        decode_server(event('{"type":"session_opened","payload":{"providerSessionId":"s"}}'))


def snapshot(members: str) -> bytes:
    return text(f'{{"kind":"response","request_id":1,"type":"run","run":{members}}}')


def test_case_d33_a_snapshot_without_session_and_metadata() -> None:
    members = (
        '{"runId":"r","state":"running","provider":"claude","model":"","latestSequence":1,'
        '"acknowledgedSequence":0,"workspaceRoots":[]}'
    )
    frame: Any = decode_server(snapshot(members))
    assert frame.response.run.provider_session_id is None
    assert frame.response.run.metadata == {}
    with pytest.raises(RemoteProtocolError, match="runId is missing"):
        decode_server(snapshot(members.replace("runId", "run_id")))
    with pytest.raises(RemoteProtocolError, match="state"):
        decode_server(snapshot(members.replace("running", "lost")))


@pytest.mark.parametrize(
    ("document", "good"),
    [
        ('{"type":"message_boundary"}', True),
        ('{"type":"message_boundary","payload":null}', True),
        ('{"type":"message_boundary","payload":{}}', False),
        ('{"type":"message_boundary","payload":"x"}', False),
        ('{"type":"usage"}', False),
        ('{"type":"usage","payload":null}', True),
        ('{"type":"tool_call","payload":{"name":"Bash"}}', False),
        ('{"type":"tool_call","payload":{"name":"Bash","input":null}}', True),
        ('{"type":"state_changed","payload":"sleeping"}', False),
        ('["text","x"]', False),
    ],
)
def test_payloads_that_may_and_may_not_be_missing(document: str, good: bool) -> None:
    if good:
        decode_server(event(document))
    else:
        with pytest.raises(RemoteProtocolError):
            decode_server(event(document))


def test_an_event_of_a_later_version_is_kept_and_not_fatal() -> None:
    frame = decode_server(event('{"type":"weather","payload":{"sun":true}}'))
    assert frame == w.EventFrame("r", 1, w.UnknownEvent("weather", {"sun": True}))


def test_capabilities_of_a_later_version_are_taken() -> None:
    """Where the genuine client dies (section 9.3)."""
    frame: Any = decode_server(
        text(
            '{"kind":"response","request_id":1,"type":"hello","server_name":"s",'
            '"version":{"major":0,"minor":9},"capabilities":["event_replay","telepathy"]}'
        )
    )
    assert frame.response.capabilities == ("event_replay", "telepathy")


@pytest.mark.parametrize("number", ["1.0", "-1", "true", "null", '"1"', "18446744073709551616"])
def test_a_sequence_is_a_whole_number(number: str) -> None:
    with pytest.raises(RemoteProtocolError, match="sequence"):
        decode_server(
            text(
                f'{{"kind":"event","run_id":"r","sequence":{number},'
                '"event":{"type":"text","payload":""}}'
            )
        )


@pytest.mark.parametrize("levels", [125, 126])
def test_an_event_s_payload_may_be_125_deep(levels: int) -> None:
    document = event('{"type":"usage","payload":' + "[" * levels + "]" * levels + "}")
    if levels == 125:
        decode_server(document)
    else:
        with pytest.raises(RemoteProtocolError, match="127 objects"):
            decode_server(document)


# --- properties

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
TEXT = st.text(max_size=20)
U64 = st.integers(0, 2**64 - 1)
VERSION = st.builds(wire.ProtocolVersion, st.integers(0, 65535), st.integers(0, 65535))
STRINGS = st.lists(TEXT, max_size=3).map(tuple)
FREE = st.dictionaries(TEXT, JSON, max_size=3)
MAYBE = st.none() | TEXT

REQUESTS = st.builds(
    wire.RunRequest,
    TEXT,
    TEXT,
    TEXT,
    TEXT,
    st.booleans(),
    st.booleans(),
    STRINGS,
    is_command=st.booleans(),
    system=MAYBE,
    effort=MAYBE,
    extra_thinking=st.none() | st.booleans(),
    resume_session_id=MAYBE,
    binary=MAYBE,
    environment=st.dictionaries(TEXT, TEXT, max_size=3),
    unchecked_args=STRINGS,
    metadata=FREE,
)
MESSAGES = st.one_of(
    st.builds(wire.Hello, TEXT, VERSION),
    st.builds(wire.ListRuns),
    st.builds(wire.ProbeProviders),
    st.builds(wire.ReadAccountUsage),
    st.builds(wire.ShutdownIfIdle),
    st.builds(wire.Shutdown, st.sampled_from(wire.ShutdownMode)),
    st.builds(wire.StartRun, TEXT, REQUESTS, TEXT),
    st.builds(wire.AttachRun, TEXT, U64),
    st.builds(wire.DetachRun, TEXT),
    st.builds(wire.InjectMessage, TEXT, TEXT, TEXT),
    st.builds(wire.CancelRun, TEXT, TEXT),
    st.builds(wire.DecideApproval, TEXT, TEXT, st.sampled_from(wire.ApprovalDecision), TEXT),
    st.builds(wire.AckEvents, TEXT, U64),
    st.builds(wire.InterruptSession, TEXT, TEXT, TEXT, binary=MAYBE),
)
SNAPSHOTS = st.builds(
    wire.RunSnapshot,
    TEXT,
    st.sampled_from(wire.RunState),
    TEXT,
    TEXT,
    U64,
    U64,
    STRINGS,
    provider_session_id=MAYBE,
    metadata=FREE,
)
STATUSES = st.builds(
    wire.ProviderStatus,
    TEXT,
    st.booleans(),
    st.booleans(),
    TEXT,
    TEXT,
    TEXT,
    version=MAYBE,
    auth_method=MAYBE,
    account=MAYBE,
    plan=MAYBE,
)
USAGES = st.builds(wire.ProviderAccountUsage, TEXT, st.booleans(), JSON, MAYBE)
RESPONSES = st.one_of(
    st.builds(wire.HelloAnswer, TEXT, VERSION, STRINGS),
    st.builds(wire.Runs, st.lists(SNAPSHOTS, max_size=2).map(tuple)),
    st.builds(wire.Providers, st.lists(STATUSES, max_size=2).map(tuple)),
    st.builds(wire.AccountUsage, st.lists(USAGES, max_size=2).map(tuple)),
    st.builds(wire.RunAnswer, SNAPSHOTS),
    st.builds(wire.Accepted),
    st.builds(wire.SessionInterrupted, st.booleans()),
    st.builds(wire.Error, st.sampled_from(wire.ErrorCode), TEXT),
)
EVENTS = st.one_of(
    st.builds(w.Text, TEXT),
    st.builds(w.Reasoning, TEXT),
    st.builds(w.Failed, TEXT),
    st.builds(w.ErrorEvent, TEXT),
    st.builds(w.MessageBoundary),
    st.builds(w.StateChanged, st.sampled_from(wire.RunState)),
    st.builds(w.SessionOpened, TEXT, MAYBE),
    st.builds(w.ToolCall, TEXT, JSON, id=MAYBE),
    st.builds(w.ToolResult, TEXT, id=MAYBE, ok=st.none() | st.booleans()),
    st.builds(w.ApprovalRequested, TEXT, TEXT, JSON),
    *(st.builds(kind, JSON) for kind in (w.Finished, w.Usage, w.RateLimit)),
    *(st.builds(kind, JSON) for kind in (w.Compaction, w.Commands)),
)


@given(U64, MESSAGES)
def test_every_request_survives_the_wire(id: int, message: wire.ClientMessage) -> None:
    frame = wire.ClientFrame(id, message)
    assert decode_client(encode_client(frame), 4) == frame


@given(U64, RESPONSES)
def test_every_response_survives_the_wire(id: int, response: wire.ServerResponse) -> None:
    frame = wire.Response(id, response)
    assert decode_server(encode_server(frame)) == frame


@given(TEXT, U64, EVENTS)
def test_every_event_survives_the_wire(run: str, sequence: int, given_: w.RunEvent) -> None:
    frame = w.EventFrame(run, sequence, given_)
    assert decode_server(encode_server(frame)) == frame


def read_or_refuse(frame: bytes) -> None:
    """Any other exception than a protocol error fails the test."""
    with suppress(RemoteProtocolError):
        decode_client(frame, 4)
    with suppress(RemoteProtocolError):
        decode_server(frame)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_protocol_error(frame: bytes) -> None:
    read_or_refuse(frame)


@given(JSON)
def test_any_json_is_a_message_or_a_protocol_error(value: Json) -> None:
    frame = b"\0" + json.dumps(value).encode()
    read_or_refuse(frame)


@given(st.sampled_from(CLIENT_FRAMES + SERVER_FRAMES), st.data())
def test_a_damaged_frame_is_a_message_or_a_protocol_error(frame: bytes, data: Any) -> None:
    at = data.draw(st.integers(0, len(frame) - 1))
    damaged = frame[:at] + data.draw(st.binary(max_size=4)) + frame[at + 1 :]
    read_or_refuse(damaged)


def test_the_error_s_step_drops_the_link() -> None:
    assert wrong("why").steps == (Close(None, "why"),)


# --- texts, as they are read where many come together

LARGE = (
    "999999999999999999",
    "1000000000000000000",
    "18446744073709551615",
    "18446744073709551616",
)
NUMBERS = st.sampled_from(
    ("0", "1", "01", "-1", "1.0", "1e2", " 1", "1 ", '"1"', "", "null", *LARGE)
)
AROUND = ('"a","payload":"b"', '"a"},"event":{"type":"text","payload":"b"', '"a","more":1')
TEXTS = st.sampled_from(
    (
        '"x"',
        '"\\n"',
        '"\\ud800"',
        '"\udcff"',
        '"é"',
        ' "x"',
        '"x" ',
        '"a"b"',
        "7",
        "null",
        '"\n"',
        *AROUND,
    )
)


@st.composite
def _variants(draw: st.DrawFn) -> bytes:
    """A text of run `r`, as it is written or a little different."""
    text = encode_texts("r", 7, ["plain"])[0]
    match draw(st.sampled_from(["number", "text", "byte", "whole"])):
        case "number":
            return text.replace(b"7", draw(NUMBERS).encode())
        case "text":
            return text.replace(b'"plain"', draw(TEXTS).encode("utf-8", "surrogateescape"))
        case "byte":
            at = draw(st.integers(0, len(text) - 1))
            return text[:at] + draw(st.binary(max_size=1)) + text[at + draw(st.integers(0, 1)) :]
        case _:
            return encode_texts(draw(st.sampled_from(["r", "s"])), 8, [draw(st.text())])[0]


@given(st.lists(_variants(), min_size=1, max_size=4))
def test_texts_that_come_together_are_read_as_each_by_itself(frames: list[bytes]) -> None:
    first = encode_texts("r", 6, ["first"])
    expected: list[tuple[str, int, str]] = []
    for frame in frames:
        try:
            message = decode_server(frame)
        except RemoteProtocolError:
            break
        if not isinstance(message, w.EventFrame) or not isinstance(message.event, w.Text):
            break
        expected.append((message.run_id, message.sequence, message.event.payload))
    assert list(texts_of(first + frames))[1:] == expected
    heads = {text_head(run): run for run in ("r", "s")}
    assert list(texts_of(frames, heads)) == expected
