"""What a daemon speaks on a WebSocket: MCP, which is JSON-RPC 2.0, and eleven tools (section 8).

The envelope and the tools, as text and back. Keys are sorted, as the genuine daemon has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeGuard

import attrs

from fleetgate.core.json import NOTHING, Json
from fleetgate.protocols.agency import wire
from fleetgate.protocols.json_text import Malformed, dump, load

PREFIX: Final = "agency-proxy."
"""What stands before the key among the subprotocols that a client offers."""
KEY_LENGTH: Final = 32
"""Characters that a key has at least."""
VERSION: Final = "2025-06-18"

NOT_MCP: Final = "This WebSocket accepts MCP JSON-RPC 2.0 frames only"
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

Id: TypeAlias = str | int | None

_TEXT: Final[Json] = {"type": "string"}
_COUNT: Final[Json] = {"minimum": 0, "type": "integer"}
_OBJECT: Final[Json] = {"type": "object"}


@attrs.frozen(slots=True)
class Tool:
    """One tool: the request of the socket protocol that it is, and its arguments as that names
    them. `defaults` need not be given."""

    name: str
    description: str
    request: str
    arguments: Mapping[str, tuple[str, Json]] = NOTHING
    defaults: Mapping[str, Json] = NOTHING

    def listed(self) -> Json:
        """As `tools/list` shows it: every argument is said to be required."""
        properties: dict[str, Json] = {name: each[1] for name, each in self.arguments.items()}
        schema: dict[str, Json] = {
            "additionalProperties": False,
            "properties": properties,
            "required": list(properties),
            "type": "object",
        }
        return {"description": self.description, "inputSchema": schema, "name": self.name}


_RUN: Final[Mapping[str, tuple[str, Json]]] = {"runId": ("run_id", _TEXT)}
_FROM: Final = {**_RUN, "afterSequence": ("after_sequence", _COUNT)}
_START: Final[Mapping[str, Json]] = {"afterSequence": 0}

TOOLS: Final = (
    Tool("list_runs", "List the runs", "list_runs"),
    Tool("read_run", "A run, and its events so far", "attach_run", _FROM, _START),
    Tool("start_run", "Start a run", "start_run", {**_RUN, "request": ("request", _OBJECT)}),
    Tool("inject_message", "Tell a run", "inject_message", {**_RUN, "body": ("body", _TEXT)}),
    Tool(
        "decide_approval",
        "Answer an approval",
        "decide_approval",
        {**_RUN, "approvalId": ("approval_id", _TEXT), "decision": ("decision", _TEXT)},
    ),
    Tool("cancel_run", "Cancel a run", "cancel_run", _RUN),
    Tool(
        "acknowledge_run",
        "Acknowledge a run's events",
        "ack_events",
        {**_RUN, "throughSequence": ("through_sequence", _COUNT)},
    ),
    Tool("probe_providers", "What is installed", "probe_providers"),
    Tool("read_account_usage", "What the accounts have used", "read_account_usage"),
    Tool("subscribe_run", "A run, its events, and those to come", "attach_run", _FROM, _START),
    Tool("unsubscribe_run", "No more events of a run", "detach_run", _RUN),
)
"""In the order of their codes."""

BY_NAME: Final = {tool.name: tool for tool in TOOLS}
_KEYED: Final = frozenset({"start_run", "inject_message", "cancel_run", "decide_approval"})
"""Requests with an idempotency key, which MCP has not."""


class Refused(Exception):
    """A message is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str, id: Id = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id


@attrs.frozen(slots=True)
class Call:
    """A message of the client. `wanted`: it is a request, and has an id to answer under."""

    method: str
    params: Json
    id: Id
    wanted: bool


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a JSON object."""
    return isinstance(value, Mapping)


def read_call(text: bytes) -> Call:
    """A message of the client.

    Raises: `Refused`.
    """
    try:
        value = load(text)
    except Malformed:
        raise Refused(INVALID_REQUEST, NOT_MCP) from None
    if not is_object(value) or value.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, NOT_MCP)
    id, method = value.get("id"), value.get("method")
    if not (id is None or type(id) is int or isinstance(id, str)) or not isinstance(method, str):
        raise Refused(INVALID_REQUEST, "Invalid Request")
    return Call(method, value.get("params"), id, id is not None)


def read_tool(call: Call) -> tuple[Tool, dict[str, Json]]:
    """The tool that is called, and its arguments as the socket protocol names them.

    Raises: `Refused`.
    """
    params = call.params
    name = params.get("name") if is_object(params) else None
    if not is_object(params) or not isinstance(name, str):
        raise Refused(INVALID_PARAMS, "tools/call requires a string `name` param", call.id)
    tool = BY_NAME.get(name)
    if tool is None:
        raise Refused(INVALID_PARAMS, f"Unknown tool: {name[:64]}", call.id)
    given = params.get("arguments", {})
    if not is_object(given):
        raise Refused(INVALID_PARAMS, "Invalid params: arguments: expected an object", call.id)
    asked: dict[str, Json] = {}
    for argument, (key, _) in tool.arguments.items():
        if argument in given:
            asked[key] = given[argument]
        elif argument in tool.defaults:
            asked[key] = tool.defaults[argument]
        else:
            text = f"Invalid params: {argument}: missing field"
            raise Refused(INVALID_PARAMS, text, call.id)
    if tool.request in _KEYED:
        asked["idempotency_key"] = ""
    return tool, asked


def request_frame(number: int, tool: Tool, asked: Mapping[str, Json]) -> bytes:
    """The request of the socket protocol that a call is, as a frame."""
    return b"\x00" + dump({**asked, "requestId": number, "type": tool.request}).encode()


# --- answers


def answer(id: Id, result: Json) -> bytes:
    """A result."""
    return dump({"id": id, "jsonrpc": "2.0", "result": result}).encode()


def failure(refused: Refused) -> bytes:
    """An error."""
    error: Json = {"code": refused.code, "message": str(refused)}
    return dump({"error": error, "id": refused.id, "jsonrpc": "2.0"}).encode()


def succeeded(id: Id, result: Json) -> bytes:
    """A tool's result, as text and as it is."""
    content: Json = [{"text": dump(result), "type": "text"}]
    return answer(id, {"content": content, "isError": False, "structuredContent": result})


_KINDS: Final = {
    wire.ErrorCode.CONFLICT.value: (100_409, "Conflict"),
    wire.ErrorCode.NOT_FOUND.value: (100_404, "NotFound"),
    wire.ErrorCode.PROTOCOL_VIOLATION.value: (100_400, "BadRequest"),
}
_INTERNAL: Final = (100_500, "InternalError")


def failed(id: Id, code: str, message: str) -> bytes:
    """A tool that failed: a result that says so."""
    number, kind = _KINDS.get(code, _INTERNAL)
    error: Json = {"appCode": number, "kind": kind, "params": {"message": message}}
    content: Json = [{"text": message, "type": "text"}]
    return answer(id, {"content": content, "isError": True, "structuredContent": {"error": error}})


def event(run_id: str, sequence: int, what: Json) -> bytes:
    """A subscribed run's event."""
    params: Json = {"event": what, "runId": run_id, "sequence": sequence}
    note: Json = {"jsonrpc": "2.0", "method": "notifications/run_event", "params": params}
    return dump(note).encode()


def initialized(id: Id, server: str, version: str) -> bytes:
    """The answer to `initialize`."""
    info: Json = {"name": server, "version": version}
    return answer(
        id, {"capabilities": {"tools": {}}, "protocolVersion": VERSION, "serverInfo": info}
    )


def key_of(offered: str) -> str | None:
    """The key among the subprotocols that a client offers; None where there is none that could be
    one."""
    for item in (each.strip() for each in offered.split(",")):
        key = item.removeprefix(PREFIX)
        if key != item and is_key(key):
            return key
    return None


def is_key(text: str) -> bool:
    """Whether it has the form of a key."""
    plain = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    return len(text) >= KEY_LENGTH and plain
