import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from fleetgate.schemas.rvbox.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Any as _Any, ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentEnvelope(_message.Message):
    __slots__ = ("session_id", "session_generation", "client_hello", "server_welcome", "command_dispatch", "command_accepted", "command_event", "event_ack", "stdin_write", "close_stdin", "signal_command", "script_chunk", "script_commit", "client_capacity", "reconcile_request", "reconcile_snapshot", "error", "reconcile_result")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_GENERATION_FIELD_NUMBER: _ClassVar[int]
    CLIENT_HELLO_FIELD_NUMBER: _ClassVar[int]
    SERVER_WELCOME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_DISPATCH_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    COMMAND_EVENT_FIELD_NUMBER: _ClassVar[int]
    EVENT_ACK_FIELD_NUMBER: _ClassVar[int]
    STDIN_WRITE_FIELD_NUMBER: _ClassVar[int]
    CLOSE_STDIN_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_COMMAND_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_CHUNK_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_COMMIT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_CAPACITY_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_REQUEST_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RECONCILE_RESULT_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    session_generation: int
    client_hello: ClientHello
    server_welcome: ServerWelcome
    command_dispatch: CommandDispatch
    command_accepted: CommandAccepted
    command_event: _common_pb2.CommandEvent
    event_ack: EventAck
    stdin_write: StdinWrite
    close_stdin: CloseStdin
    signal_command: SignalCommand
    script_chunk: ScriptChunk
    script_commit: ScriptCommit
    client_capacity: ClientCapacity
    reconcile_request: ReconcileRequest
    reconcile_snapshot: ReconcileSnapshot
    error: AgentError
    reconcile_result: ReconcileResult
    def __init__(self, session_id: _Optional[str] = ..., session_generation: _Optional[int] = ..., client_hello: _Optional[_Union[ClientHello, _Mapping[str, _Any]]] = ..., server_welcome: _Optional[_Union[ServerWelcome, _Mapping[str, _Any]]] = ..., command_dispatch: _Optional[_Union[CommandDispatch, _Mapping[str, _Any]]] = ..., command_accepted: _Optional[_Union[CommandAccepted, _Mapping[str, _Any]]] = ..., command_event: _Optional[_Union[_common_pb2.CommandEvent, _Mapping[str, _Any]]] = ..., event_ack: _Optional[_Union[EventAck, _Mapping[str, _Any]]] = ..., stdin_write: _Optional[_Union[StdinWrite, _Mapping[str, _Any]]] = ..., close_stdin: _Optional[_Union[CloseStdin, _Mapping[str, _Any]]] = ..., signal_command: _Optional[_Union[SignalCommand, _Mapping[str, _Any]]] = ..., script_chunk: _Optional[_Union[ScriptChunk, _Mapping[str, _Any]]] = ..., script_commit: _Optional[_Union[ScriptCommit, _Mapping[str, _Any]]] = ..., client_capacity: _Optional[_Union[ClientCapacity, _Mapping[str, _Any]]] = ..., reconcile_request: _Optional[_Union[ReconcileRequest, _Mapping[str, _Any]]] = ..., reconcile_snapshot: _Optional[_Union[ReconcileSnapshot, _Mapping[str, _Any]]] = ..., error: _Optional[_Union[AgentError, _Mapping[str, _Any]]] = ..., reconcile_result: _Optional[_Union[ReconcileResult, _Mapping[str, _Any]]] = ...) -> None: ...

class ClientHello(_message.Message):
    __slots__ = ("client_id", "supported_protocol", "daemon_version", "platform", "architecture", "daemon_cwd", "supported_shells", "client_instance_id", "max_running_commands", "max_queued_commands", "sent_at")
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    DAEMON_VERSION_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    DAEMON_CWD_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_SHELLS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    SENT_AT_FIELD_NUMBER: _ClassVar[int]
    client_id: str
    supported_protocol: _common_pb2.ProtocolRange
    daemon_version: str
    platform: _common_pb2.Platform
    architecture: str
    daemon_cwd: str
    supported_shells: _containers.RepeatedScalarFieldContainer[_common_pb2.ShellType]
    client_instance_id: str
    max_running_commands: int
    max_queued_commands: int
    sent_at: _timestamp_pb2.Timestamp
    def __init__(self, client_id: _Optional[str] = ..., supported_protocol: _Optional[_Union[_common_pb2.ProtocolRange, _Mapping[str, _Any]]] = ..., daemon_version: _Optional[str] = ..., platform: _Optional[_Union[_common_pb2.Platform, str]] = ..., architecture: _Optional[str] = ..., daemon_cwd: _Optional[str] = ..., supported_shells: _Optional[_Iterable[_Union[_common_pb2.ShellType, str]]] = ..., client_instance_id: _Optional[str] = ..., max_running_commands: _Optional[int] = ..., max_queued_commands: _Optional[int] = ..., sent_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping[str, _Any]]] = ...) -> None: ...

class ServerWelcome(_message.Message):
    __slots__ = ("selected_protocol", "server_time")
    SELECTED_PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    SERVER_TIME_FIELD_NUMBER: _ClassVar[int]
    selected_protocol: _common_pb2.ProtocolVersion
    server_time: _timestamp_pb2.Timestamp
    def __init__(self, selected_protocol: _Optional[_Union[_common_pb2.ProtocolVersion, _Mapping[str, _Any]]] = ..., server_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping[str, _Any]]] = ...) -> None: ...

class CommandDispatch(_message.Message):
    __slots__ = ("issue_uuid", "command_revision", "target_session_generation", "issue_time", "spec", "queue_expiry_time", "immutable_request_sha256")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_REVISION_FIELD_NUMBER: _ClassVar[int]
    TARGET_SESSION_GENERATION_FIELD_NUMBER: _ClassVar[int]
    ISSUE_TIME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    QUEUE_EXPIRY_TIME_FIELD_NUMBER: _ClassVar[int]
    IMMUTABLE_REQUEST_SHA256_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    command_revision: int
    target_session_generation: int
    issue_time: _timestamp_pb2.Timestamp
    spec: _common_pb2.ExecutionSpec
    queue_expiry_time: _timestamp_pb2.Timestamp
    immutable_request_sha256: bytes
    def __init__(self, issue_uuid: _Optional[str] = ..., command_revision: _Optional[int] = ..., target_session_generation: _Optional[int] = ..., issue_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping[str, _Any]]] = ..., spec: _Optional[_Union[_common_pb2.ExecutionSpec, _Mapping[str, _Any]]] = ..., queue_expiry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping[str, _Any]]] = ..., immutable_request_sha256: _Optional[bytes] = ...) -> None: ...

class CommandAccepted(_message.Message):
    __slots__ = ("issue_uuid", "command_revision", "accepted", "rejection")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_REVISION_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    command_revision: int
    accepted: bool
    rejection: _common_pb2.ControlError
    def __init__(self, issue_uuid: _Optional[str] = ..., command_revision: _Optional[int] = ..., accepted: _Optional[bool] = ..., rejection: _Optional[_Union[_common_pb2.ControlError, _Mapping[str, _Any]]] = ...) -> None: ...

class EventAck(_message.Message):
    __slots__ = ("issue_uuid", "through_event_seq")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    THROUGH_EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    through_event_seq: int
    def __init__(self, issue_uuid: _Optional[str] = ..., through_event_seq: _Optional[int] = ...) -> None: ...

class StdinWrite(_message.Message):
    __slots__ = ("issue_uuid", "write_seq", "data", "append_newline")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    WRITE_SEQ_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    APPEND_NEWLINE_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    write_seq: int
    data: bytes
    append_newline: bool
    def __init__(self, issue_uuid: _Optional[str] = ..., write_seq: _Optional[int] = ..., data: _Optional[bytes] = ..., append_newline: _Optional[bool] = ...) -> None: ...

class CloseStdin(_message.Message):
    __slots__ = ("issue_uuid", "write_seq")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    WRITE_SEQ_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    write_seq: int
    def __init__(self, issue_uuid: _Optional[str] = ..., write_seq: _Optional[int] = ...) -> None: ...

class SignalCommand(_message.Message):
    __slots__ = ("issue_uuid", "command_revision", "signal")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_REVISION_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    command_revision: int
    signal: _common_pb2.SignalKind
    def __init__(self, issue_uuid: _Optional[str] = ..., command_revision: _Optional[int] = ..., signal: _Optional[_Union[_common_pb2.SignalKind, str]] = ...) -> None: ...

class ScriptChunk(_message.Message):
    __slots__ = ("issue_uuid", "offset", "data", "sha256")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    offset: int
    data: bytes
    sha256: bytes
    def __init__(self, issue_uuid: _Optional[str] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class ScriptCommit(_message.Message):
    __slots__ = ("issue_uuid", "size_bytes", "sha256")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    size_bytes: int
    sha256: bytes
    def __init__(self, issue_uuid: _Optional[str] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class ClientCapacity(_message.Message):
    __slots__ = ("running_commands", "queued_commands", "max_running_commands", "max_queued_commands")
    RUNNING_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    running_commands: int
    queued_commands: int
    max_running_commands: int
    max_queued_commands: int
    def __init__(self, running_commands: _Optional[int] = ..., queued_commands: _Optional[int] = ..., max_running_commands: _Optional[int] = ..., max_queued_commands: _Optional[int] = ...) -> None: ...

class ReconcileRequest(_message.Message):
    __slots__ = ("targets",)
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    targets: _containers.RepeatedCompositeFieldContainer[ReconcileTarget]
    def __init__(self, targets: _Optional[_Iterable[_Union[ReconcileTarget, _Mapping[str, _Any]]]] = ...) -> None: ...

class ReconcileTarget(_message.Message):
    __slots__ = ("issue_uuid", "last_server_event_seq", "command_revision", "immutable_request_sha256")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    LAST_SERVER_EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    COMMAND_REVISION_FIELD_NUMBER: _ClassVar[int]
    IMMUTABLE_REQUEST_SHA256_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    last_server_event_seq: int
    command_revision: int
    immutable_request_sha256: bytes
    def __init__(self, issue_uuid: _Optional[str] = ..., last_server_event_seq: _Optional[int] = ..., command_revision: _Optional[int] = ..., immutable_request_sha256: _Optional[bytes] = ...) -> None: ...

class ReconcileSnapshot(_message.Message):
    __slots__ = ("retained_commands",)
    RETAINED_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    retained_commands: _containers.RepeatedCompositeFieldContainer[ReconcileCommandState]
    def __init__(self, retained_commands: _Optional[_Iterable[_Union[ReconcileCommandState, _Mapping[str, _Any]]]] = ...) -> None: ...

class ReconcileCommandState(_message.Message):
    __slots__ = ("issue_uuid", "lifecycle", "last_client_event_seq", "command_revision", "tombstoned", "immutable_request_sha256")
    ISSUE_UUID_FIELD_NUMBER: _ClassVar[int]
    LIFECYCLE_FIELD_NUMBER: _ClassVar[int]
    LAST_CLIENT_EVENT_SEQ_FIELD_NUMBER: _ClassVar[int]
    COMMAND_REVISION_FIELD_NUMBER: _ClassVar[int]
    TOMBSTONED_FIELD_NUMBER: _ClassVar[int]
    IMMUTABLE_REQUEST_SHA256_FIELD_NUMBER: _ClassVar[int]
    issue_uuid: str
    lifecycle: _common_pb2.CommandLifecycle
    last_client_event_seq: int
    command_revision: int
    tombstoned: bool
    immutable_request_sha256: bytes
    def __init__(self, issue_uuid: _Optional[str] = ..., lifecycle: _Optional[_Union[_common_pb2.CommandLifecycle, str]] = ..., last_client_event_seq: _Optional[int] = ..., command_revision: _Optional[int] = ..., tombstoned: _Optional[bool] = ..., immutable_request_sha256: _Optional[bytes] = ...) -> None: ...

class ReconcileResult(_message.Message):
    __slots__ = ("terminate_local_issue_uuids", "discard_local_terminal_issue_uuids")
    TERMINATE_LOCAL_ISSUE_UUIDS_FIELD_NUMBER: _ClassVar[int]
    DISCARD_LOCAL_TERMINAL_ISSUE_UUIDS_FIELD_NUMBER: _ClassVar[int]
    terminate_local_issue_uuids: _containers.RepeatedScalarFieldContainer[str]
    discard_local_terminal_issue_uuids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, terminate_local_issue_uuids: _Optional[_Iterable[str]] = ..., discard_local_terminal_issue_uuids: _Optional[_Iterable[str]] = ...) -> None: ...

class AgentError(_message.Message):
    __slots__ = ("error", "close_session")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CLOSE_SESSION_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.ControlError
    close_session: bool
    def __init__(self, error: _Optional[_Union[_common_pb2.ControlError, _Mapping[str, _Any]]] = ..., close_session: _Optional[bool] = ...) -> None: ...
