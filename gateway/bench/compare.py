"""`gateway bench --compare BASE`: this tree's gateway beside that of another commit, here and now.

The load, and how it is measured, are this tree's for both. BASE is a revision of the repository, or
a result file: then it is the commit of its part `bridge`, which measures the same.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import attrs
import trio

import fleetgate
from fleetgate.gateway.bench.figures import percentile
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.report import table
from fleetgate.gateway.bench.results import parts_of
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed, Task
from fleetgate.gateway.bench.trial import run_trial

GIT_WITHIN: Final = 60.0
"""Seconds that a command of git may take."""


@attrs.frozen(slots=True)
class ComparePlan:
    """A pair is the base and then this tree, at the same task. Each task has `pairs`. Before them
    comes one pair of `first`, which does not count: what is new is compiled there, and a base that
    cannot be measured is found out."""

    tasks: tuple[Task, ...] = (Task(256, 3.0), Task(4096, 3.0), Task(256, 5.0, 1000))
    pairs: int = 6
    first: Task = Task(256, 0.5)


PLAN: Final = ComparePlan()

QUICK: Final = ComparePlan(tasks=(Task(256, 1.0), Task(256, 2.0, 1000)), pairs=2)


@attrs.frozen(slots=True)
class Compared:
    """The base's sample and this tree's, taken one after the other."""

    task: Task
    base: Sample
    here: Sample


def measure(base: str, disk: Path, plan: ComparePlan, losses: Losses) -> list[Compared]:
    """Check out the base beside this tree, and run all pairs.

    Raises: `BenchFailed`: there is no such base, or it cannot be measured.
    """
    with checked_out(revision_of(base)) as source:
        return trio.run(_measure, source, disk, plan, losses)


async def _measure(source: Path, disk: Path, plan: ComparePlan, losses: Losses) -> list[Compared]:
    found: list[Compared] = []
    for which, of in (("the base", source), ("this tree", None)):
        try:
            await run_trial(Trial(1, Kind.BRIDGE, plan.first), disk, of)
        except BenchFailed as error:
            raise BenchFailed(f"{which} cannot be measured by this tree's bench: {error}") from None
    for _ in range(plan.pairs):
        for task in plan.tasks:
            trial, name = Trial(1, Kind.BRIDGE, task), name_of(task)
            base = await losses.attempt(f"base, {name}", partial(run_trial, trial, disk, source))
            here = await losses.attempt(f"here, {name}", partial(run_trial, trial, disk))
            if base is None or here is None:
                continue
            found.append(Compared(task, base, here))
            sys.stderr.write(f"{name}: {base.cpu_micros:.1f}, {here.cpu_micros:.1f} µs/event\n")
    return found


def name_of(task: Task) -> str:
    """What a task is called."""
    return f"{task.size} bytes" + (f", {task.rate}/s" if task.rate else "")


def revision_of(base: str) -> str:
    """The revision that `base` names: itself, or the commit that a result file's `bridge` is of.

    Raises: `BenchFailed`: the file has no such part, or of none that is as it was committed.
    """
    path = Path(base)
    if not path.is_file():
        return base
    part = parts_of(path).get("bridge")
    if part is None:
        raise BenchFailed(f"{base} has no part `bridge` to compare with; name a revision instead")
    commit: str | None = part["machine"]["commit"]
    if not commit or commit.endswith("+"):
        raise BenchFailed(f"{base} is of no commit that is as it was; name a revision instead")
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


HEAD: Final = ("task", "what", "pairs", "base", "here", "here over base", "least to most", "")

OPEN: Final = "open"
"""What is said of a figure of which the pairs show nothing."""

SIDE: Final = 6
"""Pairs that must all be on one side of 1.00: where nothing differs, that is one chance in 32. With
two it is one in two."""

BESIDES: Final = (
    "Compared is the bridge between rvbox and agency alone; other pairs, followers, memory, "
    "recovery and starts are not. Load and packages are this tree's for both."
)

FEW: Final = 10
"""Pairs below which the middle of their ratios says little."""


def to_text(found: Sequence[Compared], lost: Sequence[str]) -> str:
    """The comparison for people, with what it cannot say."""
    words = [table(HEAD, rows(found)), ""] if found else ["No pair has two results."]
    words += (f"No result, tried twice: {line}. Its pair is left out." for line in lost)
    words.append(BESIDES)
    fewest = min(Counter(each.task for each in found).values(), default=0)
    if found and fewest < FEW:
        words.append(
            f"Each line is the median of at least {fewest} pairs' ratios. That is few: a line says "
            f'"{OPEN}" unless {SIDE} and all are on one side of 1.00. `--compare` without '
            "`--quick` has "
            f"{PLAN.pairs}; processor time is less of a lottery than a rate."
        )
    return "\n".join(words) + "\n"


def rows(found: Iterable[Compared]) -> list[Sequence[str]]:
    """The lines of the table: medians, and the median of the ratios within the pairs."""
    groups: dict[Task, list[Compared]] = {}
    for each in found:
        groups.setdefault(each.task, []).append(each)
    lines: list[Sequence[str]] = []
    for task, pairs in groups.items():
        name = name_of(task)
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
        str(len(pairs)),
        f"{median(base):.1f}",
        f"{median(here):.1f}",
        f"{median(ratios):.2f}",
        spread,
        verdict(ratios),
    )


def verdict(ratios: Sequence[float]) -> str:
    """`OPEN`, unless there are enough of them and all on one side."""
    one_side = max(ratios) < 1 or min(ratios) > 1
    return "" if one_side and len(ratios) >= SIDE else OPEN


def _sides(pair: Compared) -> tuple[Sample, Sample]:
    return pair.base, pair.here
