"""Benches of one thing, beside that of the bridge: what each measures, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from fleetgate.gateway.bench import appends, fanout, flatness, memory, recovery, startup
from fleetgate.gateway.bench.machine import Machine
from fleetgate.gateway.bench.pairs import measure as pairs
from fleetgate.gateway.bench.report import FORMAT, Load, machine_lines, table


@attrs.frozen(slots=True)
class Measured:
    """What a part measured: its plan, every sample, and what they come to, as attrs values and
    as a table."""

    plan: Any
    samples: Sequence[Any]
    figures: Sequence[Any]
    table: str


@attrs.frozen(slots=True)
class Taken:
    """What was measured in a trial."""

    trial: Any
    sample: Any


@attrs.frozen(slots=True)
class PartResult:
    """Everything of one part's bench. Members as in `report.Result`."""

    part: str
    started: str
    arguments: Sequence[str]
    machine: Machine
    measured: Measured
    load: Load


def to_json(result: PartResult) -> str:
    """The result with the raw data behind it."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "part": result.part,
        "started": result.started,
        "arguments": list(result.arguments),
        "machine": attrs.asdict(result.machine),
        "load": result.load,
        "plan": attrs.asdict(result.measured.plan),
        "text": to_text(result),
        "figures": [attrs.asdict(each) for each in result.measured.figures],
        "samples": [attrs.asdict(each) for each in result.measured.samples],
    }
    return json.dumps(document, separators=(",", ":"), default=_word) + "\n"


def _word(value: Any) -> Any:
    """An enum's own word."""
    return value.value


def to_text(result: PartResult) -> str:
    """The result as Markdown."""
    facts = "\n".join(machine_lines(result.started, result.machine, result.load))
    return f"{facts}\n\n{result.measured.table}\n"


def _journal(disk: Path, quick: bool) -> Measured:
    plan = appends.AppendPlan(rounds=1) if quick else appends.AppendPlan()
    samples = appends.measure(disk, plan)
    figures = appends.sum_up(samples)
    return Measured(plan, samples, figures, table(appends.HEAD, map(appends.row, figures)))


def _startup(disk: Path, quick: bool) -> Measured:
    plan = startup.StartupPlan(rounds=5) if quick else startup.StartupPlan()
    samples = startup.measure(plan)
    figures = startup.sum_up(samples)
    return Measured(plan, samples, figures, table(startup.HEAD, map(startup.row, figures)))


def _pairs(disk: Path, quick: bool) -> Measured:
    plan = pairs.QUICK if quick else pairs.PairsPlan()
    trials = pairs.measure(disk, plan)
    figures = pairs.sum_up(trials)
    samples = [Taken(trial, sample) for trial, sample in trials]
    return Measured(plan, samples, figures, table(pairs.HEAD, map(pairs.row, figures)))


def _fanout(disk: Path, quick: bool) -> Measured:
    plan = fanout.QUICK if quick else fanout.FanoutPlan()
    samples = fanout.measure(disk, plan)
    figures = fanout.sum_up(samples)
    return Measured(plan, samples, figures, table(fanout.HEAD, map(fanout.row, figures)))


def _flatness(disk: Path, quick: bool) -> Measured:
    plan = flatness.QUICK if quick else flatness.FlatPlan()
    samples = flatness.measure(disk, plan)
    figures = flatness.sum_up(samples)
    return Measured(plan, samples, figures, table(flatness.HEAD, map(flatness.row, figures)))


def _memory(disk: Path, quick: bool) -> Measured:
    plan = memory.QUICK if quick else memory.MemoryPlan()
    samples = memory.measure(disk, plan)
    return Measured(plan, samples, [], table(memory.HEAD, memory.rows(samples)))


def _recovery(disk: Path, quick: bool) -> Measured:
    plan = recovery.QUICK if quick else recovery.RecoveryPlan()
    samples = recovery.measure(disk, plan)
    return Measured(plan, samples, [], table(recovery.HEAD, recovery.rows(samples)))


PARTS: Final[Mapping[str, Callable[[Path, bool], Measured]]] = {
    "pairs": _pairs,
    "fanout": _fanout,
    "flatness": _flatness,
    "memory": _memory,
    "recovery": _recovery,
    "journal": _journal,
    "startup": _startup,
}
"""Each by its name on the command line. It is given a directory on the disk to measure, and
whether it shall be quick; it raises `BenchFailed`, `OSError` or `JournalError`."""
