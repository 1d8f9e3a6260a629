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
from fleetgate.gateway.tck.peer import CannotStart, Elsewhere, Patience, Skipped, Unmet
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
    elsewhere: bool = False
    """It was skipped because it is about another carriage."""


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
        """Whether a must was skipped that the target's carriage has."""
        return any(
            r.requirement.tier is Tier.MUST and r.verdict is Verdict.SKIP and not r.elsewhere
            for r in self.results
        )


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
        """Have it running; answers whether it was started just now. Raises: `CannotStart`."""
        ...

    @property
    def exit_code(self) -> int | None:
        """With which it has ended by itself; None: it has not."""
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
        """Try one. Raises: `CannotStart`."""
        if requirement.ends and self.started is None:
            why = "it ends the target, which the kit can start again only if given --start"
            return Result(requirement, Verdict.SKIP, why)
        seen, began = Seen(), trio.current_time()
        attempt = self.kit.attempt(self.target, self.given, self.patience, seen, self.clock)
        attempt.target_dials = not self.kit.listens
        result = Result(requirement, Verdict.PASS)
        with trio.move_on_after(self.patience.whole) as scope:
            try:
                result = await self._tried(requirement, attempt)
            finally:  # inside the scope: an attempt's resources may have scopes of their own
                with trio.move_on_after(self.patience.within, shield=True):
                    await attempt.close()
        if scope.cancelled_caught:
            why = f"it was not over after {self.patience.whole:g} s"
            result = Result(requirement, Verdict.FAIL, why)
        self._note_exit(requirement, attempt, result)
        if requirement.ends and self.started is not None:
            await self.started.stop()
        took = trio.current_time() - began
        notes = tuple(attempt.notes)
        return attrs.evolve(result, seconds=took, frames=seen.frames, notes=notes)

    async def _tried(self, requirement: Requirement, attempt: Attempt) -> Result:
        verdict, why, elsewhere = Verdict.FAIL, "", False
        try:
            await self._have_target(attempt)
            await requirement.play(attempt)
            verdict = Verdict.PASS
        except Skipped as skipped:
            verdict, why = Verdict.SKIP, str(skipped)
            elsewhere = isinstance(skipped, Elsewhere)
        except CannotStart:
            raise
        except Unmet as unmet:
            why = str(unmet)
        except LinkError as error:
            why = f"the link ended in the middle: {error}"
        except Exception as error:  # a target may send anything, and it costs this requirement only
            why = f"the kit could not go on with what came: {error!r}"
        return Result(requirement, verdict, why, elsewhere=elsewhere)

    def _note_exit(self, requirement: Requirement, attempt: Attempt, result: Result) -> None:
        """A target that is gone explains what did not come, better than the kit can."""
        code = None if self.started is None else self.started.exit_code
        if code is not None and result.verdict is not Verdict.PASS and not requirement.ends:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            attempt.note(f"the command of --start {how}: try it by itself, and see what it says")

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
                # A command that has ended with 0 may have put the target into the background.
                if self.started.exit_code or trio.current_time() > deadline:
                    raise Unmet("that the target starts", str(error)) from None
                await trio.sleep(0.05)
            else:
                return
            finally:
                await probe.close()
