"""What can be set on either side. Durations are seconds; the defaults are the genuine ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs

from fleetgate.core.values import value
from fleetgate.protocols.carriage import Carriage, Redial, WebSocketUse
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.tools import BASH, CommandSettings, ToolSettings, distinct
from fleetgate.protocols.kodelet.upgrade import refuse, shown_token
from fleetgate.protocols.ranges import not_negative, positive


def _above_zero(default: Any) -> Any:
    return attrs.field(default=default, validator=positive)


@value
class PeerSettings:
    """What both sides share: the symmetric peer's limits (W 3, 5.1)."""

    path: str = wire.ENDPOINT
    ping_every: float = _above_zero(30.0)
    """How often the peer is pinged; as often as two thirds of `dead_after`, if this is not less."""
    dead_after: float = _above_zero(45.0)
    """How long no pong may come. Nothing else counts as a sign of life."""
    write_timeout: float = _above_zero(10.0)
    """How long the write of one message may take."""
    message_limit: int = _above_zero(wire.MAX_MESSAGE)
    """Bytes of a message, both ways: a larger one that comes ends the link, a larger one of ours is
    not sent."""
    requests: int = _above_zero(64)
    """Requests of the peer that are worked on at a time."""
    control_requests: int = _above_zero(8)
    """Those of `run.cancel` and `run.close`, which have slots of their own."""
    notifications: int = _above_zero(64)
    """Notifications of the peer that are worked on at a time; one more ends the link."""
    control_lane: int = _above_zero(128)
    """Messages that wait to be written, beyond which a repeated request id ends the link."""
    update_lane: int = _above_zero(64)
    """Tool updates that wait to be written; beyond it the oldest is dropped."""
    waiting_requests: int = _above_zero(1024)
    """Requests of the peer that wait for a slot; one more is refused. The genuine queue has no
    bound."""
    waiting_size: int = _above_zero(16 << 20)
    """Bytes of them."""


@value
class ControlPlaneSettings(PeerSettings):
    """The control plane's side, which faces runners."""

    origins: tuple[str, ...] = ()
    """Origins of web pages that may connect, beside loopback and our own host."""
    register_timeout: float = _above_zero(60.0)
    """How long a runner may take to register, by however many tries; the genuine control plane
    waits for as long as the link has its pongs."""
    heartbeat_interval: float = _above_zero(15.0)
    """How often a runner is told to send a heartbeat."""
    heartbeat_timeout: float = _above_zero(45.0)
    """How long a runner may send no heartbeat of its own."""
    heartbeat_sweep: float = _above_zero(15.0)
    """How often that is looked at, or every half of `heartbeat_timeout` if that is less."""
    omissions: int = _above_zero(3)
    """Valid heartbeats in a row that may leave out a run before it is lost."""
    cleanup_timeout: float = _above_zero(10.0)
    """How long a runner may take to cancel and close a run."""
    lease_grace: float = _above_zero(10.0)
    """How long a run may stay open whose owner is gone, before it is cancelled and closed."""
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


@value
class RunnerSettings(PeerSettings):
    """The runner's side, which faces a control plane."""

    retry_first: float = _above_zero(1.0)
    """The wait before a control plane is dialled again; it doubles with each failure."""
    retry_cap: float = _above_zero(30.0)
    """The longest such wait. A registration starts it anew."""
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
    """The absolute path that this runner's runs work in: the identity, with `instance_id`. `/`:
    wherever their worker does."""
    version: str = "0.5.30-beta"
    """The kodelet version that is announced."""
    profiles: tuple[str, ...] = ()
    """Environment profiles that a run may open with, beside `default`."""
    tools: tuple[ToolSettings, ...] = attrs.field(default=(BASH,), validator=distinct)
    """Tables with `name`, `description`, `schema` and one of `prompt`, `argv`, `line`, or none."""
    commands: tuple[CommandSettings, ...] = attrs.field(default=(), validator=distinct)
    """Slash commands: tables with `name`, `description` and `prompt`."""
    blocked_messages: tuple[str, ...] = ()
    """Users' messages that `lifecycle.dispatch` refuses, as an extension would block them."""
    git_diff: tuple[str, ...] = ()
    """The program that shows what has changed in the workspace, such as `["git", "diff"]`: with it
    `workspace.git.diff` is offered."""
    terminal: tuple[str, ...] = ()
    """The program of the workspace's one terminal, such as `["bash", "-i"]`: with it
    `workspace.terminal` is offered."""
    register_timeout: float = _above_zero(60.0)
    """How long a control plane may take to answer a registration; the genuine runner waits for
    ever."""
    cleanup_timeout: float = _above_zero(10.0)
    """How long a run that is closed waits for its operations."""
    update_every: float = attrs.field(default=0.05, validator=not_negative)
    """The least time between two updates of one call: each carries all of its output, and behind a
    long one the next comes later. 0: one for everything that is said."""
    output_limit: int = _above_zero(1 << 20)
    """Bytes of a call's output that are kept for its result; what is dropped is said."""
    open_runs: int = _above_zero(1024)
    """Runs that a control plane may have open at once; the genuine runner has no limit."""
    run_id_limit: int = _above_zero(256)
    """Bytes of a run id: it is kept with every run for good."""


def _carriage(settings: PeerSettings, redial: Redial, origins: tuple[str, ...]) -> Carriage:
    use = WebSocketUse(
        binary=False,
        path=settings.path,
        subprotocols=(wire.SUBPROTOCOL,),
        unoffered_final=True,
        ping_every=_ping_every(settings),
        dead_after=settings.dead_after,
        alive_by_pong=True,
        any_text=True,
        drop_other=True,
        shown_token=shown_token,
        refuse=partial(refuse, origins=origins),
        pages=True,
    )
    limit, within = settings.message_limit, settings.write_timeout
    return Carriage(None, limit, use, redial=redial, write_within=within)


def _ping_every(settings: PeerSettings) -> float:
    every, wait = settings.ping_every, settings.dead_after
    return every if every < wait else wait * 2 / 3


def control_plane_carriage(settings: ControlPlaneSettings) -> Carriage:
    """How a control plane's links carry messages."""
    return _carriage(settings, Redial(), settings.origins)


def runner_carriage(settings: RunnerSettings) -> Carriage:
    """How a runner's links carry messages, and when it dials again: without jitter (W 2.4)."""
    return _carriage(settings, Redial(settings.retry_first, settings.retry_cap, jitter=False), ())
