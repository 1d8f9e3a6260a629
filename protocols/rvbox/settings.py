"""What can be set on either side. Durations are seconds; every default is the protocol page's."""

from __future__ import annotations

from typing import Any

import attrs
from attrs.validators import deep_iterable, in_, min_len

from fleetgate.protocols.carriage import Carriage, WebSocketUse
from fleetgate.protocols.ranges import not_negative, positive
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox.translate import PLATFORMS, SHELLS


def _client_id(_: Any, member: attrs.Attribute[Any], value: str) -> None:
    if value and not limits.is_client_id(value):
        wanted = "1 to 128 printable ASCII characters without spaces: a server refuses any other"
        raise ValueError(f"{member.name} must be {wanted}")


@attrs.frozen(slots=True)
class ServerSettings:
    """The server's side, which faces client daemons."""

    path: str = "/agent"
    ping_every: float = attrs.field(default=20.0, validator=positive)
    dead_after: float = attrs.field(default=60.0, validator=positive)
    hello_timeout: float = attrs.field(default=10.0, validator=positive)
    """How long a link may take to its ClientHello."""
    snapshot_timeout: float = attrs.field(default=30.0, validator=positive)
    """How long a client may take from a ReconcileRequest to its snapshot."""
    accept_timeout: float = attrs.field(default=30.0, validator=positive)
    """How long a dispatch may stay unanswered before the two sides reconcile."""
    cancel_kill_after: float = attrs.field(default=10.0, validator=not_negative)
    """How long after a cancel, which goes out as TERMINATE, a command that has not ended is
    killed. Counted from when the cancel was accepted, whatever links come between."""
    exit_grace: float = attrs.field(default=60.0, validator=positive)
    """How long a command that its client names as ended may send nothing, without its exit having
    come; then its run is lost."""
    full_retry: float = attrs.field(default=30.0, validator=positive)
    """How long until a dispatch that was refused for want of room is tried again, unless the
    client reports room before."""
    reconcile_pause: float = attrs.field(default=30.0, validator=not_negative)
    """The least time between two reconciles that a client's own errors bring about."""
    ack_delay: float = attrs.field(default=0.1, validator=not_negative)
    """How long an event may wait for its acknowledgement once it is durable."""
    ack_events: int = attrs.field(default=64, validator=positive)
    """That many events of a command are acknowledged at once, whatever the delay."""
    stdin_window: int = attrs.field(default=1 << 20, validator=positive)
    """Bytes of input on their way per command: what a client buffers before it runs."""
    script_window: int = attrs.field(default=1 << 20, validator=positive)
    """Bytes of a script sent at a time, so that an upload does not fill the outbox."""
    script_pace: float = attrs.field(default=0.01, validator=not_negative)
    """The pause behind each of them."""
    script_attempts: int = attrs.field(default=3, validator=positive)
    """How often a script is uploaded in all before the command is ended."""
    held_back_orders: int = attrs.field(default=10_000, validator=not_negative)
    held_back_size: int = attrs.field(default=16 << 20, validator=not_negative)
    """Orders, and bytes of input in them, that wait while a session reconciles anew. Beyond
    either the link is closed: its successor's admission has them all."""
    known_ended: int = attrs.field(default=10_000, validator=not_negative)
    """Ended commands remembered on a link, to tell a late event from a foreign one."""
    lookups: int = attrs.field(default=1_000, validator=not_negative)
    """Ended commands of one snapshot that are looked up in the journal; any further one is
    terminated, which has the same effect on it."""


@attrs.frozen(slots=True)
class ClientSettings:
    """The client daemon's side, which faces a server."""

    path: str = "/agent"
    ping_every: float = attrs.field(default=20.0, validator=positive)
    dead_after: float = attrs.field(default=60.0, validator=positive)
    client_id: str = attrs.field(default="", validator=_client_id)
    """Empty: the gateway's name."""
    daemon_version: str = "fleetgate"
    platform: str = attrs.field(default="linux", validator=in_(PLATFORMS))
    """`linux`, `macos`, `windows` or `freebsd`."""
    architecture: str = ""
    daemon_cwd: str = "/"
    shells: tuple[str, ...] = attrs.field(
        default=("none", "sh", "bash"),
        validator=(min_len(1), deep_iterable(in_([name for name in SHELLS if name]))),
    )
    max_running: int = attrs.field(default=16, validator=positive)
    max_queued: int = attrs.field(default=256, validator=not_negative)
    session_timeout: float = attrs.field(default=120.0, validator=positive)
    """How long a server may take to its welcome, its first request, and each result: longer
    than its journal takes, and no wait is without an end."""
    retained: int = attrs.field(default=limits.RETAINED, validator=positive)
    """Commands retained at a time; beyond it a dispatch is answered QUEUE_FULL."""
    tombstone_days: float = attrs.field(default=7.0, validator=not_negative)
    tombstones: int = attrs.field(default=10_000, validator=not_negative)
    """Ended commands named to a server that asks for them: not older, and not more."""
    waiting_messages: int = attrs.field(default=256, validator=positive)
    waiting_size: int = attrs.field(default=4 << 20, validator=not_negative)
    """Messages, and bytes in them, that wait for the answer to an earlier one about the same
    command. At either the link is not read until some are answered."""
    early_stdin: int = attrs.field(default=1 << 20, validator=not_negative)
    """Bytes of input taken for a command that does not run yet."""
    script_memory: int = attrs.field(default=64 << 20, validator=positive)
    """Bytes of all scripts that are being uploaded: four of the largest size."""
    answer_approvals: bool = False
    """Whether a line `y` or `n` on the input of a command that waits for an approval answers it."""


def _carriage(settings: ServerSettings | ClientSettings) -> Carriage:
    use = WebSocketUse(
        binary=True,
        path=settings.path,
        subprotocols=("rvbox.v1",),
        ping_every=settings.ping_every,
        dead_after=settings.dead_after,
    )
    return Carriage("varint", limits.FRAME, use)


def server_carriage(settings: ServerSettings) -> Carriage:
    """How the server's links carry frames."""
    return _carriage(settings)


def client_carriage(settings: ClientSettings) -> Carriage:
    """How the client's links carry frames."""
    return _carriage(settings)
