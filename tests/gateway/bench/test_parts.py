"""A part's result as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.bench import appends, bridge, imports, parts, startup
from fleetgate.gateway.bench.appends import AppendPlan, AppendSample
from fleetgate.gateway.bench.imports import ImportFigure, ImportSample
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.machine import Machine
from fleetgate.gateway.bench.plan import Plan, Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.startup import StartupPlan, StartupSample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task

MACHINE = Machine(
    *("Linux", "a processor", 2, 8 << 30, (0.5, 0.25, 0.125), "ext4", 200.4, 900.6),
    *("CPython 3.11", "3.40", {"trio": "1.0"}, "0.1.0", None),
)


def result(part: str, quick: bool) -> parts.PartResult:
    measured = parts.PARTS[part](Path("disk"), quick)
    when, called = "2030-01-01T00:00:00Z", ("gateway", "bench", part)
    return parts.PartResult(part, when, called, MACHINE, measured, (3.0, 2.0, 1.0), 12.34)


def test_appends_are_said_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[AppendPlan] = []

    def measure(disk: Path, plan: AppendPlan, losses: Losses) -> list[AppendSample]:
        plans.append(plan)
        return [AppendSample(16, (1_000_000, 3_000_000))]

    monkeypatch.setattr(appends, "measure", measure)
    found = result("journal", quick=False)
    assert (
        "| 16 | 8000 | 8000 to 8000 | 500 | 1000 | 3000 | 0 |" in parts.to_text(found).splitlines()
    )
    assert "- started 2030-01-01T00:00:00Z, commit unknown" in parts.to_text(found)
    document = parts.to_document(found)
    assert (document["part"], document["plan"]["rounds"]) == ("journal", AppendPlan().rounds)
    assert document["samples"] == [{"batch": 16, "commits": [1_000_000, 3_000_000], "size": 0}]
    assert document["figures"][0]["rate"] == 8000
    assert document["load"] == [3.0, 2.0, 1.0]
    assert (document["seconds"], document["lost"]) == (12.3, [])
    assert json.loads(json.dumps(document)) == document
    result("journal", quick=True)
    assert plans[1].rounds < plans[0].rounds


def test_starts_are_said_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[StartupPlan] = []

    def measure(plan: StartupPlan) -> list[StartupSample]:
        plans.append(plan)
        return [StartupSample(name, 10_000_000) for name in startup.PROGRAMS]

    figure = ImportFigure("gateway version", 9, 20, [ImportSample("re", 4, 6)], [])
    rounds: list[int] = []
    monkeypatch.setattr(startup, "measure", measure)
    monkeypatch.setattr(imports, "measure", lambda each: rounds.append(each) or [figure])
    found = result("startup", quick=False)
    assert "| gateway version | 10 | 10 | 10 | 1.0 |" in parts.to_text(found).splitlines()
    assert "| gateway version | 9 | 20 | re 4 |  |" in parts.to_text(found).splitlines()
    document = parts.to_document(found)
    assert document["imports"][0]["by_own"] == [{"module": "re", "own": 4, "cumulated": 6}]
    assert document["samples"][1] == {"command": "gateway version", "taken": 10_000_000}
    result("startup", quick=True)
    assert plans[1].rounds < plans[0].rounds


def test_a_bridge_is_said_and_kept_with_what_it_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(disk: Path, plan: Plan, losses: Losses) -> list[tuple[Trial, Sample]]:
        losses.lines.append("relay, 64 bytes: too slow")
        task, paced = Task(256, 1.0), Task(256, 1.0, 1000)
        return [
            *((Trial(1, kind, task), Sample(1000, 1, 1.0, 0.1, 1 << 20)) for kind in Kind),
            (Trial(2, Kind.RELAY, paced), Sample(1, 1, 1.0, 0.1, 1 << 20, (1000,))),
            (Trial(2, Kind.BRIDGE, paced), Sample(1, 1, 1.0, 0.1, 1 << 20, (3000,))),
        ]

    monkeypatch.setattr(bridge, "measure", measure)
    found = result("bridge", quick=True)
    text = parts.to_text(found)
    assert "- it took 12 s\n- no result, tried twice: relay, 64 bytes: too slow\n" in text
    assert "| 256 | 1000 | 1000 | 1000 | 1.00 | 1.00 |" in text
    document = parts.to_document(found)
    assert document["lost"] == ["relay, 64 bytes: too slow"]
    assert document["throughput"][0]["plain_ratio"] == 1.0
    assert [each["added"] for each in document["latency"]] == [2.0] * 3
    assert document["samples"][0]["trial"]["kind"] == "plain relay"
    assert document["samples"][4]["sample"]["lateness"] == [3000]
