"""The protocol's own operations of `kodelet-control-plane`, as values (docs/reference/fakes.md).

Members are written as in the protocol's messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

from fleetgate.core.commands import CancelScope
from fleetgate.core.values import value
from fleetgate.gateway.fakes.operations import CONTROLLER, a_span


@value
class Caps:
    """What whoever is attached to a conversation can do."""

    interactiveUI: bool = False
    persistentSurfaces: bool = False


@value
class Agent:
    """What `run.open` says of the agent."""

    provider: str = ""
    model: str = ""
    profile: str = ""
    environmentProfile: str = ""
    recipeName: str = ""
    invokedBy: str = ""


@value
class Runners:
    """List the runners."""


@value
class Open:
    """Open a run at a runner; answered with its manifest."""

    runner: str
    run: str
    conv: str
    reserved: tuple[str, ...] | None = None
    caps: Caps = Caps()
    agent: Agent = Agent()


@value
class Call:
    """Send a request about a run; answered with its result."""

    run: str
    method: str
    params: Any = None


@value
class Tool:
    """Call a tool; answered with its result, and before that with each update."""

    run: str
    call: str
    tool: str
    input: Any = attrs.field(factory=dict[str, Any])
    updates: bool = False
    timeoutMs: int | None = attrs.field(default=None, validator=a_span)


@value
class Cancel:
    """Cancel a run that was opened by hand (`reason`), or one that was started (`scope`)."""

    run: str
    reason: str = "context canceled"
    scope: CancelScope = CancelScope.RUN


@value
class Close:
    """Close a run; confirmed, it ends as `status`."""

    run: str
    status: Literal["succeeded", "failed", "canceled"] = "succeeded"


@value
class Run:
    """A run as it stands, also when it has ended."""

    run: str


@value
class Abort:
    """Give up the operation whose id is `reason`; of an `open` that is answered, the owner goes."""

    reason: str


OWN: Final[Mapping[str, type[Any]]] = {
    "runners": Runners,
    "open": Open,
    "call": Call,
    "tool": Tool,
    "cancel": Cancel,
    "close": Close,
    "run": Run,
    "abort": Abort,
}
"""What it takes beside, or in another form than, every controller."""

KNOWN: Final[Mapping[str, type[Any]]] = {**CONTROLLER, **OWN}
"""All that it takes."""
