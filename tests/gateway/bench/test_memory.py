"""What one more of something takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import memory
from fleetgate.gateway.bench.memory import BESIDE, MemorySample, count_bytes
from fleetgate.gateway.bench.task import BenchFailed


@pytest.mark.parametrize("what", BESIDE)
async def test_everything_that_a_hub_has_in_memory_is_made(what: str, tmp_path: Path) -> None:
    assert await count_bytes(what, 20, tmp_path / "journal.db") >= 0


async def test_what_nobody_knows_how_to_make_is_said(tmp_path: Path) -> None:
    wanted = pytest.RaisesExc(BenchFailed, match="how to make a moon")
    with pytest.RaisesGroup(wanted, flatten_subgroups=True):
        await count_bytes("moon", 1, tmp_path / "journal.db")


def test_a_link_is_compared_with_its_bare_transport() -> None:
    lines = memory.rows(
        [
            MemorySample("open run", "hub", 10, 10240),
            MemorySample("link, x", "relay", 10, 20480),
            MemorySample("link, x", "bridge", 10, 51200),
        ]
    )
    assert lines == [
        ("open run", "hub", "10", "1.0", ""),
        ("link, x", "relay", "10", "2.0", ""),
        ("link, x", "bridge", "10", "5.0", "3.0"),
    ]
