"""Processes of the bench: their lines are read, and they end when their block does."""

from __future__ import annotations

import os

import pytest

from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.task import BenchFailed


async def test_a_process_ends_with_its_block() -> None:
    family: list[Child] = []
    server = ("http.server", "0", "--bind", "127.0.0.1")
    async with open_child("server", *server, family=family) as child:
        os.kill(child.pid, 0)
    assert family == [child]
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


async def test_a_process_that_ends_too_early_is_a_failure_and_its_last_words_are_kept() -> None:
    family: list[Child] = []
    with pytest.raises(ExceptionGroup) as raised:
        async with open_child("odd one", "no_such_module", family=family) as child:
            await child.line(lambda line: True if line == "ready" else None)
    assert raised.value.split(BenchFailed)[1] is None
    account = family[0].account()
    assert account.startswith("the odd one last wrote:\n  ")
    assert "no_such_module" in account


async def test_watching_a_process_ends_with_it() -> None:
    async with open_child("this", "this", family=[]) as child:
        with pytest.raises(BenchFailed, match="the this ended too early"):
            await child.watch()


async def test_lines_come_in_order_and_those_before_the_one_wanted_are_dropped() -> None:
    async with open_child("this", "this", family=[]) as child:
        found = await child.line(lambda line: line if line.startswith("Simple") else None)
        later = await child.line(lambda line: line if "better" in line else None)
    assert found == "Simple is better than complex."
    assert later == "Complex is better than complicated."
