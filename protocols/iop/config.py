"""What an edge sets at a node: read from a table, and what a node makes of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from posixpath import commonpath, join, normpath
from typing import Any, Final, cast, get_args, get_origin

import attrs

from fleetgate.core.commands import RunSpec, ShellCommand
from fleetgate.core.json import NOTHING, Json
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import Refused
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.strict import expect, make_converter

LONGEST_PATH: Final = 256
"""Characters of the root that a refusal repeats."""


def _is_struct(kind: Any) -> bool:
    origin, arguments = get_origin(kind), get_args(kind)
    return origin is Mapping and arguments[1] is not str and not attrs.has(arguments[1])


def _struct(value: Any, _: Any) -> Any:
    if not isinstance(value, Mapping):
        raise expect("an object", value)
    return cast("Mapping[str, Json]", value)


_CONVERTER: Final = make_converter()
_CONVERTER.register_structure_hook_func(_is_struct, _struct)


def read_config(table: object) -> w.NodeConfigPayload:
    """A `NodeConfigPayload` written as a table. Raises: `ValueError`, naming the member."""
    try:
        config = _CONVERTER.structure(_lists(table), w.NodeConfigPayload)
    except Malformed as error:
        raise ValueError(f"config: {error}") from None
    _refuse_unknown(w.NodeConfigPayload, table, "config")
    for adapter in config.adapters:
        given = [name for name in ("cli", "ollama", "vllm") if getattr(adapter, name) is not None]
        if not adapter.type or len(given) > 1:
            raise ValueError("config: an adapter has a type, and at most one of cli, ollama, vllm")
    runtime = config.runtime
    if runtime is not None and not 0 <= runtime.concurrency < 1 << 31:
        raise ValueError("config: runtime.concurrency must be from 0 to 2147483647")
    return config


def _lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {key: _lists(each) for key, each in table.items()}
    return [_lists(each) for each in value] if _is_array(value) else value


def _is_array(value: object) -> bool:
    return isinstance(value, list | tuple)


def _refuse_unknown(kind: Any, value: Any, where: str) -> None:
    """A key that means nothing is a mistake of whoever wrote it."""
    members = {member.name: member for member in attrs.fields(kind)}
    for key, each in value.items():
        if key not in members:
            known = ", ".join(members)
            raise ValueError(f"{where}: unknown key {key}; known: {known}")
        of = members[key].metadata.get("of")
        if not attrs.has(of) or each is None:
            continue
        inside = each if _is_array(each) else (each,)
        if isinstance(members[key].default, Mapping):
            inside = each.values()
        for one in inside:
            _refuse_unknown(of, one, f"{where}.{key}")


def enabled_types(config: w.NodeConfigPayload) -> frozenset[str] | None:
    """The adapters that a node may run; None: any."""
    if not config.adapters:
        return None
    return frozenset(adapter.type for adapter in config.adapters if adapter.enabled)


@attrs.frozen(slots=True)
class Applied:
    """A node's configuration at work. `adapters` are those that may run, each with its own
    configuration as JSON; None: nothing is restricted. `unsupported` are the types that are not
    known here. `at_once` None is no bound. `wrong`: why no run can be taken with it."""

    root: str = ""
    at_once: int | None = None
    wrong: str = ""
    adapters: Mapping[str, Mapping[str, Json]] | None = None
    unsupported: tuple[str, ...] = ()

    def workspace(self, named: str) -> str:
        """Where a run works that names this workspace: as written without a root, else an absolute
        path that begins with it. Links are not looked at: they lie where the run is executed. So
        no `..` is left in it, which behind a link would lead elsewhere than its words say.

        Raises: `Refused`.
        """
        if not self.root:
            return named
        if not self.root.startswith("/"):
            raise Refused("invalid_argument", "workspace_root is to be an absolute path")
        path, root = _plain(join(self.root, named)), _plain(self.root)
        if commonpath((path, root)) != root:
            said = f"the workspace lies outside the workspace root {root[:LONGEST_PATH]}"
            raise Refused("workspace_outside_root", f"{said}; name one that begins with it")
        return path

    def placed(self, spec: RunSpec) -> RunSpec:
        """`spec` with each of its directories, a command's own among them, as `workspace` has it.

        Raises: `Refused`.
        """
        named = [self.workspace(each) for each in spec.workspace or ("",)]
        spec = attrs.evolve(spec, workspace=tuple(each for each in named if each))
        given = spec.input
        if not (self.root and isinstance(given, ShellCommand) and given.cwd):
            return spec
        cwd = self.workspace(join(named[0], given.cwd))
        return attrs.evolve(spec, input=attrs.evolve(given, cwd=cwd))

    def check_adapter(self, adapter: str) -> None:
        """Refuse an adapter that may not run here. Raises: `Refused`."""
        if self.adapters is not None and adapter not in self.adapters:
            raise Refused(
                "unsupported_adapter", f"the adapter {adapter[:64] or '(none)'} is not enabled here"
            )

    def profile(self, request: w.RunRequest) -> Json:
        """What whoever executes a run here must know of the configuration.

        Raises: `Refused`.
        """
        if self.wrong:
            raise Refused("invalid_argument", self.wrong)
        adapter = request.adapter
        self.check_adapter(adapter)
        requires = request.session_mode == w.SessionMode.REQUIRE_EXISTING
        return {
            "adapter": adapter,
            "target": request.target,
            "config": dict((self.adapters or NOTHING).get(adapter, NOTHING)),
            "workspace_root": self.root,
            "session": request.session_id,
            "session_mode": "require" if requires else "create",
        }


def _plain(path: str) -> str:
    """An absolute path by its words alone: without `.`, `..` and slashes that say nothing."""
    return "/" + normpath(path).lstrip("/")


def apply(config: w.NodeConfigPayload | None, known: Collection[str]) -> Applied:
    """Take up what an edge sends with a registration."""
    if config is None:
        return Applied()
    runtime = config.runtime or w.NodeRuntimeConfig()
    adapters = {a.type: _config_of(a) for a in config.adapters if a.enabled and a.type in known}
    unsupported = {a.type: None for a in config.adapters if a.type not in known}
    return Applied(
        root=runtime.workspace_root,
        at_once=runtime.concurrency if runtime.concurrency > 0 else None,
        wrong=_wrong(runtime),
        adapters=adapters if config.adapters else None,
        unsupported=tuple(unsupported),
    )


def _wrong(runtime: w.NodeRuntimeConfig) -> str:
    if runtime.concurrency < 0:
        return f"runtime.concurrency must be 0 (no bound) or above; {runtime.concurrency} came"
    return ""


def _config_of(adapter: w.AdapterConfig) -> Mapping[str, Json]:
    """The typed configuration wins; without one, the same keys are in `settings`."""
    for given in (adapter.cli, adapter.ollama, adapter.vllm):
        if given is not None:
            return codec.to_json(given)
    return adapter.settings or {}
