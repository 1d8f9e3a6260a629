from fleetgate.schemas.journal.v1 import event_pb2 as _event_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Any as _Any, ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Signal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_UNSPECIFIED: _ClassVar[Signal]
    SIGNAL_INTERRUPT: _ClassVar[Signal]
    SIGNAL_TERMINATE: _ClassVar[Signal]
    SIGNAL_KILL: _ClassVar[Signal]
    SIGNAL_HANGUP: _ClassVar[Signal]

class CancelScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CANCEL_SCOPE_UNSPECIFIED: _ClassVar[CancelScope]
    CANCEL_SCOPE_RUN: _ClassVar[CancelScope]
    CANCEL_SCOPE_SESSION: _ClassVar[CancelScope]
SIGNAL_UNSPECIFIED: Signal
SIGNAL_INTERRUPT: Signal
SIGNAL_TERMINATE: Signal
SIGNAL_KILL: Signal
SIGNAL_HANGUP: Signal
CANCEL_SCOPE_UNSPECIFIED: CancelScope
CANCEL_SCOPE_RUN: CancelScope
CANCEL_SCOPE_SESSION: CancelScope

class Run(_message.Message):
    __slots__ = ("origin", "created", "state", "pool", "worker", "epoch", "accepted", "native_session", "model", "inputs", "inputs_accepted", "input_closed", "orders", "approvals", "canceling", "acknowledged", "usage", "outcome", "started", "ended", "notes", "clock")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    NATIVE_SESSION_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    INPUT_CLOSED_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    CANCELING_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    origin: Origin
    created: int
    state: _event_pb2.RunState
    pool: str
    worker: str
    epoch: int
    accepted: bool
    native_session: str
    model: str
    inputs: int
    inputs_accepted: int
    input_closed: bool
    orders: int
    approvals: _containers.RepeatedScalarFieldContainer[str]
    canceling: bool
    acknowledged: int
    usage: _event_pb2.UsageReported
    outcome: _event_pb2.Outcome
    started: int
    ended: int
    notes: _event_pb2.Json
    clock: int
    def __init__(self, origin: _Optional[_Union[Origin, _Mapping[str, _Any]]] = ..., created: _Optional[int] = ..., state: _Optional[_Union[_event_pb2.RunState, str]] = ..., pool: _Optional[str] = ..., worker: _Optional[str] = ..., epoch: _Optional[int] = ..., accepted: _Optional[bool] = ..., native_session: _Optional[str] = ..., model: _Optional[str] = ..., inputs: _Optional[int] = ..., inputs_accepted: _Optional[int] = ..., input_closed: _Optional[bool] = ..., orders: _Optional[int] = ..., approvals: _Optional[_Iterable[str]] = ..., canceling: _Optional[bool] = ..., acknowledged: _Optional[int] = ..., usage: _Optional[_Union[_event_pb2.UsageReported, _Mapping[str, _Any]]] = ..., outcome: _Optional[_Union[_event_pb2.Outcome, _Mapping[str, _Any]]] = ..., started: _Optional[int] = ..., ended: _Optional[int] = ..., notes: _Optional[_Union[_event_pb2.Json, _Mapping[str, _Any]]] = ..., clock: _Optional[int] = ...) -> None: ...

class Specs(_message.Message):
    __slots__ = ("spec", "routed")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    ROUTED_FIELD_NUMBER: _ClassVar[int]
    spec: RunSpec
    routed: RunSpec
    def __init__(self, spec: _Optional[_Union[RunSpec, _Mapping[str, _Any]]] = ..., routed: _Optional[_Union[RunSpec, _Mapping[str, _Any]]] = ...) -> None: ...

class Origin(_message.Message):
    __slots__ = ("link", "native_run", "controller")
    LINK_FIELD_NUMBER: _ClassVar[int]
    NATIVE_RUN_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_FIELD_NUMBER: _ClassVar[int]
    link: str
    native_run: str
    controller: str
    def __init__(self, link: _Optional[str] = ..., native_run: _Optional[str] = ..., controller: _Optional[str] = ...) -> None: ...

class RunSpec(_message.Message):
    __slots__ = ("prompt", "shell_command", "tool_call", "workspace", "environment", "timeout", "expires", "permission", "approvals", "interactive", "background", "session", "resume", "labels", "metadata", "native", "announce")
    class EnvironmentEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    SHELL_COMMAND_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    INTERACTIVE_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCE_FIELD_NUMBER: _ClassVar[int]
    prompt: Prompt
    shell_command: ShellCommand
    tool_call: ToolCall
    workspace: _containers.RepeatedScalarFieldContainer[str]
    environment: _containers.ScalarMap[str, str]
    timeout: int
    expires: int
    permission: str
    approvals: bool
    interactive: bool
    background: bool
    session: str
    resume: str
    labels: _containers.ScalarMap[str, str]
    metadata: _event_pb2.Json
    native: _event_pb2.Json
    announce: bool
    def __init__(self, prompt: _Optional[_Union[Prompt, _Mapping[str, _Any]]] = ..., shell_command: _Optional[_Union[ShellCommand, _Mapping[str, _Any]]] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping[str, _Any]]] = ..., workspace: _Optional[_Iterable[str]] = ..., environment: _Optional[_Mapping[str, str]] = ..., timeout: _Optional[int] = ..., expires: _Optional[int] = ..., permission: _Optional[str] = ..., approvals: _Optional[bool] = ..., interactive: _Optional[bool] = ..., background: _Optional[bool] = ..., session: _Optional[str] = ..., resume: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., metadata: _Optional[_Union[_event_pb2.Json, _Mapping[str, _Any]]] = ..., native: _Optional[_Union[_event_pb2.Json, _Mapping[str, _Any]]] = ..., announce: _Optional[bool] = ...) -> None: ...

class Prompt(_message.Message):
    __slots__ = ("text", "system", "provider", "model", "effort", "extra_thinking", "messages")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    EFFORT_FIELD_NUMBER: _ClassVar[int]
    EXTRA_THINKING_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    text: str
    system: str
    provider: str
    model: str
    effort: str
    extra_thinking: bool
    messages: _containers.RepeatedCompositeFieldContainer[_event_pb2.Json]
    def __init__(self, text: _Optional[str] = ..., system: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., effort: _Optional[str] = ..., extra_thinking: _Optional[bool] = ..., messages: _Optional[_Iterable[_Union[_event_pb2.Json, _Mapping[str, _Any]]]] = ...) -> None: ...

class ShellCommand(_message.Message):
    __slots__ = ("line", "argv", "script", "shell", "cwd", "stdin", "merge_stderr")
    LINE_FIELD_NUMBER: _ClassVar[int]
    ARGV_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    MERGE_STDERR_FIELD_NUMBER: _ClassVar[int]
    line: str
    argv: Words
    script: Script
    shell: str
    cwd: str
    stdin: bytes
    merge_stderr: bool
    def __init__(self, line: _Optional[str] = ..., argv: _Optional[_Union[Words, _Mapping[str, _Any]]] = ..., script: _Optional[_Union[Script, _Mapping[str, _Any]]] = ..., shell: _Optional[str] = ..., cwd: _Optional[str] = ..., stdin: _Optional[bytes] = ..., merge_stderr: _Optional[bool] = ...) -> None: ...

class Words(_message.Message):
    __slots__ = ("words",)
    WORDS_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, words: _Optional[_Iterable[str]] = ...) -> None: ...

class Script(_message.Message):
    __slots__ = ("size", "sha256", "args", "data")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    size: int
    sha256: bytes
    args: _containers.RepeatedScalarFieldContainer[str]
    data: bytes
    def __init__(self, size: _Optional[int] = ..., sha256: _Optional[bytes] = ..., args: _Optional[_Iterable[str]] = ..., data: _Optional[bytes] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("name", "input")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    name: str
    input: _event_pb2.Json
    def __init__(self, name: _Optional[str] = ..., input: _Optional[_Union[_event_pb2.Json, _Mapping[str, _Any]]] = ...) -> None: ...

class Order(_message.Message):
    __slots__ = ("start_run", "supply_script", "send_input", "close_input", "signal_run", "cancel_run", "resolve_approval", "resize_terminal", "input", "created")
    START_RUN_FIELD_NUMBER: _ClassVar[int]
    SUPPLY_SCRIPT_FIELD_NUMBER: _ClassVar[int]
    SEND_INPUT_FIELD_NUMBER: _ClassVar[int]
    CLOSE_INPUT_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_RUN_FIELD_NUMBER: _ClassVar[int]
    CANCEL_RUN_FIELD_NUMBER: _ClassVar[int]
    RESOLVE_APPROVAL_FIELD_NUMBER: _ClassVar[int]
    RESIZE_TERMINAL_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    start_run: StartRun
    supply_script: SupplyScript
    send_input: SendInput
    close_input: CloseInput
    signal_run: SignalRun
    cancel_run: CancelRun
    resolve_approval: ResolveApproval
    resize_terminal: ResizeTerminal
    input: int
    created: int
    def __init__(self, start_run: _Optional[_Union[StartRun, _Mapping[str, _Any]]] = ..., supply_script: _Optional[_Union[SupplyScript, _Mapping[str, _Any]]] = ..., send_input: _Optional[_Union[SendInput, _Mapping[str, _Any]]] = ..., close_input: _Optional[_Union[CloseInput, _Mapping[str, _Any]]] = ..., signal_run: _Optional[_Union[SignalRun, _Mapping[str, _Any]]] = ..., cancel_run: _Optional[_Union[CancelRun, _Mapping[str, _Any]]] = ..., resolve_approval: _Optional[_Union[ResolveApproval, _Mapping[str, _Any]]] = ..., resize_terminal: _Optional[_Union[ResizeTerminal, _Mapping[str, _Any]]] = ..., input: _Optional[int] = ..., created: _Optional[int] = ...) -> None: ...

class StartRun(_message.Message):
    __slots__ = ("run", "spec", "origin")
    RUN_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    run: str
    spec: RunSpec
    origin: Origin
    def __init__(self, run: _Optional[str] = ..., spec: _Optional[_Union[RunSpec, _Mapping[str, _Any]]] = ..., origin: _Optional[_Union[Origin, _Mapping[str, _Any]]] = ...) -> None: ...

class SupplyScript(_message.Message):
    __slots__ = ("run", "data")
    RUN_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    run: str
    data: bytes
    def __init__(self, run: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class SendInput(_message.Message):
    __slots__ = ("run", "data", "newline")
    RUN_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    NEWLINE_FIELD_NUMBER: _ClassVar[int]
    run: str
    data: bytes
    newline: bool
    def __init__(self, run: _Optional[str] = ..., data: _Optional[bytes] = ..., newline: _Optional[bool] = ...) -> None: ...

class CloseInput(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: str
    def __init__(self, run: _Optional[str] = ...) -> None: ...

class SignalRun(_message.Message):
    __slots__ = ("run", "signal")
    RUN_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    run: str
    signal: Signal
    def __init__(self, run: _Optional[str] = ..., signal: _Optional[_Union[Signal, str]] = ...) -> None: ...

class CancelRun(_message.Message):
    __slots__ = ("run", "scope", "reason")
    RUN_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run: str
    scope: CancelScope
    reason: str
    def __init__(self, run: _Optional[str] = ..., scope: _Optional[_Union[CancelScope, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class ResolveApproval(_message.Message):
    __slots__ = ("run", "approval", "decision", "value")
    RUN_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    run: str
    approval: str
    decision: _event_pb2.Decision
    value: str
    def __init__(self, run: _Optional[str] = ..., approval: _Optional[str] = ..., decision: _Optional[_Union[_event_pb2.Decision, str]] = ..., value: _Optional[str] = ...) -> None: ...

class ResizeTerminal(_message.Message):
    __slots__ = ("run", "rows", "columns")
    RUN_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    run: str
    rows: int
    columns: int
    def __init__(self, run: _Optional[str] = ..., rows: _Optional[int] = ..., columns: _Optional[int] = ...) -> None: ...
