"""A run's spec out of JSON, as the admin API and the fakes' front end take it."""

from __future__ import annotations

import hashlib
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeVar, cast

import attrs

from fleetgate.core.commands import (
    Input,
    Prompt,
    RunSpec,
    Script,
    ShellCommand,
    ToolCall,
)
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.ids import SessionId
from fleetgate.core.json import NOTHING
from fleetgate.core.values import value
from fleetgate.gateway.config_reader import Flawed, read, unknown_key
from fleetgate.gateway.toml_lines import Path

MILLISECOND: Final = 1_000_000

MAX_TIMEOUT: Final = 10**12
"""Milliseconds that a run may be given: thirty years. Nanoseconds of it have room in 64 bits, which
is what a journal and a protocol have for them."""

_T = TypeVar("_T")


@value
class _Prompt:
    prompt: str
    system: str | None = None
    provider: str = ""
    model: str = ""
    effort: str | None = None
    messages: tuple[Any, ...] = ()


@value
class _Command:
    line: str | None = None
    argv: tuple[str, ...] | None = None
    script: str | None = None
    args: tuple[str, ...] = ()
    shell: Literal["", "none", "sh", "bash", "zsh", "powershell", "pwsh", "cmd"] = ""
    cwd: str = ""
    env: Mapping[str, str] = NOTHING
    stdin: str | None = None
    stdin_base64: str | None = None
    merge_stderr: bool = False


@value
class _Tool:
    tool: str
    arguments: Any = None


@value
class _Spec:
    input: Any
    workspace: tuple[str, ...] = ()
    environment: Mapping[str, str] = NOTHING
    timeout_ms: int | None = None
    permission: str = ""
    approvals: bool = False
    interactive: bool = False
    background: bool = False
    session: str | None = None
    resume: str | None = None
    labels: Mapping[str, str] = NOTHING
    metadata: Mapping[str, Any] = NOTHING
    native: Mapping[str, Any] = NOTHING


_INPUT_KEYS: Final = frozenset(
    name for kind in (_Prompt, _Command, _Tool) for name in attrs.fields_dict(kind)
)

SPEC_KEYS: Final = frozenset(attrs.fields_dict(_Spec))
"""The members of the object that `read_spec` takes."""


def read_object(kind: type[_T], value: object, path: Path = (), *, also: Iterable[str] = ()) -> _T:
    """Read a JSON object as the attrs class `kind`, exactly. `also` are members that are known
    elsewhere, for suggestions.

    Raises: `InvalidArgument`, whose text names the members and repeats no value.
    """
    try:
        return read(kind, value, path, also=also)
    except Flawed as error:
        said = [f"{_member(flaw.path)}: {flaw.message}" for flaw in error.flaws]
        # What TOML calls a table is an object in JSON.
        raise InvalidArgument("; ".join(said).replace("a table", "an object")) from None


def read_spec(value: object) -> RunSpec:
    """Read a run's spec.

    Raises: `InvalidArgument`, whose text names the member and repeats no value.
    """
    raw = read_object(_Spec, value)
    given, environment = _read_input(raw.input)
    return RunSpec(
        given,
        workspace=raw.workspace,
        environment={**raw.environment, **environment},
        timeout=_timeout(raw.timeout_ms),
        permission=raw.permission,
        approvals=raw.approvals,
        interactive=raw.interactive,
        background=raw.background,
        session=None if raw.session is None else SessionId(raw.session),
        resume=raw.resume,
        labels=raw.labels,
        metadata=raw.metadata,
        native=raw.native,
    )


def _member(path: Path) -> str:
    return ".".join(map(str, path)) or "the spec"


def _timeout(milliseconds: int | None) -> int | None:
    if milliseconds is None:
        return None
    if not 0 < milliseconds <= MAX_TIMEOUT:
        raise InvalidArgument(f"timeout_ms: expected a number above 0, at most {MAX_TIMEOUT}")
    return milliseconds * MILLISECOND


def _read_input(value: object) -> tuple[Input, Mapping[str, str]]:
    """The input, and the environment that a command brings."""
    members: Mapping[str, object] = (
        cast(Mapping[str, object], value) if isinstance(value, Mapping) else NOTHING
    )
    if "prompt" in members:
        return _prompt(read_object(_Prompt, members, ("input",))), NOTHING
    if "tool" in members:
        tool = read_object(_Tool, members, ("input",))
        return ToolCall(tool.tool, tool.arguments), NOTHING
    if members.keys() & {"line", "argv", "script"}:
        raw = read_object(_Command, members, ("input",))
        return _command(raw), raw.env
    wrong = next((key for key in members if key not in _INPUT_KEYS), None)
    hint = "" if wrong is None else f"; {wrong}: {unknown_key(wrong, _INPUT_KEYS)}"
    said = "input: expected an object with one of prompt, line, argv, script, tool"
    raise InvalidArgument(said + hint)


def _prompt(raw: _Prompt) -> Prompt:
    return Prompt(
        raw.prompt,
        raw.system,
        provider=raw.provider,
        model=raw.model,
        effort=raw.effort,
        messages=raw.messages,
    )


def _command(raw: _Command) -> ShellCommand:
    given = [name for name in ("line", "argv", "script") if getattr(raw, name) is not None]
    if len(given) != 1:
        raise InvalidArgument(f"input: expected one of line, argv, script, got {', '.join(given)}")
    if raw.argv == ():
        raise InvalidArgument("input.argv: expected at least a program")
    if raw.args and raw.script is None:
        raise InvalidArgument("input.args: go with script; put them into argv")
    return ShellCommand(
        line=raw.line,
        argv=raw.argv,
        script=None if raw.script is None else _script(raw.script, raw.args),
        shell=raw.shell,
        cwd=raw.cwd,
        stdin=_stdin(raw),
        merge_stderr=raw.merge_stderr,
    )


def _script(text: str, args: tuple[str, ...]) -> Script:
    data = read_utf8(text, "input.script")
    return Script(len(data), hashlib.sha256(data).digest(), args, data)


def _stdin(raw: _Command) -> bytes | None:
    if raw.stdin is not None and raw.stdin_base64 is not None:
        raise InvalidArgument("input: expected one of stdin and stdin_base64, got both")
    if raw.stdin_base64 is not None:
        return read_base64(raw.stdin_base64, "input.stdin_base64")
    return None if raw.stdin is None else read_utf8(raw.stdin, "input.stdin")


def read_base64(text: str, member: str) -> bytes:
    """Read base64 text. Raises: `InvalidArgument`, naming `member`."""
    try:
        return b64decode(text, validate=True)
    except (BadBase64, ValueError):
        raise InvalidArgument(f"{member}: is not base64") from None


def read_utf8(text: str, member: str) -> bytes:
    """The text's bytes. Raises: `InvalidArgument`, naming `member`."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{member}: half a surrogate pair is no text") from None
