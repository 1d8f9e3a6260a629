"""What can be set for each side. Durations are seconds."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import attrs
from attrs import validators

from fleetgate.protocols.ranges import not_negative, positive

Framing: TypeAlias = Literal["frames", "lines"]

_minor: Final = validators.in_((1, 2, 3, 4))


def _above_suspect_after(settings: Any, _: attrs.Attribute[Any], value: int) -> None:
    if value <= settings.suspect_after:
        raise ValueError("give_up_after must be above suspect_after")


@attrs.frozen(slots=True)
class AgencyNorthboundSettings:
    """How the daemon that we play behaves."""

    strict_parity: bool = False
    """Behave as the genuine daemon does where we know better: see docs/divergence/agency.md."""

    version_minor: int = attrs.field(default=3, validator=_minor)
    """The minor that is announced. 4 brings `interrupt_session` and the provider grok."""

    server_name: str = "agency-proxy"
    """What hello calls us."""

    server_version: str = "0.1.6"
    """The version of the genuine daemon that MCP clients are told."""

    providers: tuple[str, ...] = ("claude", "codex", "copilot", "grok")
    """Providers that a start may name; grok counts from minor 4 on."""

    replay_bound: int = attrs.field(default=2048, validator=not_negative)
    """Events of a run that an attachment may reach back, the genuine daemon's number. The
    journal keeps all of them: 0 offers all."""

    hello_timeout: float = attrs.field(default=30.0, validator=positive)
    """How long a client may take to say hello. The genuine daemon waits for ever, and so does
    strict parity."""

    run_id_limit: int = attrs.field(default=1024, validator=positive)
    """Bytes of a run id: each is kept with the run for good. GUIs use some twenty. Strict parity
    has no limit but the frame's."""

    lookback: int = attrs.field(default=16, validator=not_negative)
    """Events before an attachment's start that are read, and not sent, so that a character
    whose bytes came in two chunks of output survives a re-attachment between them."""


@attrs.frozen(slots=True)
class AgencySouthboundSettings:
    """How the client that we play behaves."""

    framing: Framing = attrs.field(default="frames", validator=validators.in_(("frames", "lines")))
    """`frames` is what every published daemon speaks; `lines` is one JSON text a line, which
    the foundation build spoke."""

    version_minor: int = attrs.field(default=3, validator=_minor)
    """The minor that is announced."""

    client_name: str = "fleetgate"
    """What hello calls us."""

    provider: str = "claude"
    """The provider of a run that names none."""

    permission: str = "read_only"
    """The permission of a run that names none."""

    acknowledge: bool = True
    """Tell the daemon which events are safe. It then forgets them, for every client."""

    ack_every: int = attrs.field(default=64, validator=positive)
    """Events after which an acknowledgement goes out at once: 32 of them to the daemon's own
    bound of 2048."""

    ack_delay: float = attrs.field(default=0.1, validator=positive)
    """How long fewer events may wait for their acknowledgement."""

    hello_timeout: float = attrs.field(default=10.0, validator=positive)
    """How long the daemon may take to answer hello, and to list its runs."""

    suspect_after: int = attrs.field(default=3, validator=positive)
    """Attachments to a run, behind one and the same event, that brought nothing of what was
    there before their link ended, after which the run is attached alone and last."""

    give_up_after: int = attrs.field(default=5, validator=_above_suspect_after)
    """Such attachments after which the run is not attached any more. Those from `suspect_after`
    on were to it alone, the last of them on a link that had stood for `suspect_poll`."""

    suspect_poll: float = attrs.field(default=30.0, validator=positive)
    """How often the daemon's list is read for runs that were given up, how long suspects wait
    at most for the other runs' replays, and a link must stand before a last attempt."""

    request_timeout: float = attrs.field(default=60.0, validator=positive)
    """How long the daemon may leave requests unanswered without answering any: an injection
    alone may take it 15 s, and it works one request after another."""
