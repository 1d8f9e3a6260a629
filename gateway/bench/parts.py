"""The benches, each of one thing: what each measures, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import attrs

from fleetgate.core.json import NOTHING
from fleetgate.gateway.bench import (
    appends,
    bridge,
    event,
    fanout,
    flatness,
    genuine,
    imports,
    memory,
    profile,
    recovery,
    startup,
)
from fleetgate.gateway.bench.figures import latencies, pairs_of, throughputs
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.machine import Machine
from fleetgate.gateway.bench.pairs import measure as pairs
from fleetgate.gateway.bench.plan import PLAN, QUICK
from fleetgate.gateway.bench.report import Load, bridge_tables, machine_lines, table
from fleetgate.gateway.bench.sample import Taken

_P = TypeVar("_P")
_S = TypeVar("_S")
_F = TypeVar("_F")


@attrs.frozen(slots=True)
class Measured:
    """What a part measured: its plan, every sample, and what they come to, as attrs values and
    as a table. `beside` is what else it measured, by its name in the JSON; `lost` are trials that
    came to nothing, a line each."""

    plan: Any
    samples: Sequence[Any]
    figures: Sequence[Any]
    table: str
    beside: Mapping[str, Sequence[Any]] = NOTHING
    lost: Sequence[str] = ()


@attrs.frozen(slots=True)
class PartResult:
    """Everything of one part's bench. `started` is an ISO 8601 time in UTC, `seconds` how long it
    took. `load` is the machine's load averages behind the last trial: of the bench's own processes
    and of whatever else ran meanwhile."""

    part: str
    started: str
    arguments: Sequence[str]
    machine: Machine
    measured: Measured
    load: Load
    seconds: float


def to_document(result: PartResult) -> dict[str, Any]:
    """The result with the raw data behind it, as JSON has it."""
    document: dict[str, Any] = {
        "part": result.part,
        "started": result.started,
        "arguments": list(result.arguments),
        "machine": attrs.asdict(result.machine),
        "load": result.load,
        "seconds": round(result.seconds, 1),
        "lost": list(result.measured.lost),
        "plan": attrs.asdict(result.measured.plan),
        "text": to_text(result),
        "figures": [attrs.asdict(each) for each in result.measured.figures],
        "samples": [attrs.asdict(each) for each in result.measured.samples],
        **{k: [attrs.asdict(each) for each in v] for k, v in result.measured.beside.items()},
    }
    parsed: dict[str, Any] = json.loads(json.dumps(document, default=_word))
    return parsed


def _word(value: Any) -> Any:
    """An enum's own word."""
    return value.value


def to_text(result: PartResult) -> str:
    """The result as Markdown."""
    facts = [
        *machine_lines(result.started, result.machine, result.load),
        f"- it took {result.seconds:.0f} s",
        *(f"- no result, tried twice: {line}" for line in result.measured.lost),
    ]
    return "\n".join(facts) + f"\n\n{result.measured.table}\n"


class Bench(Protocol[_P, _S, _F]):
    """A module that measures one thing: its plans, how they are measured, what the samples come
    to, and how that is shown. A trial that fails costs it that trial."""

    @property
    def PLAN(self) -> _P: ...
    @property
    def QUICK(self) -> _P: ...
    @property
    def HEAD(self) -> Sequence[str]: ...

    def measure(self, disk: Path, plan: _P, losses: Losses) -> Sequence[_S]:
        """Every sample, but for what was lost. Nothing of it stays in the directory."""
        ...

    def sum_up(self, samples: Sequence[_S]) -> Sequence[_F]:
        """What the samples come to."""
        ...

    def row(self, figure: _F) -> Sequence[str]:
        """A figure's line of the table."""
        ...


def _like(bench: Bench[_P, _S, _F]) -> Callable[[Path, bool], Measured]:
    def measure(disk: Path, quick: bool) -> Measured:
        plan, losses = bench.QUICK if quick else bench.PLAN, Losses()
        samples = bench.measure(disk, plan, losses)
        figures = bench.sum_up(samples)
        rows = table(bench.HEAD, map(bench.row, figures))
        return Measured(plan, samples, figures, rows, lost=losses.lines)

    return measure


def _bridge(disk: Path, quick: bool) -> Measured:
    plan, losses = QUICK if quick else PLAN, Losses()
    taken = bridge.measure(disk, plan, losses)
    found = pairs_of(taken)
    samples = list(starmap(Taken, taken))
    beside: Mapping[str, Sequence[Any]] = {
        "throughput": throughputs(found),
        "latency": latencies(found),
    }
    return Measured(plan, samples, [], bridge_tables(found), beside, losses.lines)


def _startup(disk: Path, quick: bool) -> Measured:
    plan = startup.QUICK if quick else startup.PLAN
    samples = startup.measure(plan)
    figures = startup.sum_up(samples)
    made = imports.measure(plan.imports)
    tables = (
        table(startup.HEAD, map(startup.row, figures)),
        table(imports.HEAD, map(imports.row, made)),
    )
    return Measured(plan, samples, figures, "\n\n".join(tables), {"imports": made})


def _profile(disk: Path, quick: bool) -> Measured:
    found = _like(profile)(disk, quick)
    beside = {"functions": profile.functions(found.samples)}
    return attrs.evolve(found, table=profile.tables(found.samples), beside=beside)


def _genuine(disk: Path, quick: bool) -> Measured:
    found = _like(genuine)(disk, quick)
    return found if genuine.programs().there else attrs.evolve(found, table=genuine.ABSENT)


PARTS: Final[Mapping[str, Callable[[Path, bool], Measured]]] = {
    "bridge": _bridge,
    "pairs": _like(pairs),
    "genuine": _genuine,
    "profile": _profile,
    "event": _like(event),
    "fanout": _like(fanout),
    "flatness": _like(flatness),
    "memory": _like(memory),
    "recovery": _like(recovery),
    "journal": _like(appends),
    "startup": _startup,
}
"""Each by its name on the command line. It is given a directory on the disk to measure, and
whether it shall be quick; it raises `BenchFailed`, `OSError` or `JournalError`."""
