"""What an event costs beside much else."""

from __future__ import annotations

from pathlib import Path

from fleetgate.gateway.bench import flatness
from fleetgate.gateway.bench.flatness import FlatPlan, FlatSample


def test_every_amount_of_everything_is_measured(tmp_path: Path) -> None:
    amounts = {"events in the journal": (64, 128), "open runs": (1,), "idle workers": (2,)}
    samples = flatness.measure(tmp_path, FlatPlan(amounts=amounts, events=128, rounds=2))
    assert [(each.beside, each.amount) for each in samples] == [
        *[("events in the journal", 64), ("events in the journal", 128)] * 2,
        *[("open runs", 1)] * 2,
        *[("idle workers", 2)] * 2,
    ]
    assert all(each.cpu_micros > 0 for each in samples)
    assert list(tmp_path.iterdir()) == []


def test_the_least_is_compared_with_that_of_the_fewest() -> None:
    spent = [(1, 10.0), (1, 12.0), (1, 30.0), (9, 15.0), (9, 11.0)]
    few, many = flatness.sum_up([FlatSample("open runs", *each) for each in spent])
    assert flatness.row(few) == ("open runs", "1", "12.0", "10.0", "1.00")
    assert flatness.row(many) == ("open runs", "9", "13.0", "11.0", "1.10")
