"""`gateway bench`: measure, print the table, keep the raw data."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

import trio

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.bench import compare, document, parts, process
from fleetgate.gateway.bench.figures import pairs_of
from fleetgate.gateway.bench.machine import invocation, machine
from fleetgate.gateway.bench.plan import FULL, QUICK, Plan, Trial
from fleetgate.gateway.bench.report import FORMAT, Result, table, to_json, to_text
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.bench.trial import run_trial

RESULTS: Final = Path("bench/results")
"""Where raw data is kept, and where journals lie meanwhile: a real disk, not a file system in
memory, which many machines have under the system's directory for temporary files."""


BRIDGE: Final = "bridge"

ALL: Final = (BRIDGE, *parts.PARTS)


def run(argv: Sequence[str]) -> int:
    """Run `gateway bench`. Answers the exit code: 1 where a trial failed, or none can
    be run here; 2 for a command line that makes no sense."""
    try:
        given = _parser().parse_args(argv)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    if given.document:
        return _document(given.document)
    if not process.known():
        sys.stderr.write("gateway bench: needs Linux, whose /proc it reads\n")
        return 1
    started = datetime.now(UTC)
    path: Path = given.json or RESULTS / f"{started:%Y%m%dT%H%M%SZ}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if given.compare:
            return _compare(given.compare, given.quick, path.parent)
        wanted = tuple(dict.fromkeys([*given.part, *given.only])) or ALL
        kept, said = _measure_all(wanted, given.quick, f"{started:%Y-%m-%dT%H:%M:%SZ}", path.parent)
        path.write_text(kept)
    except OSError as error:
        sys.stderr.write(f"gateway bench: {error}; --json FILE keeps the result elsewhere\n")
        return 1
    except (BenchFailed, JournalError) as error:
        sys.stderr.write(f"gateway bench: {error}\n")
        return 1
    sys.stdout.write(f"{said}\nraw data: {path}\n")
    return 0


def _compare(base: str, quick: bool, disk: Path) -> int:
    plan = compare.QUICK if quick else compare.ComparePlan()
    found = compare.measure(base, disk, plan)
    sys.stdout.write(f"{table(compare.HEAD, compare.rows(found))}\n")
    return 0


def _document(result: Path) -> int:
    try:
        count = document.write(result)
    except (OSError, ValueError, BenchFailed) as error:
        sys.stderr.write(f"gateway bench: {error}\n")
        return 1
    sys.stdout.write(f"{count} tables of {result} are in {document.PAGE}\n")
    return 0


def _measure_all(wanted: Sequence[str], quick: bool, started: str, disk: Path) -> tuple[str, str]:
    """One part's result; or those of several, each under its name."""
    if len(wanted) == 1:
        return _measure(wanted[0], quick, started, disk)
    kept: dict[str, Any] = {}
    said: list[str] = []
    for part in wanted:
        raw, text = _measure(part, quick, started, disk)
        kept[part] = json.loads(raw)
        said.append(f"## {part}\n\n{text}")
    return json.dumps({"format": FORMAT, "parts": kept}) + "\n", "\n".join(said)


def _measure(part: str, quick: bool, started: str, disk: Path) -> tuple[str, str]:
    """A result as JSON and as text."""
    facts, called = machine(disk), invocation()
    if part != BRIDGE:
        measured = parts.PARTS[part](disk, quick)
        found = parts.PartResult(part, started, called, facts, measured, os.getloadavg())
        return parts.to_json(found), parts.to_text(found)
    plan = QUICK if quick else FULL
    samples = trio.run(run_plan, plan, disk)
    result = Result(started, called, facts, plan, samples, os.getloadavg())
    return to_json(result), to_text(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gateway bench",
        description="Measure the gateway on this machine: bridges against a plain relay of the "
        "same two transports, one after the other, and what each of its parts takes.",
    )
    parser.add_argument(
        "part", nargs="*", metavar="PART", type=_part, help=f"of {', '.join(ALL)}; none: all"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        type=_part,
        help="the same, for those who like it better so",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer and shorter trials: all in two minutes"
    )
    parser.add_argument(
        "--compare",
        metavar="BASE",
        help="in place of that: the bridge of this tree beside that of a revision, or of a result "
        "file's commit, in pairs one after the other",
    )
    parser.add_argument(
        "--document",
        type=Path,
        metavar="RESULT",
        help=f"measure nothing: put the tables of a result file into {document.PAGE}",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help=f"where the raw data goes (default: a new file in {RESULTS}); journals are beside it",
    )
    return parser


def _part(name: str) -> str:
    if name not in ALL:
        raise argparse.ArgumentTypeError(f"there is no part {name!r}; there are {', '.join(ALL)}")
    return name


async def run_plan(plan: Plan, disk: Path) -> list[tuple[Trial, Sample]]:
    """Run all trials, and say on stderr how each went.

    Raises: `BenchFailed`.
    """
    trials = list(plan.trials())
    samples: list[tuple[Trial, Sample]] = []

    async def run_all(trials: Iterable[Trial], count: int) -> None:
        for trial in trials:
            samples.append((trial, await run_trial(trial, disk)))
            sys.stderr.write(f"{len(samples)}/{count} {progress(samples)}\n")

    await run_all(trials, len(trials))
    last = list(plan.last(trials[-1].pair + 1, most_of(samples, plan.paced_size)))
    await run_all(last, len(trials) + len(last))
    return samples


def most_of(samples: Iterable[tuple[Trial, Sample]], size: int) -> float:
    """The median of the bridge's events a second, of that size and as fast as they were taken;
    0 where there are none."""
    rates = [
        sample.rate
        for trial, sample in samples
        if trial.kind is Kind.BRIDGE and trial.task.size == size and not trial.task.rate
    ]
    return median(rates) if rates else 0.0


def progress(samples: Sequence[tuple[Trial, Sample]]) -> str:
    """One line about the last trial."""
    trial, sample = samples[-1]
    line = f"{trial.kind.value} {trial.task.size} bytes: {sample.rate:.0f} events/s"
    pairs = pairs_of(each for each in samples if each[0].pair == trial.pair)
    return f"{line}, ratio {pairs[0].ratio:.2f}" if pairs and not trial.task.rate else line
