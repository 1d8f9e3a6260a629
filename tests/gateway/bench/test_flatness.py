"""What an event costs beside much else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import flatness
from fleetgate.gateway.bench.flatness import FlatPlan, FlatSample, interval
from fleetgate.gateway.bench.losses import Losses


def test_every_amount_of_everything_is_measured(tmp_path: Path) -> None:
    losses = Losses()
    amounts = {"events in the journal": (64, 128), "open runs": (1,), "idle workers": (2,)}
    samples = flatness.measure(tmp_path, FlatPlan(amounts, 64, 2, rounds=2), losses)
    assert [(each.beside, each.amount) for each in samples] == [
        *[("events in the journal", 64), ("events in the journal", 128)] * 2,
        *[("open runs", 1)] * 2,
        *[("idle workers", 2)] * 2,
    ]
    assert all(each.cpu_micros > 0 for each in samples)
    assert list(tmp_path.iterdir()) == []
    assert losses.lines == []


def test_each_round_is_compared_with_that_of_the_fewest() -> None:
    spent = [(1, 1, 10.0), (9, 1, 11.0), (1, 2, 20.0), (9, 2, 30.0), (1, 3, 10.0), (9, 3, 10.0)]
    few, many = flatness.sum_up([FlatSample("open runs", *each) for each in spent])
    same, wide = "1.000 to 1.000", "1.000 to 1.500"
    assert flatness.row(few) == ("open runs", "1", "10.0", "1.000", same, "1.00 to 1.00")
    assert flatness.row(many) == ("open runs", "9", "11.0", "1.100", wide, "1.00 to 1.50")


@pytest.mark.parametrize(
    ("count", "low"), [(1, 0), (2, 0), (5, 0), (6, 0), (8, 0), (9, 1), (20, 5), (21, 5), (100, 39)]
)
def test_the_median_lies_between_what_tables_of_the_sign_test_say(count: int, low: int) -> None:
    assert interval(range(count)[::-1]) == (low, count - 1 - low)


def test_a_hub_that_cannot_be_is_said_and_costs_the_others_nothing(tmp_path: Path) -> None:
    losses = Losses()
    plan = FlatPlan({"moons": (1,), "open runs": (1,)}, events=64, slices=1, rounds=1)
    samples = flatness.measure(tmp_path, plan, losses)
    assert [each.beside for each in samples] == ["open runs"]
    assert losses.lines == ["moons: the hub ended too early"]
