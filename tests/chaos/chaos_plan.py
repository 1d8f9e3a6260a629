"""What goes wrong in a trial, and when: drawn from its seed, before it begins."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import attrs

from fleetgate.transports.faults import Faults

SPAN: Final = 40.0
"""Seconds within which runs begin and things go wrong; behind it all is well."""

PHASES: Final = ("steady", "commit, before", "commit, after", "reconcile", "replay")
ENTRIES: Final = ("gui", "hosts")

HONEST: Final = ("kill", "cut", "drop", "half_open", "lose_ack", "slow", "jump")
"""What may become of any link over which bytes arrive as they were sent or not at all, and of any
machine. Nothing that was promised may break."""

TWISTED: Final = ("duplicate", "reorder", "corrupt", "truncate")
"""What no stream under TLS ever does. Who numbers its frames finds most of it; of the others the
gateway must still keep its own sequence, one end, and its head."""


@attrs.frozen
class Strike:
    """At `at` seconds. A kill waits for its `phase` for a while, and the gateway is down for
    `lasts`; a fault of a link of `entry` lasts as long. `skew`: seconds by which the wall clock
    of the next life is wrong; of a jump, by which all clocks leap."""

    at: float
    kind: str
    entry: str = ""
    lasts: float = 0.0
    phase: str = ""
    skew: float = 0.0
    faults: Faults = Faults()


def plan(draw: random.Random, twisted: bool) -> list[Strike]:
    """Some strikes, in order."""
    kinds = [draw.choice(HONEST) for _ in range(draw.randint(2, 6))]
    if twisted:
        kinds += [draw.choice(TWISTED) for _ in range(draw.randint(1, 3))]
    times = sorted(draw.uniform(0.5, SPAN) for _ in kinds)
    draw.shuffle(kinds)
    return [_strike(draw, at, kind) for at, kind in zip(times, kinds, strict=True)]


def _strike(draw: random.Random, at: float, kind: str) -> Strike:
    if kind == "kill":
        skew = draw.choice((0.0, 0.0, 3600.0, -3600.0, -1.0))
        return Strike(at, kind, lasts=draw.random() * 3, phase=draw.choice(PHASES), skew=skew)
    if kind == "jump":
        return Strike(at, kind, skew=draw.uniform(1, 20))
    entry, lasts = draw.choice(ENTRIES), draw.uniform(0.5, 6)
    return Strike(at, kind, entry, lasts, faults=_faults(draw, kind))


def _faults(draw: random.Random, kind: str) -> Faults:
    way = draw.choice(("in", "out", "both"))
    match kind:
        case "drop":
            return Faults(drop_after=draw.randint(1, 12), direction=way)
        case "half_open":
            return Faults(half_open=True, direction=way)
        case "lose_ack":
            return Faults(lose_ack=1.0, direction=way)
        case "slow":
            return Faults(delay_ms=draw.randint(1, 400), slow_read=draw.choice((None, 2000)))
        case "duplicate" | "reorder" | "corrupt" | "truncate":
            return Faults(**{kind: draw.choice((0.1, 0.5))}, direction=way)
        case _:
            return Faults()


def named(strikes: Sequence[Strike]) -> str:
    """In words."""
    return "; ".join(f"{s.at:.1f} {s.kind} {s.entry}{s.phase} {s.lasts:.1f} s" for s in strikes)
