import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Any as _Any, ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Platform(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLATFORM_UNSPECIFIED: _ClassVar[Platform]
    PLATFORM_LINUX: _ClassVar[Platform]
    PLATFORM_MACOS: _ClassVar[Platform]
    PLATFORM_WINDOWS: _ClassVar[Platform]
    PLATFORM_FREEBSD: _ClassVar[Platform]

class ShellType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHELL_TYPE_UNSPECIFIED: _ClassVar[ShellType]
    SHELL_TYPE_NONE: _ClassVar[ShellType]
    SHELL_TYPE_SH: _ClassVar[ShellType]
    SHELL_TYPE_BASH: _ClassVar[ShellType]
    SHELL_TYPE_ZSH: _ClassVar[ShellType]
    SHELL_TYPE_POWERSHELL: _ClassVar[ShellType]
    SHELL_TYPE_PWSH: _ClassVar[ShellType]
    SHELL_TYPE_CMD: _ClassVar[ShellType]

class SignalKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_KIND_UNSPECIFIED: _ClassVar[SignalKind]
    SIGNAL_KIND_INTERRUPT: _ClassVar[SignalKind]
    SIGNAL_KIND_TERMINATE: _ClassVar[SignalKind]
    SIGNAL_KIND_KILL: _ClassVar[SignalKind]
    SIGNAL_KIND_HANGUP: _ClassVar[SignalKind]

class CommandLifecycle(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMMAND_LIFECYCLE_UNSPECIFIED: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_AWAITING_SCRIPT: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_QUEUED: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_RUNNING: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_EXITED: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_FAILED_TO_START: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_TIMED_OUT: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_CANCELED: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_EXPIRED: _ClassVar[CommandLifecycle]
    COMMAND_LIFECYCLE_LOST: _ClassVar[CommandLifecycle]

class OutputStream(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTPUT_STREAM_UNSPECIFIED: _ClassVar[OutputStream]
    OUTPUT_STREAM_STDOUT: _ClassVar[OutputStream]
    OUTPUT_STREAM_STDERR: _ClassVar[OutputStream]

class ControlErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTROL_ERROR_CODE_UNSPECIFIED: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_PROTOCOL_VIOLATION: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_UNSUPPORTED_VERSION: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_UNAUTHENTICATED: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_STALE_SESSION: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_SUPERSEDED: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_CLIENT_ID_IN_USE: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_INVALID_ARGUMENT: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_NOT_FOUND: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_CONFLICT: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_ALREADY_FINISHED: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_QUEUE_FULL: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_QUEUE_EXPIRED: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_UNSUPPORTED_SHELL: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_CHECKSUM_MISMATCH: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_OUT_OF_ORDER: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_RESOURCE_EXHAUSTED: _ClassVar[ControlErrorCode]
    CONTROL_ERROR_CODE_INTERNAL: _ClassVar[ControlErrorCode]
PLATFORM_UNSPECIFIED: Platform
PLATFORM_LINUX: Platform
PLATFORM_MACOS: Platform
PLATFORM_WINDOWS: Platform
PLATFORM_FREEBSD: Platform
SHELL_TYPE_UNSPECIFIED: ShellType
SHELL_TYPE_NONE: ShellType
SHELL_TYPE_SH: ShellType
SHELL_TYPE_BASH: ShellType
SHELL_TYPE_ZSH: ShellType
SHELL_TYPE_POWERSHELL: ShellType
SHELL_TYPE_PWSH: ShellType
SHELL_TYPE_CMD: ShellType
SIGNAL_KIND_UNSPECIFIED: SignalKind
SIGNAL_KIND_INTERRUPT: SignalKind
SIGNAL_KIND_TERMINATE: SignalKind
SIGNAL_KIND_KILL: SignalKind
SIGNAL_KIND_HANGUP: SignalKind
COMMAND_LIFECYCLE_UNSPECIFIED: CommandLifecycle
COMMAND_LIFECYCLE_AWAITING_SCRIPT: CommandLifecycle
COMMAND_LIFECYCLE_QUEUED: CommandLifecycle
COMMAND_LIFECYCLE_RUNNING: CommandLifecycle
COMMAND_LIFECYCLE_EXITED: CommandLifecycle
COMMAND_LIFECYCLE_FAILED_TO_START: CommandLifecycle
COMMAND_LIFECYCLE_TIMED_OUT: CommandLifecycle
COMMAND_LIFECYCLE_CANCELED: CommandLifecycle
COMMAND_LIFECYCLE_EXPIRED: CommandLifecycle
COMMAND_LIFECYCLE_LOST: CommandLifecycle
OUTPUT_STREAM_UNSPECIFIED: OutputStream
OUTPUT_STREAM_STDOUT: OutputStream
OUTPUT_STREAM_STDERR: OutputStream
CONTROL_ERROR_CODE_UNSPECIFIED: ControlErrorCode
CONTROL_ERROR_CODE_PROTOCOL_VIOLATION: ControlErrorCode
CONTROL_ERROR_CODE_UNSUPPORTED_VERSION: ControlErrorCode
CONTROL_ERROR_CODE_UNAUTHENTICATED: ControlErrorCode
CONTROL_ERROR_CODE_STALE_SESSION: ControlErrorCode
CONTROL_ERROR_CODE_SUPERSEDED: ControlErrorCode
CONTROL_ERROR_CODE_CLIENT_ID_IN_USE: ControlErrorCode
CONTROL_ERROR_CODE_INVALID_ARGUMENT: ControlErrorCode
CONTROL_ERROR_CODE_NOT_FOUND: ControlErrorCode
CONTROL_ERROR_CODE_CONFLICT: ControlErrorCode
CONTROL_ERROR_CODE_ALREADY_FINISHED: ControlErrorCode
CONTROL_ERROR_CODE_QUEUE_FULL: ControlErrorCode
CONTROL_ERROR_CODE_QUEUE_EXPIRED: ControlErrorCode
CONTROL_ERROR_CODE_UNSUPPORTED_SHELL: ControlErrorCode
CONTROL_ERROR_CODE_CHECKSUM_MISMATCH: ControlErrorCode
CONTROL_ERROR_CODE_OUT_OF_ORDER: ControlErrorCode
CONTROL_ERROR_CODE_RESOURCE_EXHAUSTED: ControlErrorCode
CONTROL_ERROR_CODE_INTERNAL: ControlErrorCode

class ProtocolVersion(_message.Message):
    __slots__ = ("major", "minor")
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    major: int
    minor: int
    def __init__(self, major: _Optional[int] = ..., minor: _Optional[int] = ...) -> None: ...

class ProtocolRange(_message.Message):
    __slots__ = ("minimum", "maximum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    minimum: ProtocolVersion
    maximum: ProtocolVersion
    def __init__(self, minimum: _Optional[_Union[ProtocolVersion, _Mapping[str, _Any]]] = ..., maximum: _Optional[_Union[ProtocolVersion, _Mapping[str, _Any]]] = ...) -> None: ...

class ExecutionSpec(_message.Message):
    __slots__ = ("command_line", "argv", "script", "shell", "cwd", "env", "timeout", "open_stdin", "merge_stderr")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    COMMAND_LINE_FIELD_NUMBER: _ClassVar[int]
    ARGV_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    OPEN_STDIN_FIELD_NUMBER: _ClassVar[int]
    MERGE_STDERR_FIELD_NUMBER: _ClassVar[int]
    command_line: str
    argv: Argv
    script: ScriptRef
    shell: ShellType
    cwd: str
    env: _containers.ScalarMap[str, str]
    timeout: _duration_pb2.Duration
    open_stdin: bool
    merge_stderr: bool
    def __init__(self, command_line: _Optional[str] = ..., argv: _Optional[_Union[Argv, _Mapping[str, _Any]]] = ..., script: _Optional[_Union[ScriptRef, _Mapping[str, _Any]]] = ..., shell: _Optional[_Union[ShellType, str]] = ..., cwd: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping[str, _Any]]] = ..., open_stdin: _Optional[bool] = ..., merge_stderr: _Optional[bool] = ...) -> None: ...

class Argv(_message.Message):
    __slots__ = ("args",)
    ARGS_FIELD_NUMBER: _ClassVar[int]
    args: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, args: _Optional[_Iterable[str]] = ...) -> None: ...

class ScriptRef(_message.Message):
    __slots__ = ("size_bytes", "sha256", "args")
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    size_bytes: int
    sha256: bytes
    args: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, size_bytes: _Optional[int] = ..., sha256: _Optional[bytes] = ..., args: _Optional[_Iterable[str]] = ...) -> None: ...

class CommandEvent(_message.Message):
    __slots__ = ("issue_uuid", "command_revision", "event_seq", "event_time", "lifecycle", "output", "stdin_ack", "exit")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_REVISION_FIELD_NUMBER: _ClassVar[int]
    EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    LIFECYCLE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    STDIN_ACK_FIELD_NUMBER: _ClassVar[int]
    EXIT_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    command_revision: int
    event_seq: int
    event_time: _timestamp_pb2.Timestamp
    lifecycle: LifecycleChanged
    output: OutputChunk
    stdin_ack: StdinAck
    exit: CommandExit
    def __init__(self, issue_uuid: _Optional[str] = ..., command_revision: _Optional[int] = ..., event_seq: _Optional[int] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping[str, _Any]]] = ..., lifecycle: _Optional[_Union[LifecycleChanged, _Mapping[str, _Any]]] = ..., output: _Optional[_Union[OutputChunk, _Mapping[str, _Any]]] = ..., stdin_ack: _Optional[_Union[StdinAck, _Mapping[str, _Any]]] = ..., exit: _Optional[_Union[CommandExit, _Mapping[str, _Any]]] = ...) -> None: ...

class LifecycleChanged(_message.Message):
    __slots__ = ("lifecycle", "pid")
    LIFECYCLE_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    lifecycle: CommandLifecycle
    pid: int
    def __init__(self, lifecycle: _Optional[_Union[CommandLifecycle, str]] = ..., pid: _Optional[int] = ...) -> None: ...

class OutputChunk(_message.Message):
    __slots__ = ("stream", "data", "offset")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    stream: OutputStream
    data: bytes
    offset: int
    def __init__(self, stream: _Optional[_Union[OutputStream, str]] = ..., data: _Optional[bytes] = ..., offset: _Optional[int] = ...) -> None: ...

class StdinAck(_message.Message):
    __slots__ = ("through_write_seq",)
    THROUGH_WRITE_SEQ_FIELD_NUMBER: _ClassVar[int]
    through_write_seq: int
    def __init__(self, through_write_seq: _Optional[int] = ...) -> None: ...

class CommandExit(_message.Message):
    __slots__ = ("lifecycle", "exit_code", "signal", "error")
    LIFECYCLE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    lifecycle: CommandLifecycle
    exit_code: int
    signal: str
    error: ControlError
    def __init__(self, lifecycle: _Optional[_Union[CommandLifecycle, str]] = ..., exit_code: _Optional[int] = ..., signal: _Optional[str] = ..., error: _Optional[_Union[ControlError, _Mapping[str, _Any]]] = ...) -> None: ...

class ControlError(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: ControlErrorCode
    message: str
    def __init__(self, code: _Optional[_Union[ControlErrorCode, str]] = ..., message: _Optional[str] = ...) -> None: ...
