"""Processes of ours: started, told, read, ended by pid."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.gateway.demo.children import Cradle


async def test_a_child_prints_lines_and_is_ended_behind_the_block(tmp_path: Path) -> None:
    async with Cradle(tmp_path, keep=False) as home:
        child = await home.start("version", "version", "--json")
        (line,) = [line async for line in child.lines()]
        assert "fleetgate" in line
    assert child.process.returncode == 0
    assert (tmp_path / "version.log").exists()


async def test_a_killed_child_is_gone(tmp_path: Path) -> None:
    async with Cradle(tmp_path, keep=False) as home:
        child = await home.start("version", "version")
        await child.kill()
        assert child.process.returncode is not None


async def test_children_are_kept_only_if_the_block_went_well(tmp_path: Path) -> None:
    failed = Cradle(tmp_path, keep=True)

    async def fail() -> None:
        async with failed:
            await failed.start("version", "version")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await fail()
    assert failed.children[0].process.returncode is not None
    async with Cradle(tmp_path, keep=True) as home:
        kept = await home.start("version", "version")
    assert kept.process.returncode is None or kept.process.returncode == 0
    await kept.process.wait()
    assert "version.in" in os.listdir(tmp_path)
    await kept.end()
