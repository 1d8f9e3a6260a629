"""Which adapter carries a run out, with which configuration, in which directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import attrs

from fleetgate.core.commands import RunSpec, ShellCommand
from fleetgate.core.json import NOTHING, Json
from fleetgate.core.worker import kind_of
from fleetgate.gateway.config_reader import Flawed, read
from fleetgate.gateway.local.pool import INPUTS, AdapterName, LocalPool
from fleetgate.gateway.local.work import Declined, unreadable

PROFILE: Final = "profile"
"""The name under which `RunSpec.native` may say all of this."""

SessionMode: TypeAlias = Literal["", "create", "require"]


@attrs.frozen(slots=True)
class Profile:
    """What a run says of how it is to be carried out. `config` holds the members of the
    adapter's configuration, as whoever configures this machine from afar wrote them."""

    adapter: str = ""
    target: str = ""
    config: Mapping[str, Any] = NOTHING
    workspace_root: str = ""
    session: str = ""
    session_mode: SessionMode = ""


@attrs.frozen(slots=True)
class Choice:
    """How a run is carried out. `directory` is absolute, exists, and lies in `root`, which is
    empty where there is no bound. `must_exist`: the session must be known already."""

    adapter: AdapterName
    target: str
    config: Mapping[str, Any]
    directory: str
    session: str
    must_exist: bool
    root: str


def choose(spec: RunSpec, pool: LocalPool) -> Choice:
    """Choose for a run at one of the pool's workers.

    Raises: `Declined`.
    """
    profile = profile_of(spec)
    adapter = _adapter(profile.adapter or spec.labels.get("adapter", ""), spec, pool)
    root = _root(profile.workspace_root, pool.workspace_root)
    own = "" if profile.workspace_root else pool.directory
    directory = workspace(spec, root, own or root or os.getcwd())
    return Choice(
        adapter,
        profile.target or spec.labels.get("target", ""),
        profile.config,
        directory,
        profile.session or spec.session or spec.resume or "",
        profile.session_mode == "require",
        root,
    )


def profile_of(spec: RunSpec) -> Profile:
    """What the run's `native` says.

    Raises: `Declined` where it is no profile.
    """
    given = spec.native.get(PROFILE)
    if given is None:
        return Profile()
    try:
        return read(Profile, plain(given), (PROFILE,))
    except Flawed as error:
        raise unreadable(error) from None


def plain(value: Json) -> object:
    """A JSON value as a reader of settings wants it: plain containers, and whole numbers as
    such, since some senders know no other numbers than floating-point ones."""
    match value:
        case str() | bool() | None | int():
            return value
        case float():
            return int(value) if value.is_integer() else value
        case Mapping():
            return {key: plain(member) for key, member in value.items()}
        case _:
            return [plain(item) for item in value]


def _adapter(name: str, spec: RunSpec, pool: LocalPool) -> AdapterName:
    kind = kind_of(spec.input)
    for adapter in pool.adapters:
        if name in ("", adapter) and kind in INPUTS[adapter]:
            return adapter
    if name and name not in pool.adapters:
        said = f"the adapter {name[:64]!r} is not enabled here; {pool.name} has "
        raise Declined("unsupported_adapter", said + ", ".join(pool.adapters))
    said = f"{name or pool.name} takes no {kind.value} input here"
    raise Declined("unsupported_input", said)


_REPEATED: Final = 200


# --- directories


def _root(pushed: str, own: str) -> str:
    """The root that counts. One that comes from afar may only narrow our own."""
    if not pushed:
        return os.path.realpath(own) if own else ""
    if not os.path.isabs(pushed):
        raise Declined("invalid_argument", "workspace_root is to be an absolute path")
    root = os.path.realpath(pushed)
    if own and not _lies_in(root, os.path.realpath(own)):
        said = "the configured workspace_root lies outside the one that this machine allows"
        raise Declined("workspace_outside_root", said)
    return root


def workspace(spec: RunSpec, root: str, otherwise: str) -> str:
    """The directory that a run works in: its first workspace, or `otherwise` if it names none.
    Relative ones start at the root, or else at `otherwise`.

    Raises: `Declined`.
    """
    named = spec.workspace[0] if spec.workspace else ""
    if "\0" in named:
        raise Declined("invalid_argument", "the workspace holds a NUL")
    found = os.path.realpath(os.path.join(root or otherwise, named) if named else otherwise)
    _check_directory(found, root, "workspace", _workspace(named))
    if isinstance(spec.input, ShellCommand) and root and spec.input.cwd:
        cwd = os.path.realpath(os.path.join(found, spec.input.cwd))
        shown = f"working directory {_shown(spec.input.cwd)}"
        _check_directory(cwd, root, "working directory", shown)
    return found


def _check_directory(path: str, root: str, what: str, shown: str) -> None:
    if root and not _lies_in(path, root):
        said = f"the {what} lies outside the workspace root; choose one in it"
        raise Declined("workspace_outside_root", said)
    if not os.path.isdir(path):
        said = f"the {shown} is no directory that exists here; make it, or name another"
        raise Declined("invalid_argument", said)


def _workspace(named: str) -> str:
    """Named as the run or its route has it: where a link leads is nobody's who asks."""
    if not named:
        return "directory where runs work that name no workspace"
    return f"workspace {_shown(named)}, of the run, its entry or set.workspace of its route,"


def _shown(path: str) -> str:
    return repr(path if len(path) <= _REPEATED else f"{path[:_REPEATED]}…")


def _lies_in(path: str, root: str) -> bool:
    return os.path.commonpath((path, root)) == root
