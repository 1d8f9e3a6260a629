from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Any as _Any, ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunSessionMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_SESSION_MODE_UNSPECIFIED: _ClassVar[RunSessionMode]
    RUN_SESSION_MODE_CREATE_IF_MISSING: _ClassVar[RunSessionMode]
    RUN_SESSION_MODE_REQUIRE_EXISTING: _ClassVar[RunSessionMode]

class CancelAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CANCEL_ACTION_UNSPECIFIED: _ClassVar[CancelAction]
    CANCEL_ACTION_CANCEL_RUN: _ClassVar[CancelAction]
    CANCEL_ACTION_TERMINATE_SESSION: _ClassVar[CancelAction]

class NodeCommandType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_COMMAND_TYPE_UNSPECIFIED: _ClassVar[NodeCommandType]
    NODE_COMMAND_TYPE_USAGE_STATUS: _ClassVar[NodeCommandType]
RUN_SESSION_MODE_UNSPECIFIED: RunSessionMode
RUN_SESSION_MODE_CREATE_IF_MISSING: RunSessionMode
RUN_SESSION_MODE_REQUIRE_EXISTING: RunSessionMode
CANCEL_ACTION_UNSPECIFIED: CancelAction
CANCEL_ACTION_CANCEL_RUN: CancelAction
CANCEL_ACTION_TERMINATE_SESSION: CancelAction
NODE_COMMAND_TYPE_UNSPECIFIED: NodeCommandType
NODE_COMMAND_TYPE_USAGE_STATUS: NodeCommandType

class RunRequest(_message.Message):
    __slots__ = ("run_id", "adapter", "target", "workspace", "policy", "input", "timeout_sec", "metadata", "session_id", "session_mode", "background")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SEC_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_MODE_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    adapter: str
    target: str
    workspace: str
    policy: _struct_pb2.Struct
    input: _struct_pb2.Struct
    timeout_sec: int
    metadata: _containers.ScalarMap[str, str]
    session_id: str
    session_mode: RunSessionMode
    background: bool
    def __init__(self, run_id: _Optional[str] = ..., adapter: _Optional[str] = ..., target: _Optional[str] = ..., workspace: _Optional[str] = ..., policy: _Optional[_Union[_struct_pb2.Struct, _Mapping[str, _Any]]] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping[str, _Any]]] = ..., timeout_sec: _Optional[int] = ..., metadata: _Optional[_Mapping[str, str]] = ..., session_id: _Optional[str] = ..., session_mode: _Optional[_Union[RunSessionMode, str]] = ..., background: _Optional[bool] = ...) -> None: ...

class RunEvent(_message.Message):
    __slots__ = ("run_id", "type", "delta", "message", "error", "usage", "metadata", "timestamp", "session_id", "background", "node_id")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    type: str
    delta: str
    message: str
    error: str
    usage: Usage
    metadata: _containers.ScalarMap[str, str]
    timestamp: int
    session_id: str
    background: bool
    node_id: str
    def __init__(self, run_id: _Optional[str] = ..., type: _Optional[str] = ..., delta: _Optional[str] = ..., message: _Optional[str] = ..., error: _Optional[str] = ..., usage: _Optional[_Union[Usage, _Mapping[str, _Any]]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., timestamp: _Optional[int] = ..., session_id: _Optional[str] = ..., background: _Optional[bool] = ..., node_id: _Optional[str] = ...) -> None: ...

class EdgeNodeEvent(_message.Message):
    __slots__ = ("event_id", "type", "source", "node_id", "alias", "reason", "metadata", "timestamp")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    type: str
    source: str
    node_id: str
    alias: str
    reason: str
    metadata: _containers.ScalarMap[str, str]
    timestamp: int
    def __init__(self, event_id: _Optional[str] = ..., type: _Optional[str] = ..., source: _Optional[str] = ..., node_id: _Optional[str] = ..., alias: _Optional[str] = ..., reason: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., timestamp: _Optional[int] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_tokens", "output_tokens")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("timestamp",)
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    timestamp: int
    def __init__(self, timestamp: _Optional[int] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("run_id", "adapter", "target", "session_id", "action")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    adapter: str
    target: str
    session_id: str
    action: CancelAction
    def __init__(self, run_id: _Optional[str] = ..., adapter: _Optional[str] = ..., target: _Optional[str] = ..., session_id: _Optional[str] = ..., action: _Optional[_Union[CancelAction, str]] = ...) -> None: ...

class NodeCommandRequest(_message.Message):
    __slots__ = ("request_id", "type", "adapter", "target", "session_id", "timeout_sec", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SEC_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    type: NodeCommandType
    adapter: str
    target: str
    session_id: str
    timeout_sec: int
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, request_id: _Optional[str] = ..., type: _Optional[_Union[NodeCommandType, str]] = ..., adapter: _Optional[str] = ..., target: _Optional[str] = ..., session_id: _Optional[str] = ..., timeout_sec: _Optional[int] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class NodeCommandResponse(_message.Message):
    __slots__ = ("request_id", "type", "adapter", "target", "session_id", "usage_status", "error")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    USAGE_STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    type: NodeCommandType
    adapter: str
    target: str
    session_id: str
    usage_status: AgentUsageStatus
    error: str
    def __init__(self, request_id: _Optional[str] = ..., type: _Optional[_Union[NodeCommandType, str]] = ..., adapter: _Optional[str] = ..., target: _Optional[str] = ..., session_id: _Optional[str] = ..., usage_status: _Optional[_Union[AgentUsageStatus, _Mapping[str, _Any]]] = ..., error: _Optional[str] = ...) -> None: ...

class AgentUsageStatus(_message.Message):
    __slots__ = ("raw_output", "daily_limit", "daily_reset_time", "weekly_limit", "weekly_reset_time", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RAW_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    DAILY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    DAILY_RESET_TIME_FIELD_NUMBER: _ClassVar[int]
    WEEKLY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    WEEKLY_RESET_TIME_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    raw_output: str
    daily_limit: str
    daily_reset_time: str
    weekly_limit: str
    weekly_reset_time: str
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, raw_output: _Optional[str] = ..., daily_limit: _Optional[str] = ..., daily_reset_time: _Optional[str] = ..., weekly_limit: _Optional[str] = ..., weekly_reset_time: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class RegisterRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class RegisterResponse(_message.Message):
    __slots__ = ("accepted", "node_id", "alias", "reason", "config")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    node_id: str
    alias: str
    reason: str
    config: NodeConfigPayload
    def __init__(self, accepted: _Optional[bool] = ..., node_id: _Optional[str] = ..., alias: _Optional[str] = ..., reason: _Optional[str] = ..., config: _Optional[_Union[NodeConfigPayload, _Mapping[str, _Any]]] = ...) -> None: ...

class NodeConfigPayload(_message.Message):
    __slots__ = ("adapters", "runtime")
    ADAPTERS_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    adapters: _containers.RepeatedCompositeFieldContainer[AdapterConfig]
    runtime: NodeRuntimeConfig
    def __init__(self, adapters: _Optional[_Iterable[_Union[AdapterConfig, _Mapping[str, _Any]]]] = ..., runtime: _Optional[_Union[NodeRuntimeConfig, _Mapping[str, _Any]]] = ...) -> None: ...

class AdapterConfig(_message.Message):
    __slots__ = ("type", "enabled", "settings", "cli", "ollama", "vllm")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    CLI_FIELD_NUMBER: _ClassVar[int]
    OLLAMA_FIELD_NUMBER: _ClassVar[int]
    VLLM_FIELD_NUMBER: _ClassVar[int]
    type: str
    enabled: bool
    settings: _struct_pb2.Struct
    cli: CLIAdapterConfig
    ollama: OllamaAdapterConfig
    vllm: VllmAdapterConfig
    def __init__(self, type: _Optional[str] = ..., enabled: _Optional[bool] = ..., settings: _Optional[_Union[_struct_pb2.Struct, _Mapping[str, _Any]]] = ..., cli: _Optional[_Union[CLIAdapterConfig, _Mapping[str, _Any]]] = ..., ollama: _Optional[_Union[OllamaAdapterConfig, _Mapping[str, _Any]]] = ..., vllm: _Optional[_Union[VllmAdapterConfig, _Mapping[str, _Any]]] = ...) -> None: ...

class CLIAdapterConfig(_message.Message):
    __slots__ = ("profiles",)
    class ProfilesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: CLIProfileConfig
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[CLIProfileConfig, _Mapping[str, _Any]]] = ...) -> None: ...
    PROFILES_FIELD_NUMBER: _ClassVar[int]
    profiles: _containers.MessageMap[str, CLIProfileConfig]
    def __init__(self, profiles: _Optional[_Mapping[str, CLIProfileConfig]] = ...) -> None: ...

class CLIProfileConfig(_message.Message):
    __slots__ = ("command", "args", "env", "persistent", "terminal", "response_idle_timeout_ms", "startup_idle_timeout_ms", "output_format", "completion_marker", "mode", "resume_args")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    PERSISTENT_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_IDLE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    STARTUP_IDLE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_MARKER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    RESUME_ARGS_FIELD_NUMBER: _ClassVar[int]
    command: str
    args: _containers.RepeatedScalarFieldContainer[str]
    env: _containers.RepeatedScalarFieldContainer[str]
    persistent: bool
    terminal: bool
    response_idle_timeout_ms: int
    startup_idle_timeout_ms: int
    output_format: str
    completion_marker: CLICompletionMarker
    mode: str
    resume_args: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, command: _Optional[str] = ..., args: _Optional[_Iterable[str]] = ..., env: _Optional[_Iterable[str]] = ..., persistent: _Optional[bool] = ..., terminal: _Optional[bool] = ..., response_idle_timeout_ms: _Optional[int] = ..., startup_idle_timeout_ms: _Optional[int] = ..., output_format: _Optional[str] = ..., completion_marker: _Optional[_Union[CLICompletionMarker, _Mapping[str, _Any]]] = ..., mode: _Optional[str] = ..., resume_args: _Optional[_Iterable[str]] = ...) -> None: ...

class CLICompletionMarker(_message.Message):
    __slots__ = ("line", "regex")
    LINE_FIELD_NUMBER: _ClassVar[int]
    REGEX_FIELD_NUMBER: _ClassVar[int]
    line: str
    regex: str
    def __init__(self, line: _Optional[str] = ..., regex: _Optional[str] = ...) -> None: ...

class OllamaAdapterConfig(_message.Message):
    __slots__ = ("base_url",)
    BASE_URL_FIELD_NUMBER: _ClassVar[int]
    base_url: str
    def __init__(self, base_url: _Optional[str] = ...) -> None: ...

class VllmAdapterConfig(_message.Message):
    __slots__ = ("endpoint",)
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    endpoint: str
    def __init__(self, endpoint: _Optional[str] = ...) -> None: ...

class NodeRuntimeConfig(_message.Message):
    __slots__ = ("concurrency", "workspace_root")
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_ROOT_FIELD_NUMBER: _ClassVar[int]
    concurrency: int
    workspace_root: str
    def __init__(self, concurrency: _Optional[int] = ..., workspace_root: _Optional[str] = ...) -> None: ...
