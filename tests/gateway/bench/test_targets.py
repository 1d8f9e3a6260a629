"""What is aimed at, and whether a result reaches it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from fleetgate.gateway.bench import targets
from fleetgate.gateway.bench.targets import TARGETS

NAMES = [target.name for target in TARGETS]


def pair(runs: int, plain: float | None, ratio: float, south: str = "rvbox") -> dict[str, Any]:
    return {
        "north": "agency",
        "south": south,
        "runs": runs,
        "plain_ratio": plain,
        "ratio": ratio,
    }


def started(command: str, p50: float) -> dict[str, Any]:
    return {"command": f"gateway {command}", "p50": p50}


def result(**changes: Any) -> dict[str, Any]:
    """One that reaches every target, just so."""
    latency = [{"rate": 1000, "percent": p, "added": a, "size": 256} for p, a in LATENCY]
    flat = [{"beside": beside, "amount": amount, "ratio": 1.05} for beside, amount in FLAT]
    parts = {
        "pairs": {"figures": [pair(64, 0.8, 0.8), pair(1, 0.6, 0.6)]},
        "bridge": {"latency": latency},
        "flatness": {"figures": flat},
        "memory": {
            "figures": [
                {"thing": "follower", "each": 4096.0, "over": None},
                {"thing": "idle worker, iop", "each": 99999.0, "over": 16384.0},
            ]
        },
        "recovery": {
            "plan": {"events": 1_000_000, "open_runs": 10_000},
            "figures": [{"what": "first event, full journal", "p50": 3000.0}],
        },
        "startup": {
            "figures": [started("version", 150.0), started("fake iop-edge … ready", 400.0)]
        },
    }
    return {**parts, **changes}


LATENCY = ((50, 1000.0), (99, 4000.0), (99.9, 10**6))
FLAT = (("events in the journal", 1_000_000), ("idle workers", 10_000), ("open runs", 10_000))


def verdicts(parts: dict[str, Any]) -> dict[str, str]:
    return {target.name: target.row(parts)[3] for target in TARGETS}


def test_each_target_is_met_at_its_bound() -> None:
    assert set(verdicts(result()).values()) == {"met"}
    assert targets.missed(result()) == []


MISSES = {
    "throughput-64": {"pairs": {"figures": [pair(64, 0.79, 0.8)]}},
    "throughput-64-batched": {"pairs": {"figures": [pair(64, 0.8, 0.79)]}},
    "throughput-1": {"pairs": {"figures": [pair(1, 0.59, 0.6)]}},
    "throughput-1-batched": {"pairs": {"figures": [pair(1, 0.6, 0.59)]}},
    "latency-p50": {
        "bridge": {"latency": [{"rate": 1000, "percent": 50, "added": 1001.0, "size": 256}]}
    },
    "latency-p99": {
        "bridge": {"latency": [{"rate": 1000, "percent": 99, "added": 4001.0, "size": 256}]}
    },
    "flat-journal": {
        "flatness": {
            "figures": [{"beside": "events in the journal", "amount": 1_000_000, "ratio": 1.06}]
        }
    },
    "flat-workers": {
        "flatness": {"figures": [{"beside": "idle workers", "amount": 10_000, "ratio": 1.06}]}
    },
    "idle-worker": {
        "memory": {"figures": [{"thing": "idle worker, iop", "each": 1.0, "over": 16385.0}]}
    },
    "follower": {"memory": {"figures": [{"thing": "follower", "each": 4097.0, "over": None}]}},
    "recovery": {
        "recovery": {
            "plan": {"events": 1_000_000, "open_runs": 10_000},
            "figures": [{"what": "first event, full journal", "p50": 3001.0}],
        }
    },
    "version": {"startup": {"figures": [started("version", 151.0)]}},
    "fakes": {"startup": {"figures": [started("fake iop-edge … ready", 401.0)]}},
}


@pytest.mark.parametrize("name", NAMES)
def test_each_target_is_missed_beyond_its_bound(name: str) -> None:
    assert targets.missed(result(**MISSES[name])) == [name]
    assert verdicts(result(**MISSES[name]))[name] == "**not met**"


def test_of_what_was_not_measured_nothing_is_said() -> None:
    assert set(verdicts({}).values()) == {"not measured"}
    assert targets.missed({}) == []
    few = result()
    few["flatness"] = {"figures": [{"beside": "idle workers", "amount": 9, "ratio": 9.0}]}
    few["recovery"]["plan"]["events"] = 20_000
    assert verdicts(few)["flat-workers"] == verdicts(few)["recovery"] == "not measured"


def test_the_worst_is_named_and_those_that_miss_are_counted() -> None:
    rows = (("rvbox", 0.9), ("iop", 0.4), ("kodelet", 0.7), ("agency", None))
    figures = [pair(64, plain, 1.0, south) for south, plain in rows]
    line = next(iter(TARGETS)).row({"pairs": {"figures": figures}})
    assert line[2:] == ["0.40", "**not met** by 2 of 3", "iop to agency"]


def test_the_table_has_a_line_for_each() -> None:
    lines = targets.to_text(result()).splitlines()
    assert len(lines) == 2 + len(TARGETS)
    assert len({line.count("|") for line in lines}) == 1
    assert len(set(NAMES)) == len(NAMES)
    assert all(a != b for a, b in itertools.pairwise(lines))
