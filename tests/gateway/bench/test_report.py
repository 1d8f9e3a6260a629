"""A result as tables."""

from __future__ import annotations

from fleetgate.gateway.bench.figures import pairs_of
from fleetgate.gateway.bench.machine import Machine
from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.report import bridge_tables, machine_lines, maybe
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task

MACHINE = Machine(
    system="Linux",
    processor="a processor",
    processors=2,
    memory=8 << 30,
    load=(0.5, 0.25, 0.125),
    file_system="ext4",
    sync_p50=200.4,
    sync_p99=900.6,
    python="CPython 3.11",
    sqlite="3.40",
    packages={"trio": "1.0"},
    fleetgate="0.1.0",
    commit=None,
)
FREE, PACED = Task(256, 3.0), Task(256, 5.0, 1000)
SAMPLES = [
    (Trial(1, Kind.PLAIN, FREE), Sample(15_000, 1, 3.0, 2.1, 40 << 20)),
    (Trial(1, Kind.RELAY, FREE), Sample(60_000, 1, 3.0, 2.1, 40 << 20)),
    (Trial(1, Kind.BRIDGE, FREE), Sample(30_000, 1, 3.0, 2.1, 50 << 20)),
    (Trial(2, Kind.RELAY, PACED), Sample(5, 1, 5.0, 1.0, 1, (1000, 2000, 3000, 4000, 5000))),
    (Trial(2, Kind.BRIDGE, PACED), Sample(5, 1, 5.0, 1.0, 1, (5000, 6000, 7000, 8000, 9000))),
]


def test_the_facts_of_the_machine_stand_above_a_table() -> None:
    lines = list(machine_lines("2030-01-01T00:00:00Z", MACHINE, (3.0, 2.0, 1.0)))
    assert lines[0] == "- started 2030-01-01T00:00:00Z, commit unknown"
    loads = "before the first trial 0.50 0.25 0.12, behind the last one 3.00 2.00 1.00"
    assert f"- load {loads}" in lines


def test_the_table_has_a_row_for_each_size_and_each_percentile() -> None:
    lines = bridge_tables(pairs_of(SAMPLES)).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in rows[:3]}) == 1
    assert rows[2] == (
        "| 256 | 5000 | 20000 | 10000 | 2.00 | 0.50 | 0.50 to 0.50 | 0.50 | 35.0 | 70.0 | 0.70 "
        "| 0.70 | 40 | 50 |"
    )
    assert rows[-3:] == [
        "| 1000 | 256 | p50 | 3 | 7 | 4 |",
        "| 1000 | 256 | p99 | 5 | 9 | 4 |",
        "| 1000 | 256 | p99.9 | 5 | 9 | 4 |",
    ]


def test_what_was_not_measured_is_no_figure() -> None:
    lines = bridge_tables(pairs_of(SAMPLES[1:3])).splitlines()
    assert lines[2].startswith("| 256 |  | 20000 | 10000 |  | 0.50 |")
    assert maybe(None, ".1f") == ""
