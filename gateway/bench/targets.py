"""What is aimed at, and whether a result reaches it: computed from that result alone.

A part of a result is what JSON has of it. Of an aim at a size that was not measured, such as by
`--quick`, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.gateway.bench.report import table

Parts: TypeAlias = Mapping[str, Any]
"""Of a result, by name."""

Found: TypeAlias = dict[str, float]
"""What was measured, by what it was measured of."""


@attrs.frozen(slots=True)
class Target:
    """An aim: what is measured shall be at least `bound`, or with `most` at most. `name` is also
    that of its explanation in the page. `form` is how a figure is written."""

    name: str
    aim: str
    bound: float
    find: Callable[[Parts], Found]
    most: bool = True
    form: str = ".2f"

    def met(self, figure: float) -> bool:
        """Whether a figure reaches it."""
        return figure <= self.bound if self.most else figure >= self.bound

    def missed_by(self, parts: Parts) -> Found:
        """What misses it."""
        return {of: figure for of, figure in self.find(parts).items() if not self.met(figure)}

    def row(self, parts: Parts) -> list[str]:
        """Its line of the table."""
        found = self.find(parts)
        sign = "≤" if self.most else "≥"
        head = [self.aim, f"{sign} {self.bound:{self.form}}"]
        if not found:
            return [*head, "", "not measured", ""]
        worst = (max if self.most else min)(found, key=lambda of: found[of])
        missed = self.missed_by(parts)
        verdict = "met" if not missed else "**not met**"
        if missed and len(found) > 1:
            verdict += f" by {len(missed)} of {len(found)}"
        return [*head, f"{found[worst]:{self.form}}", verdict, worst if len(found) > 1 else ""]


def _figures(parts: Parts, part: str, members: str = "figures") -> Iterable[Mapping[str, Any]]:
    found: Iterable[Mapping[str, Any]] = parts.get(part, {}).get(members, ())
    return found


def _pairs(runs: int, member: str) -> Callable[[Parts], Found]:
    def find(parts: Parts) -> Found:
        return {
            f"{each['south']} to {each['north']}": each[member]
            for each in _figures(parts, "pairs")
            if each["runs"] == runs and each.get(member) is not None
        }

    return find


def _added(percent: float) -> Callable[[Parts], Found]:
    def find(parts: Parts) -> Found:
        return {
            f"{each['size']} bytes": each["added"] / 1000
            for each in _figures(parts, "bridge", "latency")
            if (each["rate"], each["percent"]) == (1000, percent)
        }

    return find


def _flat(beside: str, amount: int) -> Callable[[Parts], Found]:
    def find(parts: Parts) -> Found:
        return {
            each["beside"]: each["ratio"]
            for each in _figures(parts, "flatness")
            if (each["beside"], each["amount"]) == (beside, amount)
        }

    return find


def _idle(parts: Parts) -> Found:
    return {
        each["thing"]: each["over"] / 1024
        for each in _figures(parts, "memory")
        if each.get("over") is not None
    }


def _follower(parts: Parts) -> Found:
    return {
        each["thing"]: each["each"] / 1024
        for each in _figures(parts, "memory")
        if each["thing"] == "follower"
    }


def _recovered(parts: Parts) -> Found:
    plan = parts.get("recovery", {}).get("plan", {})
    if (plan.get("events"), plan.get("open_runs")) != (1_000_000, 10_000):
        return {}
    return {
        each["what"]: each["p50"] / 1000
        for each in _figures(parts, "recovery")
        if each["what"] == "first event, full journal"
    }


def _started(parts: Parts, wanted: Callable[[str], bool]) -> Found:
    return {
        each["command"]: each["p50"]
        for each in _figures(parts, "startup")
        if wanted(each["command"])
    }


def _version(parts: Parts) -> Found:
    return _started(parts, lambda command: command == "gateway version")


def _fakes(parts: Parts) -> Found:
    return _started(parts, lambda command: command.startswith("gateway fake "))


TARGETS: Final = (
    *(
        Target(
            f"throughput-{runs}{suffix}",
            f"{of} of each pair, {said}: events/s over those of {relay}",
            bound,
            _pairs(runs, member),
            most=False,
        )
        for runs, said, of, bound in (
            (64, "64 runs at once", "bridge", 0.8),
            (1, "one run", "bridge", 0.6),
        )
        for suffix, relay, member in (
            ("", "a plain relay", "plain_ratio"),
            ("-batched", "a relay that writes together what came together", "ratio"),
        )
    ),
    Target("latency-p50", "added at 1,000 events/s, p50, ms", 1.0, _added(50)),
    Target("latency-p99", "added at 1,000 events/s, p99, ms", 4.0, _added(99)),
    Target(
        "flat-journal",
        "CPU of an event with 10⁶ in the journal, over that with 10³",
        1.05,
        _flat("events in the journal", 1_000_000),
    ),
    Target(
        "flat-workers",
        "CPU of an event with 10,000 idle workers, over that with one",
        1.05,
        _flat("idle workers", 10_000),
    ),
    Target("idle-worker", "idle worker over its bare transport, KiB", 16, _idle, form=".1f"),
    Target("follower", "a follower, KiB", 4, _follower, form=".1f"),
    Target("recovery", "exec to first event, 10⁶ events, 10⁴ open runs, s", 3, _recovered),
    Target("version", "`gateway version`, ms", 150, _version, form=".0f"),
    Target("fakes", "a fake until it is ready, ms", 400, _fakes, form=".0f"),
)

HEAD: Final = ("aim", "bound", "worst measured", "", "of")


def to_text(parts: Parts) -> str:
    """All of them as Markdown."""
    return table(HEAD, [target.row(parts) for target in TARGETS]) + "\n"


def missed(parts: Parts) -> list[str]:
    """The names of those that a result does not reach."""
    return [target.name for target in TARGETS if target.missed_by(parts)]
