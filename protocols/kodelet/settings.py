"""What can be set on either side. Durations are seconds; the defaults are the genuine ones."""

from __future__ import annotations

from typing import Any, Final

import attrs

from fleetgate.core.adaptation import Adaptation, Target, ToCommand, ToPrompt
from fleetgate.core.templates import parse
from fleetgate.protocols.carriage import Carriage, WebSocketUse
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.upgrade import refuse, shown_token

NANOS: Final = 1_000_000_000


def nanos(seconds: float) -> int:
    """Seconds as people write them, in nanoseconds."""
    return round(seconds * NANOS)


def _positive(_: Any, member: attrs.Attribute[Any], value: float) -> None:
    if value <= 0:
        raise ValueError(f"{member.name} must be above 0")


def _above_zero(default: Any) -> Any:
    return attrs.field(default=default, validator=_positive)


@attrs.frozen(slots=True)
class ControlPlaneSettings:
    """The control plane's side, which faces runners."""

    path: str = wire.ENDPOINT
    ping_every: float = _above_zero(30.0)
    dead_after: float = _above_zero(45.0)
    """How long a link may be silent."""
    heartbeat_interval: float = _above_zero(15.0)
    """How often a runner is told to send a heartbeat."""
    heartbeat_timeout: float = _above_zero(45.0)
    """How long a runner may send no heartbeat of its own; looked at every 15 s, or every half of
    this if that is less."""
    omissions: int = _above_zero(3)
    """Valid heartbeats in a row that may leave out a run before it is lost."""
    cleanup_timeout: float = _above_zero(10.0)
    """How long a runner may take to cancel and close a run."""
    provider: str = ""
    """The provider that `run.open` names, for the runner's information: no model is called."""
    model: str = ""
    """The model that `run.open` names."""
    environment_profile: str = ""
    """The runner's own profile that runs open with; empty: its default."""
    reserved_tools: tuple[str, ...] = ("get_goal", "update_goal", "read_conversation")
    """Names that a runner's tools may not have."""
    bash_tool: str = "bash"
    """The tool that shell commands become a call of."""


@attrs.frozen(slots=True)
class ToolSettings:
    """A tool of the manifest and the run that a call of it starts. Without `prompt`, `argv` and
    `line` the call goes on as it is, for a route to adapt. They are templates: `{input.NAME}`
    stands for a member of the call's input, `{input}` for all of it."""

    name: str
    description: str = ""
    schema: Any = attrs.field(factory=lambda: {"type": "object"})
    prompt: str | None = None
    argv: tuple[str, ...] | None = None
    line: str | None = None

    def __attrs_post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a tool needs a name")
        if not isinstance(self.schema, dict):
            raise ValueError(f"the schema of {self.name} must be a table")
        if sum(each is not None for each in (self.prompt, self.argv, self.line)) > 1:
            raise ValueError(f"{self.name} takes one of prompt, argv and line")
        self.adaptation()

    def adaptation(self) -> Adaptation:
        """What becomes of a call. Raises: `TemplateError`, a `ValueError`."""
        return Adaptation(tool=self._target())

    def _target(self) -> Target | None:
        if self.prompt is not None:
            return ToPrompt(parse(self.prompt))
        if self.argv is not None:
            return ToCommand(argv=tuple(map(parse, self.argv)))
        return None if self.line is None else ToCommand(line=parse(self.line))


@attrs.frozen(slots=True)
class CommandSettings:
    """A slash command of the manifest. `/NAME TEXT` starts a run with `prompt`, in which
    `{input.text}` stands for the text, and responds with what it says."""

    name: str
    description: str = ""
    prompt: str = "{input.text}"

    def __attrs_post_init__(self) -> None:
        if not self.name.strip() or "/" in self.name or any(c.isspace() for c in self.name):
            raise ValueError("a command needs a name of one word, without its slash")
        self.adaptation()

    def adaptation(self) -> Adaptation:
        """What becomes of it. Raises: `TemplateError`, a `ValueError`."""
        return Adaptation(tool=ToPrompt(parse(self.prompt)))


BASH_SCHEMA: Final[Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "description": {"type": "string"},
        "timeout": {"type": "integer"},
    },
    "required": ["command"],
}
BASH: Final = ToolSettings("bash", "Run a shell command", BASH_SCHEMA, line="{input.command}")


def _distinct(_: Any, member: attrs.Attribute[Any], value: tuple[Any, ...]) -> None:
    names = [each.name for each in value]
    if len(set(names)) != len(names):
        raise ValueError(f"two of {member.name} have one name")


@attrs.frozen(slots=True)
class RunnerSettings:
    """The runner's side, which faces a control plane."""

    path: str = wire.ENDPOINT
    ping_every: float = _above_zero(30.0)
    dead_after: float = _above_zero(45.0)
    """How long a link may be silent."""
    instance_id: str = ""
    """`host.instanceId`; empty: made of the entry's durable id."""
    runner_id: str = ""
    """An id from an earlier registration. One that the control plane does not know is dropped."""
    display_name: str = ""
    hostname: str = ""
    """Empty: the gateway's name."""
    os: str = "linux"
    os_version: str = "Linux"
    arch: str = "amd64"
    workspace: str = "/"
    """The absolute path that this runner's runs work in: the identity, with `instance_id`."""
    version: str = "0.5.30-beta"
    """The kodelet version that is announced."""
    profiles: tuple[str, ...] = ()
    """Environment profiles that a run may open with, beside `default`."""
    tools: tuple[ToolSettings, ...] = attrs.field(default=(BASH,), validator=_distinct)
    """Tables with `name`, `description`, `schema` and one of `prompt`, `argv`, `line`, or none."""
    commands: tuple[CommandSettings, ...] = attrs.field(default=(), validator=_distinct)
    """Slash commands: tables with `name`, `description` and `prompt`."""
    register_timeout: float = _above_zero(60.0)
    """How long a control plane may take to answer a registration; the genuine runner waits for
    ever."""
    cleanup_timeout: float = _above_zero(10.0)
    """How long a run that is closed waits for its operations."""
    update_every: float = _above_zero(0.05)
    """The least time between two updates of one call: each carries all of its output."""
    output_limit: int = _above_zero(1 << 20)
    """Bytes of a call's output that are kept for its result; what is dropped is said."""
    open_runs: int = _above_zero(1024)
    """Runs that a control plane may have open at once; the genuine runner has no limit."""
    run_id_limit: int = _above_zero(256)
    """Bytes of a run id: it is kept with every run for good."""


def _carriage(settings: ControlPlaneSettings | RunnerSettings) -> Carriage:
    use = WebSocketUse(
        binary=False,
        path=settings.path,
        subprotocols=(wire.SUBPROTOCOL,),
        ping_every=settings.ping_every,
        dead_after=settings.dead_after,
        shown_token=shown_token,
        refuse=refuse,
    )
    return Carriage(None, wire.MAX_MESSAGE, use)


def control_plane_carriage(settings: ControlPlaneSettings) -> Carriage:
    """How a control plane's links carry messages."""
    return _carriage(settings)


def runner_carriage(settings: RunnerSettings) -> Carriage:
    """How a runner's links carry messages."""
    return _carriage(settings)
