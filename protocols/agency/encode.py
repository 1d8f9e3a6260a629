"""Messages to frames. Every member is written, nulls too, in the order of `wire` (2.3).

Written out by hand: a free-form value has its keys sorted, a message has not, and events
are what a gateway writes most.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from fleetgate.core.json import Json
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.api import LocalProtocolError
from fleetgate.protocols.json_text import DEPTH, deeper, dump, quote, quoted

FREE_DEPTH: Final = 120
"""Containers within each other in a free-form value, wherever it is put. A peer takes 127 over
a whole document, and none of ours puts a free-form value deeper than 7."""

_IN_TWO: Final = DEPTH - 2
"""What a free-form value may have where two containers are around it, as in most frames."""
_IN_THREE: Final = DEPTH - 3

TOO_DEEP: Final = '{"note":"nested too deeply","truncated":true}'


class FrameTooLarge(LocalProtocolError):
    """The message does not fit into one frame. Nothing was sent; `size` is in bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a frame of {size} bytes; at most {wire.MAX_FRAME} are allowed")
        self.size = size


def encode_client(frame: wire.ClientFrame) -> bytes:
    """A client's message as a frame.

    Raises: `FrameTooLarge`.
    """
    return _frame(f'{{"requestId":{frame.request_id},"type":{_message(frame.message)}}}')


def encode_response(request_id: int, response: wire.ServerResponse) -> bytes:
    """A daemon's answer as a frame.

    Raises: `FrameTooLarge`.
    """
    return _frame(f'{{"kind":"response","request_id":{request_id},"type":{_response(response)}}}')


def encode_event(run_id: str, sequence: int, event: w.RunEvent) -> bytes:
    """A run's event as a frame.

    Raises: `FrameTooLarge`.
    """
    return _frame(
        f'{{"kind":"event","run_id":{quote(run_id)},"sequence":{sequence},"event":{_event(event)}}}'
    )


def encode_texts(run_id: str, first: int, texts: Iterable[str]) -> list[bytes]:
    """Events that are each a `Text`, numbered from `first`, as `encode_event` writes them. None
    may be too large for a frame: that is not looked at."""
    head = text_head(run_id)
    return [
        b"%b%d%b%b%b" % (head, seq, TEXT_PART, quoted(text), TEXT_END)
        for seq, text in enumerate(texts, first)
    ]


def text_head(run_id: str) -> bytes:
    """What stands before the number in each text of a run."""
    return b'\x00{"kind":"event","run_id":%b%b' % (quoted(run_id), NUMBER_PART)


NUMBER_PART: Final = b',"sequence":'
"""What stands between the run and the number."""

TEXT_PART: Final = b',"event":{"type":"text","payload":'
"""What stands between the number and the text."""

TEXT_END: Final = b"}}"


def encode_server(frame: w.ServerFrame) -> bytes:
    """A daemon's frame. An event of an unknown type is for reading only: `TypeError`.

    Raises: `FrameTooLarge`.
    """
    match frame:
        case wire.Response():
            return encode_response(frame.request_id, frame.response)
        case w.EventFrame():
            if isinstance(frame.event, w.UnknownEvent):
                raise TypeError("an event of an unknown type is never sent")
            return encode_event(frame.run_id, frame.sequence, frame.event)
        case _:
            assert_never(frame)


def written(value: Json, depth: int = FREE_DEPTH) -> str:
    """A free-form value as text. One with more than `depth` containers inside each other, too
    deep for a peer, is replaced."""
    try:
        text = dump(value)
    except RecursionError:
        return TOO_DEEP
    if text.count("[") + text.count("{") > depth and deeper(value, depth):
        return TOO_DEEP
    return text


def size_of(text: str) -> int:
    """Bytes that `text`, JSON already, takes on the wire."""
    return len(text.encode("utf-8", "replace"))


def snapshot_size(snapshot: wire.RunSnapshot) -> int:
    """Bytes that a snapshot takes in a list, its comma too."""
    return size_of(_snapshot(snapshot)) + 1


def _frame(text: str) -> bytes:
    # half of a surrogate pair cannot come from a codec of ours; it would be written as "?"
    frame = b"\x00" + text.encode("utf-8", "replace")
    if len(frame) > wire.MAX_FRAME:
        raise FrameTooLarge(len(frame))
    return frame


# --- client to daemon


def _message(message: wire.ClientMessage) -> str:
    match message:
        case wire.StartRun(run_id=run, request=request, idempotency_key=key):
            return f'"start_run","run_id":{quote(run)},"request":{_request(request)},{_key(key)}'
        case wire.AttachRun(run_id=run, after_sequence=after):
            return f'"attach_run","run_id":{quote(run)},"after_sequence":{after}'
        case wire.DetachRun(run_id=run):
            return f'"detach_run","run_id":{quote(run)}'
        case wire.InjectMessage(run_id=run, body=body, idempotency_key=key):
            return f'"inject_message","run_id":{quote(run)},"body":{quote(body)},{_key(key)}'
        case wire.CancelRun(run_id=run, idempotency_key=key):
            return f'"cancel_run","run_id":{quote(run)},{_key(key)}'
        case wire.DecideApproval():
            return (
                f'"decide_approval","run_id":{quote(message.run_id)},'
                f'"approval_id":{quote(message.approval_id)},'
                f'"decision":"{message.decision.value}",{_key(message.idempotency_key)}'
            )
        case wire.AckEvents(run_id=run, through_sequence=through):
            return f'"ack_events","run_id":{quote(run)},"through_sequence":{through}'
        case _:
            return _about_daemon(message)


def _about_daemon(
    message: wire.Hello
    | wire.ListRuns
    | wire.ProbeProviders
    | wire.ReadAccountUsage
    | wire.ShutdownIfIdle
    | wire.Shutdown
    | wire.InterruptSession,
) -> str:
    match message:
        case wire.Hello(client_name=name, version=version):
            return f'"hello","client_name":{quote(name)},"version":{_version(version)}'
        case wire.ListRuns():
            return '"list_runs"'
        case wire.ProbeProviders():
            return '"probe_providers"'
        case wire.ReadAccountUsage():
            return '"read_account_usage"'
        case wire.ShutdownIfIdle():
            return '"shutdown_if_idle"'
        case wire.Shutdown(mode=mode):
            return f'"shutdown","mode":"{mode.value}"'
        case wire.InterruptSession():
            return (
                f'"interrupt_session","provider":{quote(message.provider)},'
                f'"session_id":{quote(message.session_id)},"binary":{_maybe(message.binary)},'
                f"{_key(message.idempotency_key)}"
            )
        case _:
            assert_never(message)


def _key(key: str) -> str:
    return f'"idempotency_key":{quote(key)}'


def _request(r: wire.RunRequest) -> str:
    return (
        f'{{"provider":{quote(r.provider)},"model":{quote(r.model)},"prompt":{quote(r.prompt)},'
        f'"isCommand":{_bool(r.is_command)},"system":{_maybe(r.system)},'
        f'"permission":{quote(r.permission)},"effort":{_maybe(r.effort)},'
        f'"extraThinking":{_bool(r.extra_thinking)},"approvals":{_bool(r.approvals)},'
        f'"interactive":{_bool(r.interactive)},"workspaceRoots":{_strings(r.workspace_roots)},'
        f'"resumeSessionId":{_maybe(r.resume_session_id)},"binary":{_maybe(r.binary)},'
        f'"environment":{dump(r.environment)},"uncheckedArgs":{_strings(r.unchecked_args)},'
        f'"metadata":{written(r.metadata, _IN_TWO)}}}'
    )


# --- daemon to client


def _response(response: wire.ServerResponse) -> str:
    match response:
        case wire.Accepted():
            return '"accepted"'
        case wire.Error(code=code, message=message):
            return f'"error","code":"{code.value}","message":{quote(message)}'
        case wire.RunAnswer(run=run):
            return f'"run","run":{_snapshot(run, _IN_TWO)}'
        case wire.Runs(runs=runs):
            return f'"runs","runs":[{",".join(map(_snapshot, runs))}]'
        case wire.HelloAnswer(server_name=name, version=version, capabilities=names):
            return (
                f'"hello","server_name":{quote(name)},"version":{_version(version)},'
                f'"capabilities":{_strings(names)}'
            )
        case wire.Providers(providers=providers):
            return f'"providers","providers":[{",".join(map(_provider, providers))}]'
        case wire.AccountUsage(providers=accounts):
            return f'"account_usage","providers":[{",".join(map(_account, accounts))}]'
        case wire.SessionInterrupted(interrupted=interrupted):
            return f'"session_interrupted","interrupted":{_bool(interrupted)}'
        case _:
            assert_never(response)


def _snapshot(s: wire.RunSnapshot, depth: int = _IN_THREE) -> str:
    return (
        f'{{"runId":{quote(s.run_id)},"state":"{s.state.value}","provider":{quote(s.provider)},'
        f'"model":{quote(s.model)},"providerSessionId":{_maybe(s.provider_session_id)},'
        f'"latestSequence":{s.latest_sequence},"acknowledgedSequence":{s.acknowledged_sequence},'
        f'"workspaceRoots":{_strings(s.workspace_roots)},"metadata":{written(s.metadata, depth)}}}'
    )


def _provider(p: wire.ProviderStatus) -> str:
    return (
        f'{{"provider":{quote(p.provider)},"installed":{_bool(p.installed)},'
        f'"version":{_maybe(p.version)},"outdated":{_bool(p.outdated)},'
        f'"authState":{quote(p.auth_state)},"detail":{quote(p.detail)},'
        f'"authMethod":{_maybe(p.auth_method)},"account":{_maybe(p.account)},'
        f'"plan":{_maybe(p.plan)},"loginHint":{quote(p.login_hint)}}}'
    )


def _account(a: wire.ProviderAccountUsage) -> str:
    return (
        f'{{"provider":{quote(a.provider)},"supported":{_bool(a.supported)},'
        f'"usage":{written(a.usage, _IN_THREE)},"error":{_maybe(a.error)}}}'
    )


def _event(event: w.RunEvent) -> str:
    match event:
        case w.Text(payload=text):
            return f'{{"type":"text","payload":{quote(text)}}}'
        case w.Reasoning(payload=text):
            return f'{{"type":"reasoning","payload":{quote(text)}}}'
        case w.MessageBoundary():
            return '{"type":"message_boundary"}'
        case w.ToolCall(id=id, name=name, input=input):
            payload = (
                f'{{"id":{_maybe(id)},"name":{quote(name)},"input":{written(input, _IN_THREE)}}}'
            )
            return f'{{"type":"tool_call","payload":{payload}}}'
        case w.ToolResult(id=id, ok=ok, output=output):
            payload = f'{{"id":{_maybe(id)},"ok":{_bool(ok)},"output":{quote(output)}}}'
            return f'{{"type":"tool_result","payload":{payload}}}'
        case w.SessionOpened(provider_session_id=session, model=model):
            payload = f'{{"provider_session_id":{quote(session)},"model":{_maybe(model)}}}'
            return f'{{"type":"session_opened","payload":{payload}}}'
        case w.ApprovalRequested(approval_id=id, title=title, detail=detail):
            payload = (
                f'{{"approval_id":{quote(id)},"title":{quote(title)},'
                f'"detail":{written(detail, _IN_THREE)}}}'
            )
            return f'{{"type":"approval_requested","payload":{payload}}}'
        case _:
            return _plain_event(event)


def _plain_event(
    event: w.Finished
    | w.Failed
    | w.StateChanged
    | w.Usage
    | w.RateLimit
    | w.Compaction
    | w.Commands
    | w.ErrorEvent,
) -> str:
    match event:
        case w.Usage(payload=value):
            return f'{{"type":"usage","payload":{written(value, _IN_TWO)}}}'
        case w.StateChanged(payload=state):
            return f'{{"type":"state_changed","payload":"{state.value}"}}'
        case w.RateLimit(payload=value):
            return f'{{"type":"rate_limit","payload":{written(value, _IN_TWO)}}}'
        case w.Compaction(payload=value):
            return f'{{"type":"compaction","payload":{written(value, _IN_TWO)}}}'
        case w.Commands(payload=value):
            return f'{{"type":"commands","payload":{written(value, _IN_TWO)}}}'
        case w.ErrorEvent(payload=text):
            return f'{{"type":"error","payload":{quote(text)}}}'
        case w.Finished(payload=value):
            return f'{{"type":"finished","payload":{written(value, _IN_TWO)}}}'
        case w.Failed(payload=text):
            return f'{{"type":"failed","payload":{quote(text)}}}'
        case _:
            assert_never(event)


# --- pieces


def _version(version: wire.ProtocolVersion) -> str:
    return f'{{"major":{version.major},"minor":{version.minor}}}'


def _maybe(text: str | None) -> str:
    return "null" if text is None else quote(text)


def _bool(value: bool | None) -> str:
    return "null" if value is None else "true" if value else "false"


def _strings(items: Iterable[str]) -> str:
    return f"[{','.join(map(quote, items))}]"
