"""A bench's result: as a table for people, and as JSON with every sample."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.gateway.bench.figures import (
    Latency,
    Pair,
    Throughput,
    latencies,
    pairs_of,
    throughputs,
)
from fleetgate.gateway.bench.machine import Machine
from fleetgate.gateway.bench.plan import Plan, Trial
from fleetgate.gateway.bench.sample import Sample

FORMAT: Final = 1
"""The form of the JSON; a change of it that older readers would not bear counts up."""

Load: TypeAlias = tuple[float, float, float]
"""A machine's load averages, over 1, 5 and 15 minutes."""


@attrs.frozen(slots=True)
class Result:
    """Everything of one bench. `started` is an ISO 8601 time in UTC. `load` is the machine's load
    averages behind the last trial: the bench's own processes, and whatever else ran meanwhile."""

    started: str
    arguments: Sequence[str]
    machine: Machine
    plan: Plan
    samples: Sequence[tuple[Trial, Sample]]
    load: Load

    @property
    def pairs(self) -> list[Pair]:
        """The samples side by side."""
        return pairs_of(self.samples)


def to_json(result: Result) -> str:
    """The result with the raw data behind it."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "started": result.started,
        "arguments": list(result.arguments),
        "machine": attrs.asdict(result.machine),
        "load": result.load,
        "plan": attrs.asdict(result.plan),
        "throughput": [attrs.asdict(each) for each in throughputs(result.pairs)],
        "latency": [attrs.asdict(each) for each in latencies(result.pairs)],
        "text": to_text(result),
        "samples": [
            {
                "pair": trial.pair,
                "subject": trial.kind.value,
                "task": attrs.asdict(trial.task),
                **attrs.asdict(sample),
            }
            for trial, sample in result.samples
        ],
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def to_text(result: Result) -> str:
    """The result as Markdown."""
    parts = [
        "\n".join(machine_lines(result.started, result.machine, result.load)),
        table(_THROUGHPUT, map(_throughput_row, throughputs(result.pairs))),
        table(_LATENCY, map(_latency_row, latencies(result.pairs))),
    ]
    return "\n\n".join(parts) + "\n"


def machine_lines(started: str, m: Machine, load: Load) -> Iterator[str]:
    """Facts that stand above a table, a line each."""
    packages = ", ".join(f"{name} {number}" for name, number in m.packages.items())
    yield f"- started {started}, commit {m.commit or 'unknown'}"
    yield f"- {m.processors} x {m.processor}, {m.memory / (1 << 30):.1f} GiB, {m.system}"
    yield f"- load before the first trial {_load(m.load)}, behind the last one {_load(load)}"
    yield (
        f"- journals on {m.file_system}: a durable write of 4 KiB takes {m.sync_p50:.0f} µs "
        f"(p50), {m.sync_p99:.0f} µs (p99)"
    )
    yield f"- {m.python}, SQLite {m.sqlite}, {packages}"


def _load(load: Iterable[float]) -> str:
    return " ".join(f"{each:.2f}" for each in load)


_THROUGHPUT: Final = (
    "bytes",
    "relay, events/s",
    "bridge, events/s",
    "ratio",
    "least to most",
    "by CPU time",
    "relay, CPU µs/event",
    "bridge, CPU µs/event",
    "relay, cores",
    "bridge, cores",
    "relay, peak MiB",
    "bridge, peak MiB",
)


def _throughput_row(t: Throughput) -> Sequence[str]:
    return (
        str(t.size),
        f"{t.relay:.0f}",
        f"{t.bridge:.0f}",
        f"{t.ratio:.2f}",
        f"{t.least:.2f} to {t.most:.2f}",
        f"{t.cpu_ratio:.2f}",
        f"{t.relay_cpu_micros:.1f}",
        f"{t.bridge_cpu_micros:.1f}",
        f"{t.relay_busy:.2f}",
        f"{t.bridge_busy:.2f}",
        f"{t.relay_peak_rss / (1 << 20):.0f}",
        f"{t.bridge_peak_rss / (1 << 20):.0f}",
    )


_LATENCY: Final = ("events/s", "bytes", "percentile", "relay, µs", "bridge, µs", "added, µs")


def _latency_row(each: Latency) -> Sequence[str]:
    return (
        str(each.rate),
        str(each.size),
        f"p{each.percent:g}",
        f"{each.relay:.0f}",
        f"{each.bridge:.0f}",
        f"{each.added:.0f}",
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as a table of Markdown."""
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
