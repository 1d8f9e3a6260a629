"""What the protocol allows in a message, and the check of a request against it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

FRAME: Final = 1 << 20
"""Bytes of one envelope, both ways."""

SCRIPT: Final = 16 << 20
"""Bytes of a script."""

SCRIPT_CHUNK: Final = 64 << 10
"""Bytes of one piece of it."""

DIGEST: Final = 32
"""A SHA-256 has so many bytes."""

ARGUMENT: Final = 131_071
"""Bytes of a command line, and of each `KEY=VALUE`: Linux takes no longer string for exec."""

ARGUMENTS: Final = 4096
"""Items of an argv."""

ENV_ENTRIES: Final = 256
ENV: Final = 128 << 10
"""Bytes of all names and values of an environment."""

RETAINED: Final = 8_000
"""Commands that a client may retain: their snapshot, some hundred bytes each, fits a frame."""

FAR: Final = (1 << 63) - 1
"""Nanoseconds. Protobuf's instants and durations reach further than a signed 64-bit number
of nanoseconds; whatever lies beyond the year 2262 counts as this."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CLIENT_ID: Final = re.compile(r"[!-~]{1,128}")


def is_uuid(text: str) -> bool:
    """Whether this is a UUID in its canonical lower-case form."""
    return _UUID.fullmatch(text) is not None


def is_client_id(text: str) -> bool:
    """Whether this is 1 to 128 characters of printable ASCII without spaces."""
    return _CLIENT_ID.fullmatch(text) is not None


def check_spec(
    spec: w.ExecutionSpec, shells: Collection[int] | None = None
) -> w.ControlError | None:
    """What is wrong with a request, or None. `shells`: those that the client offers."""
    if isinstance(spec.program, str) and spec.shell == w.ShellType.NONE:
        text = "a command_line needs a shell; without one use argv"
        return w.ControlError(Code.INVALID_ARGUMENT, text)
    if spec.shell not in _SHELLS or not _offered(spec, shells):
        return w.ControlError(Code.UNSUPPORTED_SHELL, f"shell {spec.shell} is not offered here")
    wrong = _wrong_program(spec) or _wrong_env(spec.env) or _wrong_rest(spec)
    return w.ControlError(Code.INVALID_ARGUMENT, wrong) if wrong else None


_SHELLS: Final = frozenset(w.ShellType)
_DIRECT: Final = frozenset({w.ShellType.UNSPECIFIED, w.ShellType.NONE})


def _offered(spec: w.ExecutionSpec, shells: Collection[int] | None) -> bool:
    return shells is None or spec.shell == w.ShellType.UNSPECIFIED or spec.shell in shells


def _wrong_program(spec: w.ExecutionSpec) -> str:
    match spec.program:
        case None:
            return "a program is needed: command_line, argv or script"
        case str() as line:
            return _wrong_line(line)
        case w.Argv(args=args):
            return _wrong_argv(args, spec.shell)
        case w.ScriptRef() as script:
            return _wrong_script(script)


def _wrong_line(line: str) -> str:
    if not line:
        return "command_line is empty"
    if _size(line) > ARGUMENT:
        return f"command_line has {_size(line)} bytes; at most {ARGUMENT} can be executed"
    return _nul("command_line", (line,))


def _wrong_argv(args: tuple[str, ...], shell: int) -> str:
    if not args or not args[0]:
        return "argv needs a program as its first item"
    if shell not in _DIRECT:
        return "argv is executed directly; leave the shell unset or NONE"
    return _too_many(args) or _nul("argv", args)


def _wrong_script(script: w.ScriptRef) -> str:
    if script.size_bytes > SCRIPT:
        return f"the script has {script.size_bytes} bytes; at most {SCRIPT} are taken"
    if len(script.sha256) != DIGEST:
        return f"the script's sha256 has {len(script.sha256)} bytes instead of {DIGEST}"
    return _too_many(script.args) or _nul("the script's args", script.args)


def _too_many(args: tuple[str, ...]) -> str:
    if len(args) > ARGUMENTS:
        return f"{len(args)} arguments came; at most {ARGUMENTS} are taken"
    return ""


def _wrong_env(env: Mapping[str, str]) -> str:
    if len(env) > ENV_ENTRIES:
        return f"env has {len(env)} entries; at most {ENV_ENTRIES} are taken"
    total = 0
    for name, value in env.items():
        if not name or "=" in name:
            return "a name in env is empty or holds ="
        size = _size(name) + _size(value)
        if size + 1 > ARGUMENT:
            return f"an entry of env has {size + 1} bytes; at most {ARGUMENT} can be executed"
        total += size
    if total > ENV:
        return f"env has {total} bytes; at most {ENV} are taken"
    return _nul("env", (*env, *env.values()))


def _wrong_rest(spec: w.ExecutionSpec) -> str:
    if spec.timeout is not None and spec.timeout <= 0:
        return "timeout must be a valid duration above 0; leave it out for none"
    return _nul("cwd", (spec.cwd,))


def _nul(where: str, texts: Iterable[str]) -> str:
    return f"{where} holds a NUL character" if any("\0" in text for text in texts) else ""


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
