"""MCP: the envelope and the tools (cases g53, g55, g61)."""

import json
from typing import Any

import pytest

from fleetgate.protocols.agency import mcp

KEY = "k" * 32
NOT_MCP: Any = {
    "error": {
        "code": -32600,
        "message": "This WebSocket accepts MCP JSON-RPC 2.0 frames only",
    },
    "id": None,
    "jsonrpc": "2.0",
}


def refused(text: str) -> Any:
    with pytest.raises(mcp.Refused) as caught:
        mcp.read_call(text.encode())
    return json.loads(mcp.failure(caught.value))


@pytest.mark.parametrize(
    "text", ['{"method":1,"seq":1,"params":{}}', "{nope", "[]", "5", "", '{"jsonrpc":"1.0"}']
)
def test_case_g53_what_is_no_mcp_is_told_so(text: str) -> None:
    assert refused(text) == NOT_MCP


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0"}',
        '{"jsonrpc":"2.0","id":1,"method":1}',
        '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        '{"jsonrpc":"2.0","id":true,"method":"ping"}',
        '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    ],
)
def test_what_is_no_request_has_no_id_in_its_error(text: str) -> None:
    answer = refused(text)
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    ("id", "wanted"), [('"a"', True), ("5", True), ("null", False), (None, False)]
)
def test_an_id_is_text_or_a_number_and_without_one_nothing_is_answered(
    id: str | None, wanted: bool
) -> None:
    member = "" if id is None else f'"id":{id},'
    call = mcp.read_call(f'{{"jsonrpc":"2.0",{member}"method":"ping"}}'.encode())
    assert (call.method, call.wanted) == ("ping", wanted)


def test_case_g55_eleven_tools_and_none_that_stops_the_daemon() -> None:
    assert [tool.name for tool in mcp.TOOLS] == [
        "list_runs",
        "read_run",
        "start_run",
        "inject_message",
        "decide_approval",
        "cancel_run",
        "acknowledge_run",
        "probe_providers",
        "read_account_usage",
        "subscribe_run",
        "unsubscribe_run",
    ]
    assert not any("shutdown" in tool.name for tool in mcp.TOOLS)
    for tool in mcp.TOOLS:
        listed: Any = tool.listed()
        schema = listed["inputSchema"]
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False


def tool_call(params: Any) -> mcp.Call:
    return mcp.Call("tools/call", params, 7, True)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (None, "requires a string `name`"),
        ({"name": 1}, "requires a string `name`"),
        ({"name": "shutdown"}, "Unknown tool: shutdown"),
        ({"name": "read_run"}, "Invalid params: runId: missing field"),
        ({"name": "list_runs", "arguments": None}, "Invalid params: arguments"),
    ],
)
def test_calls_that_are_refused(params: Any, text: str) -> None:
    with pytest.raises(mcp.Refused, match=text) as caught:
        mcp.read_tool(tool_call(params))
    assert (caught.value.code, caught.value.id) == (-32602, 7)


def test_arguments_have_the_socket_protocol_s_names_and_extras_are_passed_over() -> None:
    tool, asked = mcp.read_tool(
        tool_call({"name": "read_run", "arguments": {"runId": "r", "more": 1}})
    )
    assert asked == {"run_id": "r", "after_sequence": 0}
    frame = mcp.request_frame(3, tool, asked)
    assert frame == b'\0{"after_sequence":0,"requestId":3,"run_id":"r","type":"attach_run"}'


@pytest.mark.parametrize(
    ("code", "number", "kind"),
    [
        ("conflict", 100409, "Conflict"),
        ("not_found", 100404, "NotFound"),
        ("protocol_violation", 100400, "BadRequest"),
        ("internal", 100500, "InternalError"),
    ],
)
def test_failures_of_tools(code: str, number: int, kind: str) -> None:
    result = json.loads(mcp.failed(1, code, "why"))["result"]
    assert result["isError"] is True
    assert result["content"] == [{"text": "why", "type": "text"}]
    assert result["structuredContent"]["error"] == {
        "appCode": number,
        "kind": kind,
        "params": {"message": "why"},
    }


def test_keys_are_sorted() -> None:
    assert mcp.succeeded("a", {"b": 1, "a": 2}) == (
        b'{"id":"a","jsonrpc":"2.0","result":{"content":[{"text":"{\\"a\\":2,\\"b\\":1}",'
        b'"type":"text"}],"isError":false,"structuredContent":{"a":2,"b":1}}}'
    )


@pytest.mark.limit("protocols/agency/mcp.KEY_LENGTH")
@pytest.mark.parametrize(
    ("offered", "key"),
    [
        (f"agency-proxy.{KEY}", KEY),
        (f"mcp, agency-proxy.{KEY} , x", KEY),
        (f"agency-proxy.{KEY[1:]}", None),
        (f"agency-proxy.{KEY}!", None),
        (KEY, None),
        ("", None),
    ],
)
def test_case_g61_a_key_has_32_url_safe_characters(offered: str, key: str | None) -> None:
    assert mcp.key_of(offered) == key
