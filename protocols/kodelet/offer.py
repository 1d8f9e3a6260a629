"""What a runner of ours offers: its registration and the manifest of a run."""

from __future__ import annotations

import attrs

from fleetgate.protocols.api import Opening
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.names import host_id, registration
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.transcript import stamp


def make_manifest(
    settings: RunnerSettings, opened: m.Opened | None = None, now: int = 0
) -> m.Manifest:
    """The manifest of a run, or of none: the digest is the same. Lists are sorted as the
    genuine runner sorts them, and an empty one of commands is null."""
    tools = tuple(
        m.Tool(each.name, each.description, each.schema, m.ENVIRONMENT)
        for each in sorted(settings.tools, key=lambda tool: tool.name)
    )
    commands = tuple(
        m.Command(each.name, each.description)
        for each in sorted(settings.commands, key=lambda command: command.name)
    )
    whose = opened or m.Opened("", "", 0)
    system = m.SystemInformation(False, settings.os, settings.os_version, stamp(now)[:10])
    return m.sealed(
        m.Manifest(
            protocol_version=wire.VERSION,
            runner_id=whose.runner_id,
            run_id=whose.run_id,
            generation=whose.generation,
            working_directory=settings.workspace,
            context_files=(),
            tools=tools,
            commands=commands or None,
            config=m.Config(tool_mode="full", system_information=system),
            extension_generation=1,
            capabilities=m.Capabilities(True, True, False, bool(commands)),
        )
    )


def remembered_id(settings: RunnerSettings, opening: Opening) -> str:
    """The runner id of an earlier registration with this server for this workspace, as `remember`
    wrote it; empty where there is none."""
    key, _, id = opening.remembered.partition(" ")
    return id if key == _key(settings, opening) else ""


def remember(settings: RunnerSettings, opening: Opening, id: str) -> str:
    """A registration, to be remembered; nothing of an id that is longer than any name need be."""
    return f"{_key(settings, opening)} {id}" if len(id) <= settings.run_id_limit else ""


def _key(settings: RunnerSettings, opening: Opening) -> str:
    return registration(opening.peer + settings.path, settings.workspace)


def make_registration(settings: RunnerSettings, opening: Opening, digest: str) -> wire.Register:
    """Who we are. The instance is durable, so that the control plane knows us again."""
    name = settings.workspace.rstrip("/").rpartition("/")[2] or "root"
    host = wire.Host(
        settings.instance_id or host_id(opening.instance),
        settings.hostname or opening.gateway,
        settings.os,
        settings.arch,
    )
    return wire.Register(
        (wire.VERSION,),
        settings.runner_id or remembered_id(settings, opening),
        settings.display_name,
        host,
        wire.Workspace(settings.workspace, name),
        wire.RunnerCapabilities(True, bool(settings.git_diff), bool(settings.terminal)),
        settings.version,
        digest,
    )


def without_id(asked: wire.Register) -> wire.Register:
    """The same registration for a control plane that does not know our id."""
    return attrs.evolve(asked, runner_id="")
