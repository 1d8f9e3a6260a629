"""`gateway bench --compare BASE`: this tree's gateway beside that of another commit, here and now.

The load, and how it is measured, are this tree's for both. BASE is a revision of the repository, or
a result file, whose commit it then is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

import attrs
import trio

import fleetgate
from fleetgate.gateway.bench.figures import percentile
from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed, Task
from fleetgate.gateway.bench.trial import run_trial

GIT_WITHIN: Final = 60.0
"""Seconds that a command of git may take."""


@attrs.frozen(slots=True)
class ComparePlan:
    """A pair is the base and then this tree, at the same task. Each task has `pairs`."""

    tasks: tuple[Task, ...] = (Task(256, 3.0), Task(4096, 3.0), Task(256, 5.0, 1000))
    pairs: int = 5


QUICK: Final = ComparePlan(tasks=(Task(256, 1.0), Task(256, 2.0, 1000)), pairs=2)


@attrs.frozen(slots=True)
class Compared:
    """The base's sample and this tree's, taken one after the other."""

    task: Task
    base: Sample
    here: Sample


def measure(base: str, disk: Path, plan: ComparePlan) -> list[Compared]:
    """Check out the base beside this tree, and run all pairs.

    Raises: `BenchFailed`.
    """
    with checked_out(revision_of(base)) as source:
        return trio.run(_measure, source, disk, plan)


async def _measure(source: Path, disk: Path, plan: ComparePlan) -> list[Compared]:
    found: list[Compared] = []
    for _ in range(plan.pairs):
        for task in plan.tasks:
            trial = Trial(1, Kind.BRIDGE, task)
            base = await run_trial(trial, disk, source)
            here = await run_trial(trial, disk)
            found.append(Compared(task, base, here))
            sys.stderr.write(f"{task}: {base.cpu_micros:.1f}, {here.cpu_micros:.1f} µs/event\n")
    return found


def revision_of(base: str) -> str:
    """The revision that `base` names: itself, or the commit of a result file.

    Raises: `BenchFailed`: the file names none, or one that was changed.
    """
    path = Path(base)
    if not path.is_file():
        return base
    commit = _commit_in(json.loads(path.read_text()))
    if not commit or commit.endswith("+"):
        raise BenchFailed(f"{base} is of no commit that is as it was; name a revision instead")
    return commit


def _commit_in(document: Any) -> str | None:
    parts = document.get("parts") or {"one": document}
    commit: str | None = next(iter(parts.values()))["machine"]["commit"]
    return commit


@contextmanager
def checked_out(revision: str) -> Generator[Path]:
    """The source directory of a revision, in a worktree for the time of the block.

    Raises: `BenchFailed`: this is no checkout, or has no such revision.
    """
    here = Path(fleetgate.__file__).resolve().parent
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        tree = Path(directory) / "base"
        _git(here, "worktree", "add", "--detach", str(tree), revision)
        try:
            yield tree / "src"
        finally:
            _git(here, "worktree", "remove", "--force", str(tree))


def _git(here: Path, *words: str) -> None:
    try:
        done = subprocess.run(
            ("git", "-C", str(here), *words), capture_output=True, text=True, timeout=GIT_WITHIN
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchFailed(f"git {words[0]} failed: {error}") from None
    if done.returncode:
        raise BenchFailed(f"git {' '.join(words)} failed: {done.stderr.strip()[-300:]}")


HEAD: Final = ("task", "what", "base", "here", "here over base", "least to most")


def rows(found: Iterable[Compared]) -> list[Sequence[str]]:
    """The lines of the table: medians, and the median of the ratios within the pairs."""
    groups: dict[Task, list[Compared]] = {}
    for each in found:
        groups.setdefault(each.task, []).append(each)
    lines: list[Sequence[str]] = []
    for task, pairs in groups.items():
        name = f"{task.size} bytes" + (f", {task.rate}/s" if task.rate else "")
        lines.append(_row(name, "CPU µs/event", pairs, _cpu))
        if task.rate:
            for percent in (50, 99):
                lines.append(_row(name, f"p{percent}, µs", pairs, _late(percent)))
        else:
            lines.append(_row(name, "events/s", pairs, _rate))
    return lines


Figure: TypeAlias = Callable[[Sample], float]


def _cpu(sample: Sample) -> float:
    return sample.cpu_micros


def _rate(sample: Sample) -> float:
    return sample.rate


def _late(percent: float) -> Figure:
    def late(sample: Sample) -> float:
        return percentile(sample.lateness, percent) / 1000

    return late


def _row(name: str, what: str, pairs: Sequence[Compared], figure: Figure) -> Sequence[str]:
    base, here = ([figure(each) for each in side] for side in zip(*map(_sides, pairs), strict=True))
    ratios = [mine / theirs for mine, theirs in zip(here, base, strict=True)]
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return (
        name,
        what,
        f"{median(base):.1f}",
        f"{median(here):.1f}",
        f"{median(ratios):.2f}",
        spread,
    )


def _sides(pair: Compared) -> tuple[Sample, Sample]:
    return pair.base, pair.here
