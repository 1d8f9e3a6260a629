"""The messages, named and laid out as the schema has them (`iop/runtime.proto`, `iop/link.proto`).

Enums are plain numbers here: a peer may send any, and what an unknown one means is for the
receiver to say. A `google.protobuf.Struct` is a JSON object. A message that is not there is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, unique
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.core.json import NOTHING, Json
from fleetgate.core.values import value

MAX_MESSAGE: Final = 4 << 20
"""Bytes of a message, both ways."""

MAX_ID: Final = 256
"""Bytes of a string that is an id."""

CONNECT: Final = "/iop.NodeLink/Connect"
CONTROL: Final = "/iop.EdgeControl/"

STRUCT: Final = "struct"
"""In a member's metadata: its message is a `Struct`."""


def _one(of: Any) -> Any:
    return attrs.field(default=None, metadata={"of": of})


def _many(of: Any = None) -> Any:
    return attrs.field(default=(), metadata={"of": of})


def _table(of: Any = None, *, show: bool = True) -> Any:
    return attrs.field(default=NOTHING, metadata={"of": of}, repr=show)


@unique
class SessionMode(IntEnum):
    """What a run wants of its session. `UNSPECIFIED` means the same as `CREATE_IF_MISSING`."""

    UNSPECIFIED = 0
    CREATE_IF_MISSING = 1
    REQUIRE_EXISTING = 2


@unique
class CancelAction(IntEnum):
    """What a cancel ends. `UNSPECIFIED` means the same as `CANCEL_RUN`."""

    UNSPECIFIED = 0
    CANCEL_RUN = 1
    TERMINATE_SESSION = 2


@unique
class CommandType(IntEnum):
    """What a node is asked."""

    UNSPECIFIED = 0
    USAGE_STATUS = 1


@value
class RunRequest:
    """Execute something on a node."""

    run_id: str = ""
    adapter: str = ""
    target: str = ""
    workspace: str = ""
    policy: Mapping[str, Json] | None = _one(STRUCT)
    input: Mapping[str, Json] | None = _one(STRUCT)
    timeout_sec: int = 0
    metadata: Mapping[str, str] = _table()
    session_id: str = ""
    session_mode: int = 0
    background: bool = False


@value
class Usage:
    """Tokens, cumulative within a run."""

    input_tokens: int = 0
    output_tokens: int = 0


@value
class RunEvent:
    """What has happened in a run. `timestamp` is Unix nanoseconds."""

    run_id: str = ""
    type: str = ""
    delta: str = ""
    message: str = ""
    error: str = ""
    usage: Usage | None = _one(Usage)
    metadata: Mapping[str, str] = _table()
    timestamp: int = 0
    session_id: str = ""
    background: bool = False
    node_id: str = ""


@value
class EdgeNodeEvent:
    """A node came or went, or told something about itself."""

    event_id: str = ""
    type: str = ""
    source: str = ""
    node_id: str = ""
    alias: str = ""
    reason: str = ""
    metadata: Mapping[str, str] = _table()
    timestamp: int = 0


@value
class Heartbeat:
    """A sign of life. `timestamp` is Unix nanoseconds."""

    timestamp: int = 0


@value
class CancelRequest:
    """End a run, or a session."""

    run_id: str = ""
    adapter: str = ""
    target: str = ""
    session_id: str = ""
    action: int = 0


@value
class NodeCommandRequest:
    """A question to a node."""

    request_id: str = ""
    type: int = 0
    adapter: str = ""
    target: str = ""
    session_id: str = ""
    timeout_sec: int = 0
    metadata: Mapping[str, str] = _table()


@value
class AgentUsageStatus:
    """What an account has used, in its provider's words."""

    raw_output: str = ""
    daily_limit: str = ""
    daily_reset_time: str = ""
    weekly_limit: str = ""
    weekly_reset_time: str = ""
    metadata: Mapping[str, str] = _table()


@value
class NodeCommandResponse:
    """The answer to a `NodeCommandRequest`."""

    request_id: str = ""
    type: int = 0
    adapter: str = ""
    target: str = ""
    session_id: str = ""
    usage_status: AgentUsageStatus | None = _one(AgentUsageStatus)
    error: str = ""


@value
class Error:
    """Something was refused, or is wrong with the link."""

    code: str = ""
    message: str = ""


@value
class RegisterRequest:
    """A node's first message."""

    token: str = attrs.field(default="", repr=False)


@value
class CLICompletionMarker:
    """How the end of an answer is told from more of it."""

    line: str = ""
    regex: str = ""


@value
class CLIProfileConfig:
    """One program that the adapter `cli` runs. Times are milliseconds."""

    command: str = ""
    args: tuple[str, ...] = _many()
    env: tuple[str, ...] = attrs.field(default=(), metadata={"of": None}, repr=False)
    persistent: bool = False
    terminal: bool = False
    response_idle_timeout_ms: int = 0
    startup_idle_timeout_ms: int = 0
    output_format: str = ""
    completion_marker: CLICompletionMarker | None = _one(CLICompletionMarker)
    mode: str = ""
    resume_args: tuple[str, ...] = _many()


@value
class CLIAdapterConfig:
    """Profiles by name: a run's `target`."""

    profiles: Mapping[str, CLIProfileConfig] = _table(CLIProfileConfig)


@value
class OllamaAdapterConfig:
    """Where a model server is."""

    base_url: str = ""


@value
class VllmAdapterConfig:
    """Where a model server is."""

    endpoint: str = ""


@value
class AdapterConfig:
    """One adapter. At most one of `cli`, `ollama` and `vllm` is there; without any, `settings`
    may hold the same keys."""

    type: str = ""
    enabled: bool = False
    settings: Mapping[str, Json] | None = attrs.field(
        default=None, metadata={"of": STRUCT}, repr=False
    )
    cli: CLIAdapterConfig | None = _one(CLIAdapterConfig)
    ollama: OllamaAdapterConfig | None = _one(OllamaAdapterConfig)
    vllm: VllmAdapterConfig | None = _one(VllmAdapterConfig)


@value
class NodeRuntimeConfig:
    """How a node runs things. `concurrency` 0 is no bound."""

    concurrency: int = 0
    workspace_root: str = ""


@value
class NodeConfigPayload:
    """All that an edge sets at a node."""

    adapters: tuple[AdapterConfig, ...] = _many(AdapterConfig)
    runtime: NodeRuntimeConfig | None = _one(NodeRuntimeConfig)


@value
class RegisterResponse:
    """Whether a node is let in, who it is, and how it is set."""

    accepted: bool = False
    node_id: str = ""
    alias: str = ""
    reason: str = ""
    config: NodeConfigPayload | None = _one(NodeConfigPayload)


@value
class AttachRequest:
    """Watch a run from an event on."""

    run_id: str = ""
    after_sequence: int = 0


@value
class CancelResponse:
    """Whether a cancel was taken."""

    accepted: bool = False
    error: Error | None = _one(Error)


@value
class WatchNodesRequest:
    """Watch nodes come and go, beginning with those that are here if so wished."""

    include_current: bool = False


@value
class Unknown:
    """A link's message without a payload, or with one that is not known here."""


NodePayload: TypeAlias = (
    RegisterRequest | Heartbeat | RunEvent | NodeCommandResponse | EdgeNodeEvent | Error | Unknown
)
"""What a `NodeMessage` holds."""

EdgePayload: TypeAlias = (
    RegisterResponse
    | Heartbeat
    | RunRequest
    | CancelRequest
    | NodeCommandRequest
    | EdgeNodeEvent
    | Error
    | Unknown
)
"""What an `EdgeMessage` holds."""

ControlMessage: TypeAlias = (
    RunRequest
    | AttachRequest
    | CancelRequest
    | NodeCommandRequest
    | WatchNodesRequest
    | RunEvent
    | CancelResponse
    | NodeCommandResponse
    | EdgeNodeEvent
)
"""What the calls of EdgeControl carry."""
