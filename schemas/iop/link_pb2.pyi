from fleetgate.schemas.iop import runtime_pb2 as _runtime_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import Any as _Any, ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NodeMessage(_message.Message):
    __slots__ = ("register", "heartbeat", "run_event", "command_response", "node_event", "error")
    REGISTER_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    RUN_EVENT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    NODE_EVENT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    register: _runtime_pb2.RegisterRequest
    heartbeat: _runtime_pb2.Heartbeat
    run_event: _runtime_pb2.RunEvent
    command_response: _runtime_pb2.NodeCommandResponse
    node_event: _runtime_pb2.EdgeNodeEvent
    error: _runtime_pb2.Error
    def __init__(self, register: _Optional[_Union[_runtime_pb2.RegisterRequest, _Mapping[str, _Any]]] = ..., heartbeat: _Optional[_Union[_runtime_pb2.Heartbeat, _Mapping[str, _Any]]] = ..., run_event: _Optional[_Union[_runtime_pb2.RunEvent, _Mapping[str, _Any]]] = ..., command_response: _Optional[_Union[_runtime_pb2.NodeCommandResponse, _Mapping[str, _Any]]] = ..., node_event: _Optional[_Union[_runtime_pb2.EdgeNodeEvent, _Mapping[str, _Any]]] = ..., error: _Optional[_Union[_runtime_pb2.Error, _Mapping[str, _Any]]] = ...) -> None: ...

class EdgeMessage(_message.Message):
    __slots__ = ("registered", "heartbeat", "run", "cancel", "command", "node_event", "error")
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    NODE_EVENT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    registered: _runtime_pb2.RegisterResponse
    heartbeat: _runtime_pb2.Heartbeat
    run: _runtime_pb2.RunRequest
    cancel: _runtime_pb2.CancelRequest
    command: _runtime_pb2.NodeCommandRequest
    node_event: _runtime_pb2.EdgeNodeEvent
    error: _runtime_pb2.Error
    def __init__(self, registered: _Optional[_Union[_runtime_pb2.RegisterResponse, _Mapping[str, _Any]]] = ..., heartbeat: _Optional[_Union[_runtime_pb2.Heartbeat, _Mapping[str, _Any]]] = ..., run: _Optional[_Union[_runtime_pb2.RunRequest, _Mapping[str, _Any]]] = ..., cancel: _Optional[_Union[_runtime_pb2.CancelRequest, _Mapping[str, _Any]]] = ..., command: _Optional[_Union[_runtime_pb2.NodeCommandRequest, _Mapping[str, _Any]]] = ..., node_event: _Optional[_Union[_runtime_pb2.EdgeNodeEvent, _Mapping[str, _Any]]] = ..., error: _Optional[_Union[_runtime_pb2.Error, _Mapping[str, _Any]]] = ...) -> None: ...

class AttachRequest(_message.Message):
    __slots__ = ("run_id", "after_sequence")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    after_sequence: int
    def __init__(self, run_id: _Optional[str] = ..., after_sequence: _Optional[int] = ...) -> None: ...

class CancelResponse(_message.Message):
    __slots__ = ("accepted", "error")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    error: _runtime_pb2.Error
    def __init__(self, accepted: _Optional[bool] = ..., error: _Optional[_Union[_runtime_pb2.Error, _Mapping[str, _Any]]] = ...) -> None: ...

class WatchNodesRequest(_message.Message):
    __slots__ = ("include_current",)
    INCLUDE_CURRENT_FIELD_NUMBER: _ClassVar[int]
    include_current: bool
    def __init__(self, include_current: _Optional[bool] = ...) -> None: ...
