"""Requests, refusals and workers: rvbox to core and back. Pure, and total over what may come."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.worker import InputKind, WorkerInfo
from fleetgate.protocols.rvbox import codec, limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec_common import is_unknown_part
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

NATIVE: Final = "rvbox"
"""Under this name a run keeps what only rvbox understands."""

INPUTS: Final = frozenset({InputKind.SHELL})
"""What a host takes."""

_NAMESPACE: Final = uuid.UUID("5b0a3a06-6f0c-5c0e-9f43-2b6b8c5d7e21")
"""Ours alone, so that a derived issue_uuid meets nobody else's."""

SHELLS: Final[Mapping[str, w.ShellType]] = {
    "": w.ShellType.UNSPECIFIED,
    **{shell.name.lower(): shell for shell in w.ShellType if shell is not w.ShellType.UNSPECIFIED},
}
PLATFORMS: Final[Mapping[str, w.Platform]] = {
    platform.name.lower(): platform
    for platform in w.Platform
    if platform is not w.Platform.UNSPECIFIED
}
_SHELL_NAMES: Final = {shell.value: name for name, shell in SHELLS.items()}
_PLATFORM_NAMES: Final = {platform.value: name for name, platform in PLATFORMS.items()}


OPERATOR: Final = "admin"
"""The link of runs that an operator started, as `fleetgate.core.routing` has it (a test proves
it). Their names are ours and no peer's, so that such a name may be a command's uuid (I12)."""


def issue_uuid(run: RunId, origin: c.Origin) -> str:
    """The uuid of a run at a client: its own id, or an operator's name for it, where that is
    one, else one derived from its id."""
    own = origin.native_run if origin.link == OPERATOR else run
    return own if limits.is_uuid(own) else str(uuid.uuid5(_NAMESPACE, run))


def runs_of(issue_uuid: str) -> tuple[RunId, ...]:
    """The runs that a uuid may be of, as far as it tells."""
    return RunId(f"{OPERATOR}/{issue_uuid}"), RunId(issue_uuid)


# --- requests


def to_dispatch(issue_uuid: str, spec: c.RunSpec, created: int) -> w.CommandDispatch:
    """The request for a run, digest and all, without its session and revision. Equal runs make
    equal requests, now and after a restart.

    Raises: `InvalidArgument`, `UnsupportedInput`.
    """
    asked = _to_spec(spec)
    wrong = limits.check_spec(asked)
    if wrong is not None:
        raise errors.InvalidArgument(f"an rvbox host cannot be given this: {wrong.message}")
    dispatch = w.CommandDispatch(
        issue_uuid=issue_uuid,
        issue_time=created,
        spec=asked,
        queue_expiry_time=spec.expires,
    )
    digest = codec.request_digest(dispatch)
    return attrs.evolve(dispatch, immutable_request_sha256=digest)


def _to_spec(spec: c.RunSpec) -> w.ExecutionSpec:
    given = spec.input
    if not isinstance(given, c.ShellCommand):
        raise errors.UnsupportedInput(
            "an rvbox host takes shell commands only; set `adapt` on the route to it"
        )
    return w.ExecutionSpec(
        program=_to_program(given),
        shell=_to_shell(given.shell),
        cwd=given.cwd or (spec.workspace[0] if spec.workspace else ""),
        env=spec.environment,
        timeout=spec.timeout,
        open_stdin=spec.interactive or given.stdin is not None,
        merge_stderr=given.merge_stderr,
        unknown=_unknown_part(spec),
    )


def _to_program(given: c.ShellCommand) -> str | w.Argv | w.ScriptRef:
    ways = [way for way in (given.line, given.argv, given.script) if way is not None]
    if len(ways) != 1:
        raise errors.InvalidArgument(
            f"a shell command is one of line, argv and script; {len(ways)} of them came"
        )
    match ways[0]:
        case str() as line:
            return line
        case c.Script(data=None):
            raise errors.InvalidArgument("the script of this run is not uploaded yet")
        case c.Script() as script:
            return w.ScriptRef(script.size, script.sha256, script.args)
        case argv:
            return w.Argv(argv)


def _to_shell(name: str) -> w.ShellType:
    shell = SHELLS.get(name)
    if shell is None:
        known = ", ".join(known for known in SHELLS if known)
        raise errors.InvalidArgument(f"shell {name[:32]!r} is not one of {known}")
    return shell


def native_of(spec: c.RunSpec) -> Mapping[str, Json]:
    """What the spec keeps for rvbox alone."""
    kept = spec.native.get(NATIVE)
    return kept if isinstance(kept, Mapping) else {}


def with_expiry(spec: c.RunSpec, created: int) -> c.RunSpec:
    """The spec with its `native.rvbox.queue_expiry_ms`, which counts from the run's acceptance
    whether a host is there or not, as the instant until which the run may wait."""
    after = native_of(spec).get("queue_expiry_ms")
    if spec.expires is not None or isinstance(after, bool) or not isinstance(after, int):
        return spec
    expires = min(max(created + after * 1_000_000, 0), limits.FAR)
    return attrs.evolve(spec, expires=expires)


def _unknown_part(spec: c.RunSpec) -> bytes:
    kept = native_of(spec).get("unknown", "")
    try:
        part = bytes.fromhex(kept) if isinstance(kept, str) else None
    except ValueError:
        part = None
    if part is None or not is_unknown_part(part):
        raise errors.InvalidArgument(
            "native.rvbox.unknown must be members of an ExecutionSpec in hexadecimal"
        )
    return part


def to_run_spec(dispatch: w.CommandDispatch, *, approvals: bool = False) -> c.RunSpec:
    """What a request that passed `limits.check_spec` asks of the core."""
    spec = dispatch.spec
    return c.RunSpec(
        input=_to_command(spec),
        environment=dict(spec.env),
        timeout=_near(spec.timeout),
        expires=_near(dispatch.queue_expiry_time),
        approvals=approvals and spec.open_stdin,
        interactive=spec.open_stdin,
        announce=True,
        native={NATIVE: _native(dispatch)},
    )


def _near(value: int | None) -> int | None:
    return value if value is None else min(max(value, 0), limits.FAR)


def _to_command(spec: w.ExecutionSpec) -> c.ShellCommand:
    line: str | None = None
    argv: tuple[str, ...] | None = None
    script: c.Script | None = None
    match spec.program:
        case w.Argv(args=args):
            argv = args
        case w.ScriptRef() as ref:
            script = c.Script(ref.size_bytes, ref.sha256, ref.args)
        case program:
            line = program or ""
    return c.ShellCommand(
        line=line,
        argv=argv,
        script=script,
        shell=_SHELL_NAMES[spec.shell],
        cwd=spec.cwd,
        merge_stderr=spec.merge_stderr,
    )


def _native(dispatch: w.CommandDispatch) -> dict[str, Json]:
    kept: dict[str, Json] = {
        "sha256": dispatch.immutable_request_sha256.hex(),
        "revision": dispatch.command_revision,
    }
    if dispatch.issue_time is not None:
        kept["issue_time"] = dispatch.issue_time
    if dispatch.spec.unknown:
        kept["unknown"] = dispatch.spec.unknown.hex()
    return kept


# --- signals


_SIGNALS: Final[Mapping[c.Signal, w.SignalKind]] = {
    c.Signal.INTERRUPT: w.SignalKind.INTERRUPT,
    c.Signal.TERMINATE: w.SignalKind.TERMINATE,
    c.Signal.KILL: w.SignalKind.KILL,
    c.Signal.HANGUP: w.SignalKind.HANGUP,
}
_CORE_SIGNALS: Final = {kind.value: signal for signal, kind in _SIGNALS.items()}


def from_signal(signal: c.Signal) -> w.SignalKind:
    """The number of a signal."""
    return _SIGNALS[signal]


def to_signal(number: int) -> c.Signal | None:
    """The signal of a number, None where it is of none."""
    return _CORE_SIGNALS.get(number)


# --- refusals


REFUSALS: Final[Mapping[type[errors.Refusal], Code]] = {
    errors.InvalidArgument: Code.INVALID_ARGUMENT,
    errors.RunNotFound: Code.NOT_FOUND,
    errors.SessionNotFound: Code.NOT_FOUND,
    errors.WorkerNotFound: Code.NOT_FOUND,
    errors.ApprovalNotFound: Code.NOT_FOUND,
    errors.Conflict: Code.CONFLICT,
    errors.RunEnded: Code.NOT_FOUND,
    errors.UnsupportedInput: Code.INVALID_ARGUMENT,
    errors.NotAccepted: Code.INVALID_ARGUMENT,
    errors.NoRoute: Code.INVALID_ARGUMENT,
    errors.Unavailable: Code.RESOURCE_EXHAUSTED,
    errors.Stopping: Code.QUEUE_FULL,
    errors.ResourceExhausted: Code.RESOURCE_EXHAUSTED,
    errors.NotAllowed: Code.CONFLICT,
    errors.Fenced: Code.STALE_SESSION,
    errors.InstanceConflict: Code.CLIENT_ID_IN_USE,
    errors.WorkerFailed: Code.INTERNAL,
}
"""Every refusal of the core, as a server hears it. Those that pass by themselves become
QUEUE_FULL or RESOURCE_EXHAUSTED, on which our own server tries again."""


def to_error(refusal: errors.Refusal) -> w.ControlError:
    """A refusal as the wire has it."""
    return w.ControlError(REFUSALS.get(type(refusal), Code.INTERNAL), refusal.message)


PASSING: Final = frozenset({Code.QUEUE_FULL, Code.RESOURCE_EXHAUSTED})
"""Rejections of a dispatch that may be gone when it is sent again."""


def code_name(code: int) -> str:
    """An error's code as a word, `code 99` where it has none here."""
    try:
        return Code(code).name.lower()
    except ValueError:
        return f"code {code}"


# --- workers


def to_worker(link: str, hello: w.ClientHello) -> WorkerInfo:
    """The worker that a client is."""
    return WorkerInfo(
        id=WorkerId(f"{link}/{hello.client_id}"),
        pool=link,
        inputs=INPUTS,
        instance=hello.client_instance_id,
        numbered_input=True,
        enforces_timeout=True,
        exclusive=True,
        detail=_detail(hello),
    )


def _detail(hello: w.ClientHello) -> dict[str, Any]:
    return {
        "platform": _PLATFORM_NAMES.get(hello.platform, f"platform {hello.platform}"),
        "architecture": hello.architecture,
        "shells": shell_names(hello.supported_shells),
        "daemon_version": hello.daemon_version,
        "daemon_cwd": hello.daemon_cwd,
        "max_running_commands": hello.max_running_commands,
        "max_queued_commands": hello.max_queued_commands,
    }


def shell_names(shells: Iterable[int]) -> list[str]:
    """Shells by name, each once; those without one by number."""
    named = (_SHELL_NAMES.get(shell, f"shell {shell}") or "default" for shell in shells)
    return list(dict.fromkeys(named))
