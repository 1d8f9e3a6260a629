"""The messages, named as the protocol names them: an envelope, and what methods carry (W 4-11)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from fleetgate.core.json import Json
from fleetgate.core.values import value
from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.structs import field
from fleetgate.protocols.strict import U64

VERSION: Final = 1
SUBPROTOCOL: Final = "kodelet.runner.v1.jsonrpc"
ENDPOINT: Final = "/api/runner/v1/connect"
MAX_MESSAGE: Final = 4 * 1024 * 1024
"""Bytes of a message, both ways (W 3)."""

LONGEST_TEXT: Final = 64 * 1024
"""Bytes of a runner's text that are kept: what an event may hold, however it is carried on."""


def cut(text: str, limit: int = LONGEST_TEXT) -> str:
    """As much of the text as fits into `limit` bytes of UTF-8, at a character's boundary."""
    if len(text) <= (limit if text.isascii() else limit // 4):
        return text
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


ZERO_TIME: Final = "0001-01-01T00:00:00Z"


class _Absent:
    """No params at all, which is not null (W 6.3)."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


# --- the envelope


@value
class Request:
    """Wants an answer under its id."""

    id: str
    method: str
    params: Any = None


@value
class Notification:
    """Wants none."""

    method: str
    params: Any = None


@value
class Success:
    """What a request came to."""

    id: str
    result: Any = None


@value
class Failure:
    """Why a request came to nothing."""

    id: str
    error: RpcError


Response: TypeAlias = Success | Failure
Message: TypeAlias = Request | Notification | Success | Failure


@value
class OperationCancel:
    request_id: str = ""


# --- registration and liveness


@value
class Host:
    instance_id: str = ""
    hostname: str = ""
    os: str = ""
    arch: str = ""
    pid: int = field(0, omit=True)


@value
class Workspace:
    path: str = ""
    name: str = ""


@value
class RunnerCapabilities:
    concurrent_runs: bool = field(False, omit=True)
    workspace_git_diff: bool = field(False, omit=True)
    workspace_terminal: bool = field(False, omit=True)


@value
class Register:
    protocol_versions: tuple[int, ...] | None = None
    runner_id: str = field("", omit=True)
    display_name: str = field("", omit=True)
    host: Host = Host()
    workspace: Workspace = Workspace()
    capabilities: RunnerCapabilities = RunnerCapabilities()
    kodelet_version: str = ""
    manifest_digest: str = field("", omit=True)


@value
class Registered:
    runner_id: str = ""
    protocol_version: int = 0
    connection_id: str = ""
    generation: int = 0
    heartbeat_interval_ms: int = 0


@value
class Heartbeat:
    runner_id: str = ""
    generation: int = 0
    state: str = ""
    active_run_id: str = field("", omit=True)
    active_run_ids: tuple[str, ...] | None = field(None, omit=True)
    manifest_digest: str = field("", omit=True)


@value
class ManifestChanged:
    runner_id: str = ""
    generation: int = 0
    manifest_digest: str = ""


@value
class Goodbye:
    runner_id: str = ""
    generation: int = 0
    reason: str = field("", omit=True)


# --- runs


@value
class Agent:
    provider: str = ""
    model: str = ""
    profile: str = field("", omit=True)
    environment_profile: str = field("", omit=True)
    recipe_name: str = field("", omit=True)
    invoked_by: str = field("", omit=True)


@value
class ClientCapabilities:
    interactive_ui: bool = field(False, name="interactiveUI")
    persistent_surfaces: bool = False


@value
class RunOpen:
    run_id: str = ""
    conversation_id: str = ""
    agent: Agent = Agent()
    client_capabilities: ClientCapabilities = ClientCapabilities()
    reserved_tool_names: tuple[str, ...] | None = None


@value
class RunClose:
    run_id: str = ""


@value
class RunCancel:
    run_id: str = ""
    reason: str = field("", omit=True)


@value
class EnvironmentReport:
    run_id: str = ""
    message: str = ""


@value
class CommandExecute:
    run_id: str = ""
    message: str = ""


@value
class CommandResult:
    matched: bool = False
    action: str = field("", omit=True)
    command_name: str = field("", omit=True)
    response: str = field("", omit=True)
    prompt: str = field("", omit=True)
    display: str = field("", omit=True)
    display_override: bool = field(False, omit=True)
    recipe_name: str = field("", omit=True)
    allowed_tools: tuple[str, ...] | None = field(None, omit=True)
    allowed_commands: tuple[str, ...] | None = field(None, omit=True)


# --- tools


@value
class Structured:
    tool_name: str = ""
    success: bool = False
    error: str = field("", omit=True)
    metadata_type: str = field("", omit=True)
    metadata: Json = field(None, omit=True)
    timestamp: str = ZERO_TIME


@value
class ContentPart:
    """A text or an image for the model."""

    type: str = ""
    text: str = field("", omit=True)
    image_url: str = field("", omit=True, name="image_url")
    mime_type: str = field("", omit=True, name="mime_type")
    detail: str = field("", omit=True)


@value
class ToolResult:
    assistant_facing: str = ""
    display_output: str = field("", omit=True)
    error: str = field("", omit=True)
    structured: Structured = Structured()
    content_parts: tuple[ContentPart, ...] | None = field(None, omit=True)


@value
class ToolExecute:
    run_id: str = ""
    tool_call_id: str = ""
    name: str = ""
    input: Json = None
    want_updates: bool = field(False, omit=True)


@value
class ToolExecuted:
    input: Json = None
    result: ToolResult = ToolResult()
    modified: bool = field(False, omit=True)


@value
class ToolUpdate:
    run_id: str = ""
    tool_call_id: str = ""
    request_id: str = ""
    sequence: U64 = 0
    result: ToolResult = ToolResult()
    modified: bool = field(False, omit=True)


@value
class Lifecycle:
    """`lifecycle.dispatch`."""

    run_id: str = ""
    event: str = ""
    message: str = field("", omit=True)
    turn_number: int = field(0, omit=True)
    system_prompt: str = field("", omit=True)
    allowed_tools: tuple[str, ...] | None = field(None, omit=True)
    final_output: str = field("", omit=True)
    turn_count: int = field(0, omit=True)
    messages: Json = field(None, omit=True)
    tool_name: str = field("", omit=True)
    tool_input: Json = field(None, omit=True)
    tool_call_id: str = field("", omit=True)
    structured_result: Structured | None = field(None, omit=True)


@value
class LifecycleResult:
    message: str = field("", omit=True)
    system_prompt: str = field("", omit=True)
    allowed_tools: tuple[str, ...] | None = field(None, omit=True)
    tool_input: Json = field(None, omit=True)
    structured_result: Structured | None = field(None, omit=True)


# --- the UI proxy


@value
class Owner:
    extension_id: str = ""
    generation: U64 = 0


@value
class UiCall:
    """What every `ui.*` request carries."""

    run_id: str = ""
    owner: Owner = Owner()
    request: Json = None


@value
class Question:
    """The request of `ui.input`, `ui.confirm`, `ui.select` and `ui.notify`."""

    id: str = field("", omit=True)
    title: str = ""
    help_text: str = field("", omit=True)
    message: str = field("", omit=True)
    placeholder: str = field("", omit=True)
    default_value: str = field("", omit=True)
    options: tuple[str, ...] | None = field(None, omit=True)
    confirm_button_text: str = field("", omit=True)
    submit_button_text: str = field("", omit=True)
    cancel_button_text: str = field("", omit=True)
    required: bool = field(False, omit=True)
    secret: bool = field(False, omit=True)


@value
class UiResponse:
    status: str = ""
    value: str = field("", omit=True)
    confirmed: bool = field(False, omit=True)
    reason: str = field("", omit=True)


@value
class FrameResponse:
    accepted: bool = False
    latest_sequence: U64 = 0
    reason: str = field("", omit=True)


@value
class TranscriptResponse:
    accepted: bool = False
    reason: str = field("", omit=True)


@value
class SurfaceNotice:
    """`ui.surface.input` and `ui.surface.resize`, from a control plane."""

    run_id: str = ""
    owner: Owner = Owner()
    lifecycle: U64 = 0
    request: Json = None
