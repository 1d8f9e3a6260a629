from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import Any as _Any, ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_QUEUED: _ClassVar[RunState]
    RUN_STATE_STARTING: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_WAITING: _ClassVar[RunState]
    RUN_STATE_FINISHING: _ClassVar[RunState]
    RUN_STATE_SUCCEEDED: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]
    RUN_STATE_CANCELED: _ClassVar[RunState]
    RUN_STATE_LOST: _ClassVar[RunState]

class Stream(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STREAM_UNSPECIFIED: _ClassVar[Stream]
    STREAM_STDOUT: _ClassVar[Stream]
    STREAM_STDERR: _ClassVar[Stream]

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_UNSPECIFIED: _ClassVar[Decision]
    DECISION_ALLOW_ONCE: _ClassVar[Decision]
    DECISION_ALLOW_SIMILAR: _ClassVar[Decision]
    DECISION_DENY: _ClassVar[Decision]
    DECISION_VALUE: _ClassVar[Decision]

class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_UNSPECIFIED: _ClassVar[Reason]
    REASON_EXITED: _ClassVar[Reason]
    REASON_FAILED_TO_START: _ClassVar[Reason]
    REASON_TIMED_OUT: _ClassVar[Reason]
    REASON_CANCELED: _ClassVar[Reason]
    REASON_EXPIRED: _ClassVar[Reason]
    REASON_LOST: _ClassVar[Reason]
    REASON_REFUSED: _ClassVar[Reason]
    REASON_ERROR: _ClassVar[Reason]
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_QUEUED: RunState
RUN_STATE_STARTING: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_WAITING: RunState
RUN_STATE_FINISHING: RunState
RUN_STATE_SUCCEEDED: RunState
RUN_STATE_FAILED: RunState
RUN_STATE_CANCELED: RunState
RUN_STATE_LOST: RunState
STREAM_UNSPECIFIED: Stream
STREAM_STDOUT: Stream
STREAM_STDERR: Stream
DECISION_UNSPECIFIED: Decision
DECISION_ALLOW_ONCE: Decision
DECISION_ALLOW_SIMILAR: Decision
DECISION_DENY: Decision
DECISION_VALUE: Decision
REASON_UNSPECIFIED: Reason
REASON_EXITED: Reason
REASON_FAILED_TO_START: Reason
REASON_TIMED_OUT: Reason
REASON_CANCELED: Reason
REASON_EXPIRED: Reason
REASON_LOST: Reason
REASON_REFUSED: Reason
REASON_ERROR: Reason

class Json(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: bytes
    def __init__(self, text: _Optional[bytes] = ...) -> None: ...

class Recorded(_message.Message):
    __slots__ = ("time", "source", "text_produced", "output_produced", "reasoning_produced", "tool_progressed", "tool_called", "tool_returned", "message_ended", "input_accepted", "state_changed", "usage_reported", "run_assigned", "run_started", "run_finished", "session_opened", "approval_requested", "approval_resolved", "rate_limited", "history_compacted", "commands_listed", "diagnosed", "gap_found")
    TIME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TEXT_PRODUCED_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_PRODUCED_FIELD_NUMBER: _ClassVar[int]
    REASONING_PRODUCED_FIELD_NUMBER: _ClassVar[int]
    TOOL_PROGRESSED_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLED_FIELD_NUMBER: _ClassVar[int]
    TOOL_RETURNED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ENDED_FIELD_NUMBER: _ClassVar[int]
    INPUT_ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    STATE_CHANGED_FIELD_NUMBER: _ClassVar[int]
    USAGE_REPORTED_FIELD_NUMBER: _ClassVar[int]
    RUN_ASSIGNED_FIELD_NUMBER: _ClassVar[int]
    RUN_STARTED_FIELD_NUMBER: _ClassVar[int]
    RUN_FINISHED_FIELD_NUMBER: _ClassVar[int]
    SESSION_OPENED_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_RESOLVED_FIELD_NUMBER: _ClassVar[int]
    RATE_LIMITED_FIELD_NUMBER: _ClassVar[int]
    HISTORY_COMPACTED_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_LISTED_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSED_FIELD_NUMBER: _ClassVar[int]
    GAP_FOUND_FIELD_NUMBER: _ClassVar[int]
    time: int
    source: Source
    text_produced: TextProduced
    output_produced: OutputProduced
    reasoning_produced: ReasoningProduced
    tool_progressed: ToolProgressed
    tool_called: ToolCalled
    tool_returned: ToolReturned
    message_ended: MessageEnded
    input_accepted: InputAccepted
    state_changed: StateChanged
    usage_reported: UsageReported
    run_assigned: RunAssigned
    run_started: RunStarted
    run_finished: RunFinished
    session_opened: SessionOpened
    approval_requested: ApprovalRequested
    approval_resolved: ApprovalResolved
    rate_limited: RateLimited
    history_compacted: HistoryCompacted
    commands_listed: CommandsListed
    diagnosed: Diagnosed
    gap_found: GapFound
    def __init__(self, time: _Optional[int] = ..., source: _Optional[_Union[Source, _Mapping[str, _Any]]] = ..., text_produced: _Optional[_Union[TextProduced, _Mapping[str, _Any]]] = ..., output_produced: _Optional[_Union[OutputProduced, _Mapping[str, _Any]]] = ..., reasoning_produced: _Optional[_Union[ReasoningProduced, _Mapping[str, _Any]]] = ..., tool_progressed: _Optional[_Union[ToolProgressed, _Mapping[str, _Any]]] = ..., tool_called: _Optional[_Union[ToolCalled, _Mapping[str, _Any]]] = ..., tool_returned: _Optional[_Union[ToolReturned, _Mapping[str, _Any]]] = ..., message_ended: _Optional[_Union[MessageEnded, _Mapping[str, _Any]]] = ..., input_accepted: _Optional[_Union[InputAccepted, _Mapping[str, _Any]]] = ..., state_changed: _Optional[_Union[StateChanged, _Mapping[str, _Any]]] = ..., usage_reported: _Optional[_Union[UsageReported, _Mapping[str, _Any]]] = ..., run_assigned: _Optional[_Union[RunAssigned, _Mapping[str, _Any]]] = ..., run_started: _Optional[_Union[RunStarted, _Mapping[str, _Any]]] = ..., run_finished: _Optional[_Union[RunFinished, _Mapping[str, _Any]]] = ..., session_opened: _Optional[_Union[SessionOpened, _Mapping[str, _Any]]] = ..., approval_requested: _Optional[_Union[ApprovalRequested, _Mapping[str, _Any]]] = ..., approval_resolved: _Optional[_Union[ApprovalResolved, _Mapping[str, _Any]]] = ..., rate_limited: _Optional[_Union[RateLimited, _Mapping[str, _Any]]] = ..., history_compacted: _Optional[_Union[HistoryCompacted, _Mapping[str, _Any]]] = ..., commands_listed: _Optional[_Union[CommandsListed, _Mapping[str, _Any]]] = ..., diagnosed: _Optional[_Union[Diagnosed, _Mapping[str, _Any]]] = ..., gap_found: _Optional[_Union[GapFound, _Mapping[str, _Any]]] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("epoch", "seq", "time", "native")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    seq: int
    time: int
    native: Json
    def __init__(self, epoch: _Optional[int] = ..., seq: _Optional[int] = ..., time: _Optional[int] = ..., native: _Optional[_Union[Json, _Mapping[str, _Any]]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("state", "reason", "message", "exit_code", "signal", "text", "native")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    state: RunState
    reason: Reason
    message: str
    exit_code: int
    signal: str
    text: str
    native: Json
    def __init__(self, state: _Optional[_Union[RunState, str]] = ..., reason: _Optional[_Union[Reason, str]] = ..., message: _Optional[str] = ..., exit_code: _Optional[int] = ..., signal: _Optional[str] = ..., text: _Optional[str] = ..., native: _Optional[_Union[Json, _Mapping[str, _Any]]] = ...) -> None: ...

class RunAssigned(_message.Message):
    __slots__ = ("worker", "epoch")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    worker: str
    epoch: int
    def __init__(self, worker: _Optional[str] = ..., epoch: _Optional[int] = ...) -> None: ...

class RunStarted(_message.Message):
    __slots__ = ("pid",)
    PID_FIELD_NUMBER: _ClassVar[int]
    pid: int
    def __init__(self, pid: _Optional[int] = ...) -> None: ...

class SessionOpened(_message.Message):
    __slots__ = ("native_session", "model")
    NATIVE_SESSION_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    native_session: str
    model: str
    def __init__(self, native_session: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class TextProduced(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class ReasoningProduced(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class OutputProduced(_message.Message):
    __slots__ = ("stream", "data", "offset")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    stream: Stream
    data: bytes
    offset: int
    def __init__(self, stream: _Optional[_Union[Stream, str]] = ..., data: _Optional[bytes] = ..., offset: _Optional[int] = ...) -> None: ...

class MessageEnded(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ToolCalled(_message.Message):
    __slots__ = ("name", "input", "call")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    name: str
    input: Json
    call: str
    def __init__(self, name: _Optional[str] = ..., input: _Optional[_Union[Json, _Mapping[str, _Any]]] = ..., call: _Optional[str] = ...) -> None: ...

class ToolProgressed(_message.Message):
    __slots__ = ("text", "call")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    text: str
    call: str
    def __init__(self, text: _Optional[str] = ..., call: _Optional[str] = ...) -> None: ...

class ToolReturned(_message.Message):
    __slots__ = ("output", "ok", "call")
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    output: str
    ok: bool
    call: str
    def __init__(self, output: _Optional[str] = ..., ok: _Optional[bool] = ..., call: _Optional[str] = ...) -> None: ...

class ApprovalRequested(_message.Message):
    __slots__ = ("approval", "title", "detail")
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    approval: str
    title: str
    detail: Json
    def __init__(self, approval: _Optional[str] = ..., title: _Optional[str] = ..., detail: _Optional[_Union[Json, _Mapping[str, _Any]]] = ...) -> None: ...

class ApprovalResolved(_message.Message):
    __slots__ = ("approval", "decision", "value")
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    approval: str
    decision: Decision
    value: str
    def __init__(self, approval: _Optional[str] = ..., decision: _Optional[_Union[Decision, str]] = ..., value: _Optional[str] = ...) -> None: ...

class InputAccepted(_message.Message):
    __slots__ = ("through",)
    THROUGH_FIELD_NUMBER: _ClassVar[int]
    through: int
    def __init__(self, through: _Optional[int] = ...) -> None: ...

class UsageReported(_message.Message):
    __slots__ = ("input_tokens", "output_tokens", "detail")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    detail: Json
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., detail: _Optional[_Union[Json, _Mapping[str, _Any]]] = ...) -> None: ...

class RateLimited(_message.Message):
    __slots__ = ("detail",)
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    detail: Json
    def __init__(self, detail: _Optional[_Union[Json, _Mapping[str, _Any]]] = ...) -> None: ...

class HistoryCompacted(_message.Message):
    __slots__ = ("detail",)
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    detail: Json
    def __init__(self, detail: _Optional[_Union[Json, _Mapping[str, _Any]]] = ...) -> None: ...

class CommandsListed(_message.Message):
    __slots__ = ("detail",)
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    detail: Json
    def __init__(self, detail: _Optional[_Union[Json, _Mapping[str, _Any]]] = ...) -> None: ...

class StateChanged(_message.Message):
    __slots__ = ("state", "detail")
    STATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    state: RunState
    detail: str
    def __init__(self, state: _Optional[_Union[RunState, str]] = ..., detail: _Optional[str] = ...) -> None: ...

class Diagnosed(_message.Message):
    __slots__ = ("message", "code")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    message: str
    code: str
    def __init__(self, message: _Optional[str] = ..., code: _Optional[str] = ...) -> None: ...

class GapFound(_message.Message):
    __slots__ = ("from_seq", "to_seq", "reason")
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    from_seq: int
    to_seq: int
    reason: str
    def __init__(self, from_seq: _Optional[int] = ..., to_seq: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class RunFinished(_message.Message):
    __slots__ = ("outcome",)
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    outcome: Outcome
    def __init__(self, outcome: _Optional[_Union[Outcome, _Mapping[str, _Any]]] = ...) -> None: ...
