"""What a runner says a run can use, and the digest that binds it (W 10)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Final

import attrs

from fleetgate.core.json import Json
from fleetgate.core.values import value
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import structs
from fleetgate.protocols.kodelet.go_json import canonical, finite, is_tuple, trim
from fleetgate.protocols.kodelet.structs import field
from fleetgate.protocols.strict import expect

ENVIRONMENT: Final = "environment"
_PREFIX: Final = "sha256:"


@value
class ContextFile:
    path: str = ""
    content: str = ""
    digest: str = ""


@value
class Tool:
    name: str = ""
    description: str = ""
    input_schema: Json = None
    placement: str = ""


@value
class Skill:
    name: str = ""
    description: str = ""
    source: str = ""
    digest: str = ""


@value
class Command:
    name: str = ""
    description: str = ""
    hint: str = field("", omit=True)
    placeholder: str = field("", omit=True)
    digest: str = field("", omit=True)


@value
class SystemInformation:
    is_git_repo: bool = False
    platform: str = ""
    os_version: str = ""
    date: str = ""


@value
class Config:
    allowed_commands: tuple[str, ...] | None = field(None, omit=True)
    tool_mode: str = field("", omit=True)
    enable_fs_search_tools: bool = field(False, omit=True, name="enableFSSearchTools")
    system_prompt_path: str = field("", omit=True)
    system_prompt_content: str = field("", omit=True)
    system_prompt_args: Mapping[str, str] | None = field(None, omit=True)
    system_information: SystemInformation | None = field(None, omit=True)


@value
class Capabilities:
    tool_updates: bool = False
    interactive_ui: bool = field(False, name="interactiveUI")
    persistent_surfaces: bool = False
    commands: bool = False


@value
class Manifest:
    """The result of `run.open`. A list that is None is `null`, which is not `[]` (W 10.3)."""

    protocol_version: int = 0
    runner_id: str = ""
    run_id: str = ""
    generation: int = 0
    digest: str = ""
    working_directory: str = ""
    context_files: tuple[ContextFile, ...] | None = None
    tools: tuple[Tool, ...] | None = None
    skills: tuple[Skill, ...] | None = None
    commands: tuple[Command, ...] | None = None
    config: Config = Config()
    extension_generation: int = 0
    capabilities: Capabilities = Capabilities()


@value
class Opened:
    """Whom a manifest must be of."""

    runner_id: str
    run_id: str
    generation: int


def content_digest(text: str) -> str:
    """The digest of a context file's content."""
    return _PREFIX + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def canonical_text(manifest: Manifest) -> str:
    """The text that the digest is taken of: identity blanked out, members in Go's order."""
    config = attrs.evolve(manifest.config, system_information=None)
    blank = attrs.evolve(
        manifest,
        runner_id="",
        run_id="",
        digest="",
        generation=0,
        extension_generation=0,
        config=config,
    )
    return _text(blank)


def _text(value: Any) -> str:
    """A struct in the order of its members; what is free-form in it has its keys sorted."""
    if structs.is_struct(value):
        written = _shallow(value)
        return "{" + ",".join(f'"{name}":{_text(each)}' for name, each in written.items()) + "}"
    if is_tuple(value) and value and structs.is_struct(value[0]):
        return "[" + ",".join(map(_text, value)) + "]"
    if type(value) is int:
        return str(value)
    return canonical(value)


def _shallow(value: Any) -> dict[str, Any]:
    """The members that are written, by name, not converted yet."""
    names = structs.names(structs.kind_of(value))
    written = structs.write(value)
    return {name: getattr(value, at) for at, name in names.items() if name in written}


def digest_of(manifest: Manifest) -> str:
    """The digest, over a canonical re-serialisation of the manifest (W 10.3)."""
    return _PREFIX + hashlib.sha256(canonical_text(manifest).encode()).hexdigest()


def sealed(manifest: Manifest) -> Manifest:
    """The manifest with its digest."""
    return attrs.evolve(manifest, digest=digest_of(manifest))


def check(manifest: Manifest, opened: Opened, reserved: Iterable[str]) -> str | None:
    """What a control plane's registry finds wrong with a manifest; None: nothing (W 10.2)."""
    if manifest.protocol_version != 1:
        return f"runner manifest uses protocol version {manifest.protocol_version}"
    if Opened(manifest.runner_id, manifest.run_id, manifest.generation) != opened:
        return "runner manifest identity does not match opened run"
    wrong = _check_tools(manifest.tools or (), frozenset(reserved))
    wrong = wrong or _check_system(manifest.config.system_information)
    if wrong is not None:
        return wrong
    if not manifest.digest:
        return "runner manifest digest is required"
    if manifest.digest != digest_of(manifest):
        return "runner manifest digest does not match its contents"
    return None


def _check_tools(tools: Iterable[Tool], reserved: frozenset[str]) -> str | None:
    seen: set[str] = set()
    for tool in tools:
        if not trim(tool.name):
            return "runner manifest contains a tool without a name"
        if tool.name in reserved:
            return f"runner tool {tool.name} collides with a reserved control-plane tool"
        if tool.placement != ENVIRONMENT:
            return f'runner tool {tool.name} has invalid placement "{tool.placement}"'
        if tool.name in seen:
            return f"runner manifest contains duplicate tool {tool.name}"
        seen.add(tool.name)
    return None


def _check_system(system: SystemInformation | None) -> str | None:
    if system is None:
        return None
    if not trim(system.platform):
        return "runner manifest system information is missing its platform"
    if not trim(system.os_version):
        return "runner manifest system information is missing its OS version"
    if not _is_date(system.date):
        return "runner manifest system information has an invalid date"
    return None


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def check_contexts(manifest: Manifest) -> str | None:
    """What the environment finds wrong with the context files, once a run is open."""
    seen: set[str] = set()
    for file in manifest.context_files or ():
        if not trim(file.path):
            return "runner manifest contains a context file without a path"
        if file.path in seen:
            return f"runner manifest contains duplicate context file {file.path}"
        if file.digest != content_digest(file.content):
            return f"runner context file {file.path} does not match its digest"
        seen.add(file.path)
    return None


def read_manifest(value: Any) -> Manifest:
    """A manifest out of the result of `run.open`.

    Raises: `Malformed`.
    """
    if value is None:
        raise Malformed("expected a manifest, null came")
    manifest = structs.read(Manifest, value)
    for tool in manifest.tools or ():
        if not isinstance(tool.input_schema, dict | None):
            raise expect("an object as inputSchema", tool.input_schema)
        if not finite(tool.input_schema):
            raise Malformed("inputSchema: a number that no 64-bit float holds (W 10.3)")
    return manifest
