"""Trying requirements one after another, each on links of its own: what is wrong with the target
during one costs that one only."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, unique
from fnmatch import fnmatchcase
from typing import Any, Protocol

import attrs
import trio

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.tck.attempt import Attempt, Target
from fleetgate.gateway.tck.peer import Patience, Skipped, Unmet
from fleetgate.gateway.tck.requirement import Kit, Requirement, Tier
from fleetgate.gateway.tck.seen import Seen, SeenFrame
from fleetgate.transports.api import LinkError


@unique
class Verdict(Enum):
    """What came of a requirement."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


@attrs.frozen(slots=True)
class Result:
    """What came of one requirement: `reason` says why it failed or was skipped."""

    requirement: Requirement
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0
    frames: tuple[SeenFrame, ...] = ()
    notes: tuple[str, ...] = ()


@attrs.frozen(slots=True)
class Summary:
    """How many of each tier came to what."""

    results: tuple[Result, ...]

    def count(self, tier: Tier, verdict: Verdict) -> int:
        """Requirements of a tier with a verdict."""
        return sum(r.requirement.tier is tier and r.verdict is verdict for r in self.results)

    @property
    def broken(self) -> bool:
        """Whether a must was broken."""
        return self.count(Tier.MUST, Verdict.FAIL) > 0

    @property
    def unproven(self) -> bool:
        """Whether a must was skipped."""
        return self.count(Tier.MUST, Verdict.SKIP) > 0


def chosen(kit: Kit, patterns: Sequence[str]) -> tuple[Requirement, ...]:
    """The requirements whose id, or topic, fits one of the patterns (`AGENCY-D-01*`, `hello`); all
    without one."""
    return tuple(
        requirement
        for requirement in kit.requirements
        if not patterns
        or any(
            fnmatchcase(requirement.id, pattern) or fnmatchcase(requirement.topic, pattern)
            for pattern in patterns
        )
    )


class Starter(Protocol):
    """Who can start the target."""

    async def ensure(self) -> bool:
        """Have it running; answers whether it was started just now. Raises: `OSError`."""
        ...

    async def stop(self) -> None:
        """Have it end."""
        ...


@attrs.define
class Runner:
    """Tries requirements of one kit at one target."""

    kit: Kit
    target: Target
    given: Any
    patience: Patience = Patience()
    started: Starter | None = None
    clock: Clock = attrs.field(factory=Clock)

    async def attempt(self, requirement: Requirement) -> Result:
        """Try one."""
        if requirement.ends and self.started is None:
            why = "it ends the target, which the kit can start again only if given --start"
            return Result(requirement, Verdict.SKIP, why)
        seen, began = Seen(), trio.current_time()
        attempt = self.kit.attempt(self.target, self.given, self.patience, seen, self.clock)
        attempt.target_dials = not self.kit.listens
        verdict, reason = Verdict.PASS, ""
        with trio.move_on_after(self.patience.whole) as scope:
            try:
                verdict, reason = await self._tried(requirement, attempt)
            finally:  # inside the scope: an attempt's resources may have scopes of their own
                with trio.move_on_after(self.patience.within, shield=True):
                    await attempt.close()
        if scope.cancelled_caught:
            verdict, reason = Verdict.FAIL, f"it was not over after {self.patience.whole:g} s"
        if requirement.ends and self.started is not None:
            await self.started.stop()
        took = trio.current_time() - began
        return Result(requirement, verdict, reason, took, seen.frames, tuple(attempt.notes))

    async def _tried(self, requirement: Requirement, attempt: Attempt) -> tuple[Verdict, str]:
        try:
            await self._have_target(attempt)
            await requirement.play(attempt)
        except Skipped as skipped:
            return Verdict.SKIP, str(skipped)
        except Unmet as unmet:
            return Verdict.FAIL, str(unmet)
        except LinkError as error:
            return Verdict.FAIL, f"the link ended in the middle: {error}"
        except Exception as error:  # a target may send anything, and it costs this requirement only
            return Verdict.FAIL, f"the kit could not go on with what came: {error!r}"
        return Verdict.PASS, ""

    async def _have_target(self, attempt: Attempt) -> None:
        """Start the target if it is ours to start and does not run, and wait until it is there."""
        if self.started is None or not await self.started.ensure() or not self.kit.listens:
            return
        deadline = trio.current_time() + self.patience.arrive
        while True:
            probe = self.kit.attempt(self.target, self.given, self.patience, Seen())
            try:
                await probe.target.link(probe.stack, self.patience.within)
            except LinkError as error:
                if trio.current_time() > deadline:
                    raise Unmet("that the target starts", str(error)) from None
                await trio.sleep(0.05)
            else:
                return
            finally:
                await probe.close()
