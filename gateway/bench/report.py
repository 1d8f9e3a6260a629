"""A bench's result as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from fleetgate.gateway.bench.figures import (
    Latency,
    Pair,
    Throughput,
    latencies,
    throughputs,
)
from fleetgate.gateway.bench.machine import Machine

FORMAT: Final = 2
"""The form of the JSON; a change of it that older readers would not bear counts up."""

Load: TypeAlias = tuple[float, float, float]
"""A machine's load averages, over 1, 5 and 15 minutes."""


def bridge_tables(pairs: Sequence[Pair]) -> str:
    """What the pairs of the part `bridge` come to: throughput by size, latency by rate."""
    return "\n\n".join(
        (
            table(_THROUGHPUT, map(_throughput_row, throughputs(pairs))),
            table(_LATENCY, map(_latency_row, latencies(pairs))),
        )
    )


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
    "plain relay, events/s",
    "relay, events/s",
    "bridge, events/s",
    "ratio to the plain relay",
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
        maybe(t.plain, ".0f"),
        f"{t.relay:.0f}",
        f"{t.bridge:.0f}",
        maybe(t.plain_ratio, ".2f"),
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


def maybe(figure: float | None, form: str) -> str:
    """A figure in that form; nothing where there is none."""
    return "" if figure is None else format(figure, form)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as a table of Markdown."""
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
