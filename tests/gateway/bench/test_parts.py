"""A part's result as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.bench import appends, parts, startup
from fleetgate.gateway.bench.appends import AppendPlan, AppendSample
from fleetgate.gateway.bench.machine import Machine
from fleetgate.gateway.bench.startup import StartupPlan, StartupSample

MACHINE = Machine(
    *("Linux", "a processor", 2, 8 << 30, (0.5, 0.25, 0.125), "ext4", 200.4, 900.6),
    *("CPython 3.11", "3.40", {"trio": "1.0"}, "0.1.0", None),
)


def result(part: str, quick: bool) -> parts.PartResult:
    measured = parts.PARTS[part](Path("disk"), quick)
    when, called = "2030-01-01T00:00:00Z", ("gateway", "bench", part)
    return parts.PartResult(part, when, called, MACHINE, measured, (3.0, 2.0, 1.0))


def test_appends_are_said_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[AppendPlan] = []

    def measure(disk: Path, plan: AppendPlan) -> list[AppendSample]:
        plans.append(plan)
        return [AppendSample(16, (1_000_000, 3_000_000))]

    monkeypatch.setattr(appends, "measure", measure)
    found = result("journal", quick=False)
    assert (
        "| 16 | 8000 | 8000 to 8000 | 500 | 1000 | 3000 | 0 |" in parts.to_text(found).splitlines()
    )
    assert "- started 2030-01-01T00:00:00Z, commit unknown" in parts.to_text(found)
    document = json.loads(parts.to_json(found))
    assert (document["part"], document["plan"]["rounds"]) == ("journal", AppendPlan().rounds)
    assert document["samples"] == [{"batch": 16, "commits": [1_000_000, 3_000_000], "size": 0}]
    assert document["figures"][0]["rate"] == 8000
    assert document["load"] == [3.0, 2.0, 1.0]
    result("journal", quick=True)
    assert plans[1].rounds < plans[0].rounds


def test_starts_are_said_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[StartupPlan] = []

    def measure(plan: StartupPlan) -> list[StartupSample]:
        plans.append(plan)
        return [StartupSample(name, 10_000_000) for name in startup.COMMANDS]

    monkeypatch.setattr(startup, "measure", measure)
    found = result("startup", quick=False)
    assert "| gateway version | 10 | 10 | 10 | 1.0 |" in parts.to_text(found).splitlines()
    document = json.loads(parts.to_json(found))
    assert document["samples"][1] == {"command": "gateway version", "taken": 10_000_000}
    result("startup", quick=True)
    assert plans[1].rounds < plans[0].rounds
