"""`gateway bench`: measure, print the table, keep the raw data."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.bench import compare, document, parts, process, profile, targets
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.machine import invocation, machine
from fleetgate.gateway.bench.pairs.places import PROTOCOLS
from fleetgate.gateway.bench.results import Results
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.command_line import Intermixed

RESULTS: Final = Path("bench/results")
"""Where raw data is kept, and where journals lie meanwhile: a real disk, not a file system in
memory, which many machines have under the system's directory for temporary files."""

ALL: Final = tuple(parts.PARTS)


def run(argv: Sequence[str]) -> int:
    """Run `gateway bench`. Answers the exit code: 1 where a part failed, or none can
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
    try:
        if given.compare:
            return _compare(given.compare, given.quick, _disk(given.json))
        if given.profile:
            return _profile(given.profile, given.quick, _disk(given.json))
        kept = _results(given.json, given.resume)
    except OSError as error:
        sys.stderr.write(f"gateway bench: {error}; --json FILE keeps the result elsewhere\n")
        return 1
    except BenchFailed as error:
        sys.stderr.write(f"gateway bench: {error}\n")
        return 1
    wanted = tuple(dict.fromkeys([*given.part, *given.only])) or ALL
    return _measure_all(kept, [part for part in wanted if not kept.whole(part)], given.quick)


def _disk(result: Path | None) -> Path:
    """The directory in which journals are, where no result is kept."""
    disk = RESULTS if result is None else result.parent
    disk.mkdir(parents=True, exist_ok=True)
    return disk


def _results(path: Path | None, resumed: Path | None) -> Results:
    """Where results go, and those that are there."""
    if resumed is not None:
        return Results.resumed(resumed)
    return Results.new(path or RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json")


def _measure_all(kept: Results, wanted: Sequence[str], quick: bool) -> int:
    """Measure one part after the other. Each is kept once it is there, and one that fails is said
    and costs the others nothing."""
    failed: list[str] = []
    for part in wanted:
        try:
            found = _measure(part, quick, kept)
            kept.add(part, parts.to_document(found))
        except (BenchFailed, JournalError, OSError) as error:
            failed.append(part)
            sys.stderr.write(f"gateway bench: {part}: {error}\n")
        else:
            sys.stdout.write(f"## {part}\n\n{parts.to_text(found)}\n")
            sys.stdout.flush()
    if kept.parts:
        sys.stdout.write(f"{targets.to_text(kept.parts)}\nraw data: {kept.path}\n")
    if failed:
        again = f"; what there is, is kept: --resume {kept.path}" if kept.parts else ""
        sys.stderr.write(f"gateway bench: without a result: {', '.join(failed)}{again}\n")
    some = [part for part in wanted if part not in failed and kept.parts[part]["lost"]]
    if some:
        sys.stderr.write(
            f"gateway bench: trials of {', '.join(some)} came to nothing; "
            f"--resume {kept.path} measures what they belong to again\n"
        )
    return 1 if failed else 0


def _measure(part: str, quick: bool, kept: Results) -> parts.PartResult:
    started, begun = datetime.now(UTC), time.monotonic()
    facts = machine(kept.path.parent, kept.commit)
    measured = parts.PARTS[part](kept.path.parent, quick)
    if measured.lost and not measured.samples:
        raise BenchFailed(f"no trial came to anything; {'; '.join(measured.lost)}")
    return parts.PartResult(
        part=part,
        started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
        arguments=invocation(),
        machine=facts,
        measured=measured,
        load=os.getloadavg(),
        seconds=time.monotonic() - begun,
    )


def _compare(base: str, quick: bool, disk: Path) -> int:
    plan = compare.QUICK if quick else compare.PLAN
    losses = Losses()
    found = compare.measure(base, disk, plan, losses)
    sys.stdout.write(compare.to_text(found, losses.lines))
    return 0 if found else 1


def _profile(pair: str, quick: bool, disk: Path) -> int:
    plan = profile.plan_of(pair, profile.QUICK if quick else profile.PLAN)
    losses = Losses()
    samples = profile.measure(disk, plan, losses)
    sys.stdout.write(f"{profile.tables(samples, profile.KEPT)}\n" if samples else "")
    return 0 if samples else 1


def _document(result: Path) -> int:
    try:
        count, why = document.write(result), document.unexplained(result)
    except (OSError, ValueError, BenchFailed) as error:
        sys.stderr.write(f"gateway bench: {error}\n")
        return 1
    sys.stdout.write(f"{count} tables of {result} are in {document.PAGE}\n")
    if not why:
        return 0
    sys.stderr.write(
        f"gateway bench: {document.PAGE} does not say what bounds {', '.join(why)}, which the "
        "result misses: write it behind a mark <!-- why: NAME -->\n"
    )
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = Intermixed(
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
        "--profile",
        metavar="PAIR",
        type=_pair,
        help="in place of that: where the processor time of one pair's bridge goes, by room and by "
        "function; CONTROLLER-WORKER, such as agency-rvbox",
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
        help=f"where the raw data goes, after each part (default: a new file in {RESULTS}); "
        "journals are beside it",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="measure what a result file of this commit has not, and parts of which a trial came "
        "to nothing, and put it there",
    )
    return parser


def _pair(words: str) -> str:
    if set(words.split("-")) - set(PROTOCOLS) or words.count("-") != 1:
        said = ", ".join(PROTOCOLS)
        raise argparse.ArgumentTypeError(f"{words!r} is not CONTROLLER-WORKER, each of {said}")
    return words


def _part(name: str) -> str:
    if name not in ALL:
        raise argparse.ArgumentTypeError(f"there is no part {name!r}; there are {', '.join(ALL)}")
    return name
