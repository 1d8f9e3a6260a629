"""Frames to messages and back. With `codec_common` and `codec_digests` the only file that knows
protobuf."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from google.protobuf.message import DecodeError

from fleetgate.core.times import SECOND
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.rvbox import codec_common as common
from fleetgate.protocols.rvbox import wire as w
from fleetgate.schemas.rvbox.v1 import agent_pb2 as agent


def decode(frame: bytes) -> w.Envelope:
    """The message in a frame.

    Raises: `RemoteProtocolError`, without steps: what to answer is the connection's to say.
    """
    envelope = agent.AgentEnvelope()
    try:
        envelope.ParseFromString(frame)
    except DecodeError:
        raise RemoteProtocolError(
            f"expected an AgentEnvelope in protobuf; {len(frame)} bytes came that are none"
        ) from None
    kind = envelope.WhichOneof("payload")
    if kind is None:
        payload: w.Payload = _UNKNOWN
    else:
        payload = _DECODERS[kind](getattr(envelope, kind))
    return w.Envelope(envelope.session_id, envelope.session_generation, payload)


Told: TypeAlias = tuple[int, int, w.Piece]
"""The number, the time and the piece of an event."""


class Output(NamedTuple):
    """What matters of an envelope whose payload is a piece of output."""

    session_id: str
    session_generation: int
    issue_uuid: str
    event_seq: int
    stream: int
    data: bytes
    offset: int


def outputs_of(frames: Iterable[bytes]) -> Iterator[Output]:
    """The pieces of output in frames, up to the first frame that is anything else, be it a
    message at all or not.

    Nearly every frame of a busy host is one. Values that nobody looks at are not made for it,
    which is half the time that `decode` takes.
    """
    parse = agent.AgentEnvelope.FromString
    for frame in frames:
        try:
            envelope = parse(frame)
        except DecodeError:
            return
        if envelope.WhichOneof("payload") != "command_event":
            return
        event = envelope.command_event
        if event.WhichOneof("event") != "output":
            return
        chunk = event.output
        yield Output(
            envelope.session_id,
            envelope.session_generation,
            event.issue_uuid,
            event.event_seq,
            chunk.stream,
            chunk.data,
            chunk.offset,
        )


def encode_outputs(
    session_id: str, generation: int, uuid: str, revision: int, told: Iterable[Told]
) -> list[bytes]:
    """The frames of a command's events that are each a piece of output: the same bytes as
    `encode` makes of them, in a third of the time, since one message is written again and again."""
    envelope = agent.AgentEnvelope(session_id=session_id, session_generation=generation)
    event: Any = envelope.command_event
    event.issue_uuid, event.command_revision = uuid, revision
    instant, output = event.event_time, event.output
    instant.SetInParent()
    output.SetInParent()
    frames: list[bytes] = []
    for seq, time, (stream, data, offset) in told:
        event.event_seq = seq
        instant.seconds, instant.nanos = divmod(time, SECOND)
        output.stream, output.data, output.offset = stream, data, offset
        frames.append(envelope.SerializeToString())
    return frames


def encode(message: w.Envelope) -> bytes:
    """The frame of a message. Text that UTF-8 cannot hold is written with `?` in its place."""
    payload = message.payload
    envelope = agent.AgentEnvelope(
        session_id=message.session_id, session_generation=message.session_generation
    )
    if not isinstance(payload, w.Unknown):
        kind, write = _ENCODERS[type(payload)]
        member = getattr(envelope, kind)
        member.SetInParent()
        write(member, payload)
    return envelope.SerializeToString()


def request_digest(dispatch: w.CommandDispatch) -> bytes:
    """The 32 bytes by which a request is told from another one with the same uuid: SHA-256 over
    the deterministic serialization of what may never change in it."""
    message = agent.CommandDispatch(issue_uuid=dispatch.issue_uuid)
    common.put_instant(message, "issue_time", dispatch.issue_time)
    message.spec.SetInParent()
    common.write_spec(message.spec, dispatch.spec)
    common.put_instant(message, "queue_expiry_time", dispatch.queue_expiry_time)
    return hashlib.sha256(message.SerializeToString(deterministic=True)).digest()


_UNKNOWN: Final = w.Unknown()


# --- session


def _read_hello(m: agent.ClientHello) -> w.ClientHello:
    offered = None
    if m.HasField("supported_protocol"):
        least, most = m.supported_protocol.minimum, m.supported_protocol.maximum
        offered = w.ProtocolRange(common.read_version(least), common.read_version(most))
    return w.ClientHello(
        client_id=m.client_id,
        supported_protocol=offered,
        daemon_version=m.daemon_version,
        platform=m.platform,
        architecture=m.architecture,
        daemon_cwd=m.daemon_cwd,
        supported_shells=tuple(m.supported_shells),
        client_instance_id=m.client_instance_id,
        max_running_commands=m.max_running_commands,
        max_queued_commands=m.max_queued_commands,
        sent_at=common.instant(m, "sent_at"),
    )


def _write_hello(m: Any, hello: w.ClientHello) -> None:
    m.client_id = common.plain(hello.client_id)
    if hello.supported_protocol is not None:
        common.write_version(m.supported_protocol.minimum, hello.supported_protocol.minimum)
        common.write_version(m.supported_protocol.maximum, hello.supported_protocol.maximum)
    m.daemon_version = common.plain(hello.daemon_version)
    m.platform = hello.platform
    m.architecture = common.plain(hello.architecture)
    m.daemon_cwd = common.plain(hello.daemon_cwd)
    m.supported_shells.extend(hello.supported_shells)
    m.client_instance_id = common.plain(hello.client_instance_id)
    m.max_running_commands = hello.max_running_commands
    m.max_queued_commands = hello.max_queued_commands
    common.put_instant(m, "sent_at", hello.sent_at)


def _read_welcome(m: agent.ServerWelcome) -> w.ServerWelcome:
    return w.ServerWelcome(
        common.read_version(m.selected_protocol), common.instant(m, "server_time")
    )


def _write_welcome(m: Any, welcome: w.ServerWelcome) -> None:
    common.write_version(m.selected_protocol, welcome.selected_protocol)
    common.put_instant(m, "server_time", welcome.server_time)


def _read_capacity(m: agent.ClientCapacity) -> w.ClientCapacity:
    return w.ClientCapacity(
        m.running_commands, m.queued_commands, m.max_running_commands, m.max_queued_commands
    )


def _write_capacity(m: Any, capacity: w.ClientCapacity) -> None:
    m.running_commands = capacity.running_commands
    m.queued_commands = capacity.queued_commands
    m.max_running_commands = capacity.max_running_commands
    m.max_queued_commands = capacity.max_queued_commands


def _read_agent_error(m: agent.AgentError) -> w.AgentError:
    return w.AgentError(common.read_error(m.error), m.close_session)


def _write_agent_error(m: Any, error: w.AgentError) -> None:
    common.write_error(m.error, error.error)
    m.close_session = error.close_session


# --- reconcile


def _read_target(m: agent.ReconcileTarget) -> w.ReconcileTarget:
    return w.ReconcileTarget(
        m.issue_uuid, m.last_server_event_seq, m.command_revision, m.immutable_request_sha256
    )


def _read_request(m: agent.ReconcileRequest) -> w.ReconcileRequest:
    return w.ReconcileRequest(tuple(map(_read_target, m.targets)))


def _write_request(m: Any, request: w.ReconcileRequest) -> None:
    for target in request.targets:
        m.targets.add(
            issue_uuid=common.plain(target.issue_uuid),
            last_server_event_seq=target.last_server_event_seq,
            command_revision=target.command_revision,
            immutable_request_sha256=target.immutable_request_sha256,
        )


def _read_state(m: agent.ReconcileCommandState) -> w.ReconcileCommandState:
    return w.ReconcileCommandState(
        m.issue_uuid,
        m.lifecycle,
        m.last_client_event_seq,
        m.command_revision,
        m.tombstoned,
        m.immutable_request_sha256,
    )


def _read_snapshot(m: agent.ReconcileSnapshot) -> w.ReconcileSnapshot:
    return w.ReconcileSnapshot(tuple(map(_read_state, m.retained_commands)))


def _write_snapshot(m: Any, snapshot: w.ReconcileSnapshot) -> None:
    for state in snapshot.retained_commands:
        m.retained_commands.add(
            issue_uuid=common.plain(state.issue_uuid),
            lifecycle=state.lifecycle,
            last_client_event_seq=state.last_client_event_seq,
            command_revision=state.command_revision,
            tombstoned=state.tombstoned,
            immutable_request_sha256=state.immutable_request_sha256,
        )


def _read_result(m: agent.ReconcileResult) -> w.ReconcileResult:
    return w.ReconcileResult(
        tuple(m.terminate_local_issue_uuids), tuple(m.discard_local_terminal_issue_uuids)
    )


def _write_result(m: Any, result: w.ReconcileResult) -> None:
    m.terminate_local_issue_uuids.extend(common.plains(result.terminate_local_issue_uuids))
    m.discard_local_terminal_issue_uuids.extend(
        common.plains(result.discard_local_terminal_issue_uuids)
    )


# --- commands


def _read_dispatch(m: agent.CommandDispatch) -> w.CommandDispatch:
    return w.CommandDispatch(
        issue_uuid=m.issue_uuid,
        command_revision=m.command_revision,
        target_session_generation=m.target_session_generation,
        issue_time=common.instant(m, "issue_time"),
        spec=common.read_spec(m.spec),
        queue_expiry_time=common.instant(m, "queue_expiry_time"),
        immutable_request_sha256=m.immutable_request_sha256,
    )


def _write_dispatch(m: Any, dispatch: w.CommandDispatch) -> None:
    m.issue_uuid = common.plain(dispatch.issue_uuid)
    m.command_revision = dispatch.command_revision
    m.target_session_generation = dispatch.target_session_generation
    common.put_instant(m, "issue_time", dispatch.issue_time)
    m.spec.SetInParent()
    common.write_spec(m.spec, dispatch.spec)
    common.put_instant(m, "queue_expiry_time", dispatch.queue_expiry_time)
    m.immutable_request_sha256 = dispatch.immutable_request_sha256


def _read_accepted(m: agent.CommandAccepted) -> w.CommandAccepted:
    rejection = common.read_error(m.rejection) if m.HasField("rejection") else None
    return w.CommandAccepted(m.issue_uuid, m.command_revision, m.accepted, rejection)


def _write_accepted(m: Any, accepted: w.CommandAccepted) -> None:
    m.issue_uuid = common.plain(accepted.issue_uuid)
    m.command_revision = accepted.command_revision
    m.accepted = accepted.accepted
    if accepted.rejection is not None:
        common.write_error(m.rejection, accepted.rejection)


def _read_stdin(m: agent.StdinWrite) -> w.StdinWrite:
    return w.StdinWrite(m.issue_uuid, m.write_seq, m.data, m.append_newline)


def _write_stdin(m: Any, write: w.StdinWrite) -> None:
    m.issue_uuid = common.plain(write.issue_uuid)
    m.write_seq = write.write_seq
    m.data = write.data
    m.append_newline = write.append_newline


def _read_close(m: agent.CloseStdin) -> w.CloseStdin:
    return w.CloseStdin(m.issue_uuid, m.write_seq)


def _write_close(m: Any, close: w.CloseStdin) -> None:
    m.issue_uuid = common.plain(close.issue_uuid)
    m.write_seq = close.write_seq


def _read_signal(m: agent.SignalCommand) -> w.SignalCommand:
    return w.SignalCommand(m.issue_uuid, m.command_revision, m.signal)


def _write_signal(m: Any, signal: w.SignalCommand) -> None:
    m.issue_uuid = common.plain(signal.issue_uuid)
    m.command_revision = signal.command_revision
    m.signal = signal.signal


def _read_chunk(m: agent.ScriptChunk) -> w.ScriptChunk:
    return w.ScriptChunk(m.issue_uuid, m.offset, m.data, m.sha256)


def _write_chunk(m: Any, chunk: w.ScriptChunk) -> None:
    m.issue_uuid = common.plain(chunk.issue_uuid)
    m.offset = chunk.offset
    m.data = chunk.data
    m.sha256 = chunk.sha256


def _read_commit(m: agent.ScriptCommit) -> w.ScriptCommit:
    return w.ScriptCommit(m.issue_uuid, m.size_bytes, m.sha256)


def _write_commit(m: Any, commit: w.ScriptCommit) -> None:
    m.issue_uuid = common.plain(commit.issue_uuid)
    m.size_bytes = commit.size_bytes
    m.sha256 = commit.sha256


def _read_ack(m: agent.EventAck) -> w.EventAck:
    return w.EventAck(m.issue_uuid, m.through_event_seq)


def _write_ack(m: Any, ack: w.EventAck) -> None:
    m.issue_uuid = ack.issue_uuid
    m.through_event_seq = ack.through_event_seq


_Read: TypeAlias = Callable[[Any], w.Payload]
_Write: TypeAlias = Callable[[Any, Any], None]

_KINDS: Final[tuple[tuple[str, type[w.Payload], _Read, _Write], ...]] = (
    ("client_hello", w.ClientHello, _read_hello, _write_hello),
    ("server_welcome", w.ServerWelcome, _read_welcome, _write_welcome),
    ("command_dispatch", w.CommandDispatch, _read_dispatch, _write_dispatch),
    ("command_accepted", w.CommandAccepted, _read_accepted, _write_accepted),
    ("command_event", w.CommandEvent, common.read_event, common.write_event),
    ("event_ack", w.EventAck, _read_ack, _write_ack),
    ("stdin_write", w.StdinWrite, _read_stdin, _write_stdin),
    ("close_stdin", w.CloseStdin, _read_close, _write_close),
    ("signal_command", w.SignalCommand, _read_signal, _write_signal),
    ("script_chunk", w.ScriptChunk, _read_chunk, _write_chunk),
    ("script_commit", w.ScriptCommit, _read_commit, _write_commit),
    ("client_capacity", w.ClientCapacity, _read_capacity, _write_capacity),
    ("reconcile_request", w.ReconcileRequest, _read_request, _write_request),
    ("reconcile_snapshot", w.ReconcileSnapshot, _read_snapshot, _write_snapshot),
    ("error", w.AgentError, _read_agent_error, _write_agent_error),
    ("reconcile_result", w.ReconcileResult, _read_result, _write_result),
)
"""The members of the envelope's `payload`, and how each is read and written."""

_DECODERS: Final[dict[str, _Read]] = {name: read for name, _, read, _ in _KINDS}
_ENCODERS: Final[dict[type[w.Payload], tuple[str, _Write]]] = {
    kind: (name, write) for name, kind, _, write in _KINDS
}
