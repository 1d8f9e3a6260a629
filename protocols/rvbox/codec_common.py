"""The messages of common.proto, from protobuf and back: the codec's half that a published
original of that file would change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.message import DecodeError

from fleetgate.core.times import SECOND
from fleetgate.protocols.rvbox import wire as w
from fleetgate.schemas.rvbox.v1 import common_pb2 as pb

_EARLIEST: Final = -(1 << 63) * SECOND
_LATEST: Final = (1 << 63) * SECOND - 1
"""What the seconds of a `Timestamp` can say. Nanos beyond a second, or below nought, which no peer
should write, lead outside: such a time could be read, and not written again."""


def instant(message: Any, name: str) -> int | None:
    """A `Timestamp` member in nanoseconds; the nearest that can be written again."""
    if not message.HasField(name):
        return None
    value = getattr(message, name)
    nanos = int(value.seconds) * SECOND + int(value.nanos)
    return min(max(nanos, _EARLIEST), _LATEST)


def put_instant(message: Any, name: str, value: int | None) -> None:
    """Set such a member; None leaves it out."""
    if value is not None:
        member = getattr(message, name)
        member.SetInParent()
        member.seconds, member.nanos = divmod(value, SECOND)


MALFORMED: Final = -1
"""What a `Duration` reads as whose nanos are out of range, or of another sign than its seconds:
it has no length, and no check lets this one pass."""


def duration(message: Any, name: str) -> int | None:
    """A `Duration` member in nanoseconds."""
    if not message.HasField(name):
        return None
    value = getattr(message, name)
    seconds, nanos = int(value.seconds), int(value.nanos)
    fits = -SECOND < nanos < SECOND and (seconds == 0 or nanos == 0 or (seconds < 0) == (nanos < 0))
    return seconds * SECOND + nanos if fits else MALFORMED


def put_duration(message: Any, name: str, value: int | None) -> None:
    """Set such a member; None leaves it out."""
    if value is not None:
        member = getattr(message, name)
        member.SetInParent()
        seconds, nanos = divmod(abs(value), SECOND)
        member.seconds, member.nanos = (seconds, nanos) if value >= 0 else (-seconds, -nanos)


def plain(text: str) -> str:
    """The text, without the lone surrogates that a string may hold and protobuf refuses."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plains(texts: Iterable[str]) -> list[str]:
    """The same for several."""
    return [plain(each) for each in texts]


def read_error(m: pb.ControlError) -> w.ControlError:
    """A `ControlError` from protobuf."""
    return w.ControlError(m.code, m.message)


def write_error(m: Any, error: w.ControlError) -> None:
    """A `ControlError` into `m`, which is present then even if it is empty."""
    m.SetInParent()
    m.code = error.code
    m.message = plain(error.message)


def read_version(m: pb.ProtocolVersion) -> w.ProtocolVersion:
    """A `ProtocolVersion` from protobuf."""
    return w.ProtocolVersion(m.major, m.minor)


def write_version(m: Any, version: w.ProtocolVersion) -> None:
    """A `ProtocolVersion` into `m`."""
    m.SetInParent()
    m.major = version.major
    m.minor = version.minor


# --- requests


def _read_program(m: pb.ExecutionSpec) -> str | w.Argv | w.ScriptRef | None:
    match m.WhichOneof("program"):
        case "command_line":
            return m.command_line
        case "argv":
            return w.Argv(tuple(m.argv.args))
        case "script":
            script = m.script
            return w.ScriptRef(script.size_bytes, script.sha256, tuple(script.args))
        case _:
            return None


def _read_unknown(m: pb.ExecutionSpec) -> bytes:
    rest = pb.ExecutionSpec()
    rest.CopyFrom(m)
    for field in _SPEC_FIELDS:
        rest.ClearField(field)
    return rest.SerializeToString()


_SPEC_FIELDS: Final[tuple[Any, ...]] = tuple(
    field.name for field in pb.ExecutionSpec.DESCRIPTOR.fields
)


def read_spec(m: pb.ExecutionSpec) -> w.ExecutionSpec:
    """An `ExecutionSpec` from protobuf."""
    return w.ExecutionSpec(
        program=_read_program(m),
        shell=m.shell,
        cwd=m.cwd,
        env=dict(m.env),
        timeout=duration(m, "timeout"),
        open_stdin=m.open_stdin,
        merge_stderr=m.merge_stderr,
        unknown=_read_unknown(m),
    )


def write_spec(m: Any, spec: w.ExecutionSpec) -> None:
    """An `ExecutionSpec` into `m`."""
    if spec.unknown:
        m.MergeFromString(spec.unknown)
    match spec.program:
        case str() as line:
            m.command_line = plain(line)
        case w.Argv(args=args):
            m.argv.SetInParent()
            m.argv.args.extend(plains(args))
        case w.ScriptRef() as script:
            m.script.SetInParent()
            m.script.size_bytes = script.size_bytes
            m.script.sha256 = script.sha256
            m.script.args.extend(plains(script.args))
        case None:
            pass
    m.shell = spec.shell
    m.cwd = plain(spec.cwd)
    for name, value in spec.env.items():
        m.env[plain(name)] = plain(value)
    put_duration(m, "timeout", spec.timeout)
    m.open_stdin = spec.open_stdin
    m.merge_stderr = spec.merge_stderr


def is_unknown_part(data: bytes) -> bool:
    """Whether `data` may be an `ExecutionSpec.unknown`: encoded members, none known here."""
    part = pb.ExecutionSpec()
    try:
        part.ParseFromString(data)
    except DecodeError:
        return False
    return not part.ListFields()


# --- events: the hot path, so without detours


def _read_happening(m: pb.CommandEvent) -> w.Happening | None:
    match m.WhichOneof("event"):
        case "output":
            chunk = m.output
            return w.OutputChunk(chunk.stream, chunk.data, chunk.offset)
        case "stdin_ack":
            return w.StdinAck(m.stdin_ack.through_write_seq)
        case "lifecycle":
            return w.LifecycleChanged(m.lifecycle.lifecycle, m.lifecycle.pid)
        case "exit":
            end = m.exit
            code = end.exit_code if end.HasField("exit_code") else None
            error = read_error(end.error) if end.HasField("error") else None
            return w.CommandExit(end.lifecycle, code, end.signal, error)
        case _:
            return None


def _write_happening(m: Any, event: w.Happening | None) -> None:
    match event:
        case w.OutputChunk():
            output = m.output
            output.stream = event.stream
            output.data = event.data
            output.offset = event.offset
            output.SetInParent()
        case w.StdinAck():
            m.stdin_ack.SetInParent()
            m.stdin_ack.through_write_seq = event.through_write_seq
        case w.LifecycleChanged():
            m.lifecycle.SetInParent()
            m.lifecycle.lifecycle = event.lifecycle
            m.lifecycle.pid = event.pid
        case w.CommandExit():
            _write_exit(m.exit, event)
        case None:
            pass


def _write_exit(m: Any, end: w.CommandExit) -> None:
    m.SetInParent()
    m.lifecycle = end.lifecycle
    if end.exit_code is not None:
        m.exit_code = end.exit_code
    m.signal = plain(end.signal)
    if end.error is not None:
        write_error(m.error, end.error)


def read_event(m: pb.CommandEvent) -> w.CommandEvent:
    """A `CommandEvent` from protobuf."""
    return w.CommandEvent(
        m.issue_uuid,
        m.command_revision,
        m.event_seq,
        instant(m, "event_time"),
        _read_happening(m),
    )


def write_event(m: Any, event: w.CommandEvent) -> None:
    """A `CommandEvent` into `m`."""
    m.issue_uuid = event.issue_uuid
    m.command_revision = event.command_revision
    m.event_seq = event.event_seq
    put_instant(m, "event_time", event.event_time)
    _write_happening(m, event.event)
