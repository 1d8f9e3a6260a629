"""Which ends a pair's promises allow a run, by what struck while it was open."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from chaos_oracle import Task
from chaos_plan import TWISTED, Strike

POWERS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[1] / "bridges" / "powers.toml").read_text()
)
NUMBERED = {"rvbox"}
"""Protocols that number inputs, so that they are sent again and known again."""
SENT_ONCE = {"iop"}
"""Protocols whose runs outlive a link, if they have been heard of before it was lost: a start is
sent at most once."""
GRACED = {"iop"}
"""Protocols whose runs outlive a link only if its worker is back within a grace, of 30 s."""
GRACE = 15.0
"""Seconds away that may come to that: what is left is backoff and the search for a dead link."""
FELT = 60.0
"""Seconds behind a strike in which it may still be felt: a peer that finds a silent link dead."""
WELL = frozenset({"succeeded"})
GONE = frozenset({"lost", "failed"})
ALL = frozenset({"succeeded", "failed", "canceled", "lost"})


def takes_input(pair: str) -> bool:
    """Whether runs of the pair can be sent input."""
    north, _, south = pair.partition("-")
    return bool(POWERS[north]["input"] and POWERS[south]["input"])


@attrs.frozen
class Allowance:
    """`struck` are strikes with the times at which they began and were over; `cut_off` the tasks
    that a worker was at as the gateway was killed."""

    pair: str
    strikes: Sequence[Strike]
    struck: Sequence[tuple[float, float, Strike]]
    cut_off: Collection[str] = ()

    @property
    def whole(self) -> bool:
        """Whether bytes arrived as they were sent, or not at all."""
        return not any(strike.kind in TWISTED for strike in self.strikes)

    @property
    def ends(self) -> bool:
        """Whether each run must have ended by now: where bits turn that nobody checks, an id may
        have become another, and the run waits for `lost_after`."""
        return not any(strike.kind in ("corrupt", "truncate") for strike in self.strikes)

    def uncertain_input(self, span: tuple[float, float]) -> bool:
        """Whether inputs of a run may be missing: something struck while it was open, and not both
        protocols number them."""
        north, south = self._protocols
        return {north, south} != NUMBERED and any(self._during(span))

    def at_controller(self, task: Task, span: tuple[float, float], executed: int) -> frozenset[str]:
        """The ends that the controller may see."""
        if not self.whole:
            return ALL
        north, south = self._protocols
        ends = self._natural(task)
        if self._lost(north, "gui", span, executed) or self._lost(south, "hosts", span, executed):
            ends |= GONE
        return ends - self._impossible(task, *self._protocols)

    def at_gateway(self, task: Task, span: tuple[float, float], executed: int) -> frozenset[str]:
        """The ends that the gateway may record."""
        if not self.whole:
            return ALL
        north, south = self._protocols
        ends = self._natural(task)
        if self._lost(south, "hosts", span, executed):
            ends |= {"lost"}
        if self._lost(north, "gui", span, executed):
            ends |= {"canceled"}
        return ends - self._impossible(task, self._protocols[1])

    def _impossible(self, task: Task, *protocols: str) -> frozenset[str]:
        """The end that a run cannot come to: one that a worker was at as the gateway was killed,
        where a protocol on its way cannot take a run up again."""
        taken_up = all(POWERS[protocol]["resumes"] for protocol in protocols)
        return frozenset() if taken_up or task.id not in self.cut_off else WELL

    @property
    def _protocols(self) -> tuple[str, str]:
        north, _, south = self.pair.partition("-")
        return north, south

    def _natural(self, task: Task) -> frozenset[str]:
        return frozenset({"succeeded", *(["canceled"] if task.cancel is not None else [])})

    def _lost(self, protocol: str, entry: str, span: tuple[float, float], executed: int) -> bool:
        """Whether a run of this protocol that was open then may be lost by what struck: where runs
        do not outlive a link, or where a start is sent at most once and this one did not arrive."""
        if POWERS[protocol]["resumes"] and (executed or protocol not in SENT_ONCE):
            return protocol in GRACED and self._away(span) > GRACE
        return any(
            strike.kind in ("kill", "jump") or strike.entry == entry
            for strike in self._during(span)
        )

    def _away(self, span: tuple[float, float]) -> float:
        """Seconds that links may have been away while a run was open, leaps of clocks included."""
        struck = self._during(span)
        return sum(s.skew if s.kind == "jump" else s.lasts for s in struck)

    def _during(self, span: tuple[float, float]) -> Iterator[Strike]:
        for began, over, strike in self.struck:
            if began <= span[1] and span[0] <= over + FELT:
                yield strike
