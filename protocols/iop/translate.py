"""Requests between wire and core, both ways. Pure and total."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import attrs

from fleetgate.core import commands as c
from fleetgate.core.ids import RunId, SessionId, WorkerId
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.times import SECOND
from fleetgate.core.worker import NAMED, InputKind, WorkerInfo
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import Refused
from fleetgate.protocols.iop.names import BODY
from fleetgate.protocols.iop.surplus import put, put_input, read, surplus
from fleetgate.protocols.json_text import Malformed, deeper, dump, load

NATIVE: Final = "iop"
PROFILE: Final = "profile"
"""Under this name in `native`: what an edge has configured for the run, for whoever executes it."""

INPUTS: Final = frozenset(InputKind)
ADAPTER: Final = "adapter"
TARGET: Final = "target"
WORKSPACES: Final = "gateway.workspaces"

DEPTH: Final = 24
"""Containers within containers that a `Struct` may have: protobuf takes 100 messages within each
other, and one container is up to three."""

_INT32: Final = (1 << 31) - 1
_INPUT_KEYS: Final = frozenset({"prompt", "system", "messages", "command", "tool", "arguments"})


# --- what a peer asks


def check_ids(**ids: str) -> None:
    """Refuse ids that are too long. Raises: `Refused`."""
    for name, value in ids.items():
        if len(value.encode()) > w.MAX_ID:
            raise Refused("invalid_argument", f"{name} may have {w.MAX_ID} bytes")


def to_spec(request: w.RunRequest, *, profile: Json = None, placed: bool = False) -> c.RunSpec:
    """What a request asks for. `profile` is kept for whoever executes it. `placed`: the
    metadata may name the node.

    Raises: `Refused`.
    """
    if not request.run_id:
        raise Refused("invalid_argument", "run_id must not be empty")
    check_ids(run_id=request.run_id, session_id=request.session_id)
    if request.timeout_sec < 0:
        raise Refused("invalid_argument", "timeout_sec must be 0 (none) or above")
    if request.session_mode not in list(w.SessionMode):
        raise Refused("invalid_argument", f"session_mode {request.session_mode} is not known")
    for struct in (request.input, request.policy):
        _check_numbers(struct or {})
    policy = _Policy.read(request.policy or {})
    said = read(request.metadata)
    kept: dict[str, Json] = {NATIVE: codec.to_json(attrs.evolve(request, run_id=""))}
    if profile is not None:
        kept[PROFILE] = profile
    spec = c.RunSpec(
        input=_to_input(request.input or {}, policy),
        workspace=_workspaces(request),
        timeout=request.timeout_sec * SECOND or None,
        permission=policy.permission,
        approvals=policy.approvals,
        interactive=policy.interactive,
        background=request.background,
        session=SessionId(request.session_id) if request.session_id else None,
        labels=_labels(request, placed),
        metadata={k: v for k, v in request.metadata.items() if k not in (BODY, WORKSPACES)},
        native=kept,
    )
    return put(spec, said)


def _workspaces(request: w.RunRequest) -> tuple[str, ...]:
    """All that a gateway names, if the first is the one that everybody is told."""
    first = (request.workspace,) if request.workspace else ()
    try:
        told: Json = load(request.metadata.get(WORKSPACES, "null").encode())
    except Malformed:
        return first
    if not isinstance(told, list) or not all(isinstance(each, str) for each in told):
        return first
    return tuple(cast("list[str]", told)) if told[:1] == list(first) else first


def _labels(request: w.RunRequest, placed: bool) -> Mapping[str, str]:
    named = request.metadata.get(NAMED, "") if placed else ""
    labels = {ADAPTER: request.adapter, TARGET: request.target, NAMED: named}
    return {key: value for key, value in labels.items() if value}


def _check_numbers(value: Json) -> None:
    todo: list[Json] = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, float) and not math.isfinite(each):
            raise Refused("invalid_argument", "a number in input or policy is not finite")
        if isinstance(each, Mapping):
            todo += each.values()
        elif isinstance(each, Sequence) and not isinstance(each, str):
            todo += each


def _member(struct: Mapping[str, Json], name: str, kind: type[Any], words: str) -> Any:
    value = struct.get(name)
    if value is None:
        return kind()
    if type(value) is not kind:
        raise Refused("invalid_argument", f"{name} must be {words}")
    return value


@attrs.frozen(slots=True)
class _Policy:
    """The keys of `policy` that are read."""

    permission: str = ""
    approvals: bool = False
    interactive: bool = False
    effort: str = ""

    @classmethod
    def read(cls, struct: Mapping[str, Json]) -> _Policy:
        return cls(
            _member(struct, "permission", str, "a string"),
            _member(struct, "approvals", bool, "true or false"),
            _member(struct, "interactive", bool, "true or false"),
            _member(struct, "effort", str, "a string"),
        )


def _to_input(given: Mapping[str, Json], policy: _Policy) -> c.Input:
    """The first that is there of command, tool, messages, prompt; without any, an empty prompt."""
    command = given.get("command")
    if command is not None:
        return _to_command(command)
    if given.get("tool") is not None:
        return c.ToolCall(_member(given, "tool", str, "a string"), given.get("arguments"))
    system = _member(given, "system", str, "a string") if given.get("system") is not None else None
    effort = policy.effort or None
    messages = given.get("messages")
    if messages is None:
        text = _member(given, "prompt", str, "a string")
        return c.Prompt(text, system=system, effort=effort)
    earlier, text = _to_messages(messages)
    return c.Prompt(text, system=system, effort=effort, messages=earlier)


def _to_command(command: Json) -> c.ShellCommand:
    if isinstance(command, str) and command:
        return c.ShellCommand(line=command)
    if isinstance(command, Sequence) and command and all(isinstance(each, str) for each in command):
        return c.ShellCommand(argv=tuple(cast("Sequence[str]", command)))
    raise Refused("invalid_argument", "command must be a string or a list of strings, not empty")


def _to_messages(messages: Json) -> tuple[tuple[Json, ...], str]:
    """What was said before, and the user's last word."""
    wrong = Refused("invalid_argument", "messages must be a list of {role, content}, both strings")
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise wrong
    for each in messages:
        if not isinstance(each, Mapping):
            raise wrong
        if not (isinstance(each.get("role"), str) and isinstance(each.get("content"), str)):
            raise wrong
    last: Mapping[str, str] = cast("Mapping[str, str]", messages[-1]) if messages else NOTHING
    if last.get("role") == "user" and len(last) == 2:
        return tuple(messages[:-1]), last["content"]
    return tuple(messages), ""


# --- what a node is asked


@attrs.frozen(slots=True)
class Defaults:
    """What a run has that names no adapter, or no target."""

    adapter: str
    target: str


def wire_id(run: RunId) -> str:
    """A run's id as a node sees it: the same for ever. One that is too long for an id there is
    told by its digest."""
    data = run.encode("utf-8", "replace")
    return run if len(data) <= w.MAX_ID else f"sha256:{hashlib.sha256(data).hexdigest()}"


def from_spec(run: str, spec: c.RunSpec, defaults: Defaults) -> w.RunRequest:
    """The request for a run. What was asked in this protocol goes on as it was.

    Raises: `Refused`.
    """
    asked = native_of(spec)
    given, metadata = _mapping(asked.get("input")), _mapping(asked.get("metadata"))
    policy = _mapping(asked.get("policy"))
    session = spec.session or spec.resume or ""
    check_ids(session_id=session)
    mode = asked.get("session_mode", 0)
    return w.RunRequest(
        run_id=run,
        adapter=spec.labels.get(ADAPTER) or defaults.adapter,
        target=spec.labels.get(TARGET) or _target(spec.input) or defaults.target,
        workspace=spec.workspace[0] if spec.workspace else "",
        policy=_from_policy(spec, policy) if policy is not None or not asked else None,
        input=_from_input(spec, given, metadata or NOTHING),
        timeout_sec=_seconds(spec.timeout),
        metadata=_from_metadata(spec),
        session_id=session,
        session_mode=mode if isinstance(mode, int) else 0,
        background=spec.background,
    )


def native_of(spec: c.RunSpec) -> Mapping[str, Json]:
    """What was asked in this protocol; empty where it was another."""
    asked = spec.native.get(NATIVE)
    return asked if isinstance(asked, Mapping) else NOTHING


def _mapping(value: Json) -> Mapping[str, Json] | None:
    return value if isinstance(value, Mapping) else None


def _target(given: c.Input) -> str:
    return given.model or given.provider if isinstance(given, c.Prompt) else ""


def _seconds(timeout: int | None) -> int:
    return 0 if timeout is None else max(1, min(-(-timeout // SECOND), _INT32))


def _from_metadata(spec: c.RunSpec) -> Mapping[str, str]:
    told = {key: v if isinstance(v, str) else dump(v) for key, v in spec.metadata.items()}
    if len(spec.workspace) > 1:
        told[WORKSPACES] = dump(list(spec.workspace))
    rest = surplus(spec)
    if rest:
        told[BODY] = dump(rest)
    return told


def _from_policy(spec: c.RunSpec, asked: Mapping[str, Json] | None) -> Mapping[str, Json]:
    effort = spec.input.effort if isinstance(spec.input, c.Prompt) else None
    wanted = _Policy(spec.permission, spec.approvals, spec.interactive, effort or "")
    asked = asked or {}
    try:
        if asked and _same_policy(_Policy.read(asked), wanted, spec):
            return asked
    except Refused:
        pass  # it was never read: a newer reading refuses what an older one took
    others = {key: value for key, value in asked.items() if key not in attrs.fields_dict(_Policy)}
    said = {key: value for key, value in attrs.asdict(wanted).items() if value}
    return {**others, **said}


def _same_policy(read: _Policy, wanted: _Policy, spec: c.RunSpec) -> bool:
    """A command or a tool has no effort, whatever the policy says."""
    if not isinstance(spec.input, c.Prompt):
        read = attrs.evolve(read, effort="")
    return read == wanted


def _from_input(
    spec: c.RunSpec, asked: Mapping[str, Json] | None, metadata: Mapping[str, Json]
) -> Mapping[str, Json]:
    if asked is not None and _asks_the_same(spec, asked, metadata):
        return asked
    others = {key: value for key, value in (asked or {}).items() if key not in _INPUT_KEYS}
    made = {**others, **_written(spec)}
    if deeper(made, DEPTH):
        raise Refused("unsupported_input", f"the input has more than {DEPTH} levels")
    return made


def _asks_the_same(
    spec: c.RunSpec, asked: Mapping[str, Json], metadata: Mapping[str, Json]
) -> bool:
    effort = spec.input.effort if isinstance(spec.input, c.Prompt) else None
    body = metadata.get(BODY)
    try:
        said = read({BODY: body}) if isinstance(body, str) else NOTHING
        return put_input(_to_input(asked, _Policy(effort=effort or "")), said) == spec.input
    except Refused:
        return False


def _written(spec: c.RunSpec) -> Mapping[str, Json]:
    match spec.input:
        case c.Prompt():
            return _from_prompt(spec.input)
        case c.ToolCall(name=name, input=given):
            return {"tool": name, "arguments": given}
        case c.ShellCommand():
            return _from_command(spec.input, spec.environment)


def _from_prompt(prompt: c.Prompt) -> Mapping[str, Json]:
    said: dict[str, Json] = {}
    if prompt.system is not None:
        said["system"] = prompt.system
    if not prompt.messages:
        return {**said, "prompt": prompt.text}
    last: Iterable[Json] = ({"role": "user", "content": prompt.text},) if prompt.text else ()
    return {**said, "messages": [*prompt.messages, *last]}


def _from_command(command: c.ShellCommand, environment: Mapping[str, str]) -> Mapping[str, Json]:
    said: dict[str, Json] = {"command": _argv(command)}
    if command.cwd:
        said["cwd"] = command.cwd
    if environment:
        said["environment"] = dict(environment)
    return said


def _argv(command: c.ShellCommand) -> Json:
    if command.line is not None:
        return command.line
    if command.argv is not None:
        return list(command.argv)
    script = command.script
    assert script is not None
    try:
        text = (script.data or b"").decode()
    except UnicodeDecodeError:
        said = "the script is no UTF-8, and a node takes text only"
        raise Refused("unsupported_input", said) from None
    shell = command.shell if command.shell not in ("", "none") else "sh"
    return [shell, "-c", text, shell, *script.args]


def to_worker(
    link: str,
    node: str,
    alias: str,
    enabled: frozenset[str] | None,
    grace: int,
) -> WorkerInfo:
    """A node as a worker."""
    return WorkerInfo(
        WorkerId(f"{link}/{node}"),
        link,
        INPUTS,
        grace=grace,
        enforces_timeout=True,
        asks=True,
        detail={"alias": alias},
        accepts=NOTHING if enabled is None else {ADAPTER: enabled},
    )
