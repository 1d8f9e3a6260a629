"""`gateway bench --only bridge`: rvbox to agency beside a relay, by size and by rate."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import trio

from fleetgate.gateway.bench.figures import pairs_of
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.plan import Plan, Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.trial import run_trial


def measure(disk: Path, plan: Plan, losses: Losses) -> list[tuple[Trial, Sample]]:
    """Run all trials, and say on stderr how each went."""
    return trio.run(_measure, disk, plan, losses)


async def _measure(disk: Path, plan: Plan, losses: Losses) -> list[tuple[Trial, Sample]]:
    trials = list(plan.trials())
    samples: list[tuple[Trial, Sample]] = []

    async def run_all(trials: Iterable[Trial]) -> None:
        for trial in trials:
            sample = await losses.attempt(name_of(trial), partial(run_trial, trial, disk))
            if sample is not None:
                samples.append((trial, sample))
                sys.stderr.write(f"pair {trial.pair}, {progress(samples)}\n")

    await run_all(trials)
    await run_all(plan.last(trials[-1].pair + 1, most_of(samples, plan.paced_size)))
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


def name_of(trial: Trial) -> str:
    """What a trial is called where it failed."""
    task = trial.task
    rate = f" at {task.rate} a second" if task.rate else ""
    return f"{trial.kind.value}, {task.size} bytes{rate}"


def progress(samples: Sequence[tuple[Trial, Sample]]) -> str:
    """One line about the last trial."""
    trial, sample = samples[-1]
    line = f"{trial.kind.value} {trial.task.size} bytes: {sample.rate:.0f} events/s"
    pairs = pairs_of(each for each in samples if each[0].pair == trial.pair)
    return f"{line}, ratio {pairs[0].ratio:.2f}" if pairs and not trial.task.rate else line
