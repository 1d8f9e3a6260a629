"""A run that a control plane holds at a runner, as it stands (W 13.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from fleetgate.core.values import value
from fleetgate.protocols.api import NO_STEPS, Steps
from fleetgate.protocols.kodelet.errors import RpcError
from fleetgate.protocols.kodelet.manifest import Manifest
from fleetgate.protocols.kodelet.peer import Answered, Broken
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.wire import LONGEST_TEXT, RunOpen, ToolUpdate


@value
class Ended:
    """How something that was asked of a runner came out: `text` says what went wrong (empty:
    nothing did), `error` is the runner's own word for it, where it had one."""

    result: Any = None
    error: RpcError | None = None
    text: str = ""


Then: TypeAlias = Callable[[Ended, int], Steps]
"""What follows, given the outcome and the time."""


def ended(answer: Answered | Broken) -> Ended:
    """The outcome of a call, with at most `LONGEST_TEXT` characters of an error's text."""
    if isinstance(answer, Broken):
        return Ended(text=answer.reason)
    text = "" if answer.error is None else answer.error.message or str(answer.error.code)
    return Ended(answer.result, answer.error, text[:LONGEST_TEXT])


@attrs.define(slots=True)
class Subscription:
    """Who hears of a tool call's updates, and the last number that came."""

    request: str
    told: Callable[[ToolUpdate], Steps]
    sequence: int = 0


@attrs.define(slots=True, eq=False)
class Lease:
    """`phase` and `error` are the record that a control plane keeps of it. `call` is the wire id of
    what opens it or gives it back, while that waits for its answer, and `waits` hears of it.
    `closing`: it is being given back, and `wanted` is what it becomes once that is confirmed (None:
    what it is). `cause`: why its owner is gone."""

    opened: RunOpen
    phase: RunPhase = RunPhase.OPENING
    error: str = ""
    manifest: Manifest | None = None
    call: str = ""
    waits: Then | None = None
    closing: bool = False
    wanted: RunPhase | None = None
    cause: str = ""
    subscriptions: dict[str, Subscription] = attrs.field(factory=dict[str, Subscription])

    @property
    def id(self) -> str:
        """Its id on the wire."""
        return self.opened.run_id

    @property
    def active(self) -> bool:
        """Whether the runner may say more of it."""
        return not self.closing and self.phase in (RunPhase.OPENING, RunPhase.RUNNING)


Hook: TypeAlias = Callable[[Lease, int], Steps]
"""Is told of a run that something happened to unasked, and the time."""


def no_hook(lease: Lease, now: int) -> Steps:
    """Nobody is told."""
    return NO_STEPS
