"""A result as a table and as JSON."""

from __future__ import annotations

import json

from fleetgate.gateway.bench.machine import Machine
from fleetgate.gateway.bench.plan import Plan, Trial
from fleetgate.gateway.bench.report import FORMAT, Result, to_json, to_text
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
RESULT = Result(
    started="2030-01-01T00:00:00Z",
    arguments=("gateway", "bench"),
    machine=MACHINE,
    plan=Plan(),
    samples=[
        (Trial(1, Kind.RELAY, FREE), Sample(60_000, 1, 3.0, 2.1, 40 << 20)),
        (Trial(1, Kind.BRIDGE, FREE), Sample(30_000, 1, 3.0, 2.1, 50 << 20)),
        (Trial(2, Kind.RELAY, PACED), Sample(5, 1, 5.0, 1.0, 1, (1000, 2000, 3000, 4000, 5000))),
        (Trial(2, Kind.BRIDGE, PACED), Sample(5, 1, 5.0, 1.0, 1, (5000, 6000, 7000, 8000, 9000))),
    ],
    load=(3.0, 2.0, 1.0),
)


def test_the_table_has_a_row_for_each_size_and_each_percentile() -> None:
    lines = to_text(RESULT).splitlines()
    assert "- started 2030-01-01T00:00:00Z, commit unknown" in lines
    loads = "before the first trial 0.50 0.25 0.12, behind the last one 3.00 2.00 1.00"
    assert f"- load {loads}" in lines
    rows = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in rows[:3]}) == 1
    assert rows[2] == (
        "| 256 | 20000 | 10000 | 0.50 | 0.50 to 0.50 | 0.50 | 35.0 | 70.0 | 0.70 | 0.70 | 40 | 50 |"
    )
    assert rows[-3:] == [
        "| 1000 | 256 | p50 | 3 | 7 | 4 |",
        "| 1000 | 256 | p99 | 5 | 9 | 4 |",
        "| 1000 | 256 | p99.9 | 5 | 9 | 4 |",
    ]


def test_the_raw_data_holds_every_sample_and_how_it_was_taken() -> None:
    document = json.loads(to_json(RESULT))
    assert document["format"] == FORMAT
    assert document["machine"]["commit"] is None
    assert document["load"] == [3.0, 2.0, 1.0]
    assert document["plan"]["sizes"] == list(Plan().sizes)
    assert document["throughput"][0]["ratio"] == 0.5
    assert [each["added"] for each in document["latency"]] == [4, 4, 4]
    assert len(document["samples"]) == 4
    last = document["samples"][-1]
    assert (last["pair"], last["subject"], last["task"]["rate"]) == (2, "bridge", 1000)
    assert last["lateness"] == [5000, 6000, 7000, 8000, 9000]
