"""What one more of something takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import memory
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.memory import BESIDE, MemoryPlan, MemorySample, count_bytes
from fleetgate.gateway.bench.pairs.places import PROTOCOLS
from fleetgate.gateway.bench.task import BenchFailed


@pytest.mark.parametrize("what", BESIDE)
async def test_everything_that_a_hub_has_in_memory_is_made(what: str, tmp_path: Path) -> None:
    assert await count_bytes(what, 20, tmp_path / "journal.db") >= 0


async def test_what_nobody_knows_how_to_make_is_said(tmp_path: Path) -> None:
    wanted = pytest.RaisesExc(BenchFailed, match="how to make a moon")
    with pytest.RaisesGroup(wanted, flatten_subgroups=True):
        await count_bytes("moon", 1, tmp_path / "journal.db")


def test_a_link_is_compared_with_its_bare_transport() -> None:
    figures = memory.sum_up(
        [
            MemorySample("open run", "hub", 10, 10240),
            MemorySample("idle worker, x", "relay", 10, 20480),
            MemorySample("idle worker, x", "bridge", 10, 51200),
            MemorySample("idle worker, y", "bridge", 10, 51200),
        ]
    )
    assert [memory.row(figure) for figure in figures] == [
        ("open run", "hub", "10", "1.0", ""),
        ("idle worker, x", "relay", "10", "2.0", ""),
        ("idle worker, x", "bridge", "10", "5.0", "3.0"),
        ("idle worker, y", "bridge", "10", "5.0", ""),
    ]


@pytest.mark.slow
def test_everything_is_measured(tmp_path: Path) -> None:
    losses = Losses()
    samples = memory.measure(tmp_path, MemoryPlan(things=20, links=12), losses)
    assert losses.lines == []
    assert [(each.thing, each.where) for each in samples] == [
        *((what, "hub") for what in BESIDE),
        *(
            (f"idle worker, {protocol}", where)
            for protocol in PROTOCOLS
            for where in ("relay", "bridge")
        ),
    ]
    assert list(tmp_path.iterdir()) == []
