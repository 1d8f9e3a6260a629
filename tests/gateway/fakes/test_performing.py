"""Operations on a fake at work, whoever asks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.errors import InvalidArgument, RunNotFound, Unavailable, UnsupportedInput
from fleetgate.core.hub_testing import HandWorker, TrioClock, hub_on, worker_info
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.fakes import operations as ops
from fleetgate.gateway.fakes.lines import LineWriter
from fleetgate.gateway.fakes.performing import (
    Performer,
    emit_nothing,
    play_nothing,
    suffer_nothing,
)
from fleetgate.gateway.fakes.small import Small
from fleetgate.gateway.house import House
from fleetgate.gateway.local.script import ECHO
from fleetgate.gateway.testing import SeenHouse
from fleetgate.transports.faults import Faults

START = ops.Start("r", RunSpec(Prompt("hello")))


@pytest.fixture
async def small(autojump_clock: MockClock) -> AsyncIterator[Small]:
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        house = House(hub, journal, TrioClock(), {}, SeenHouse(), nursery)
        await HandWorker(hub, worker_info()).join()
        yield Small(hub, house, TrioClock(), nursery)
        nursery.cancel_scope.cancel()


async def test_what_waits_is_begun_and_all_else_is_performed(
    small: Small, autojump_clock: MockClock
) -> None:
    performer = Performer(small, LineWriter())
    assert await performer.perform(small.nursery, START) == {"run": "r"}
    assert not performer.waits(ops.Status("r"))
    assert performer.waits(ops.Wait("r"))
    with pytest.raises(Unavailable, match="did not end within 60000 ms"):
        await performer.begin("1", ops.Wait("r"))()


async def test_refusals_are_raised(small: Small) -> None:
    performer = Performer(small, LineWriter(), beyond=frozenset({ops.CloseInput}))
    with pytest.raises(RunNotFound):
        await performer.perform(small.nursery, ops.Status("none"))
    with pytest.raises(InvalidArgument, match="exactly one of text and data_base64"):
        await performer.perform(small.nursery, ops.Send("r"))
    with pytest.raises(RunNotFound):
        await performer.perform(small.nursery, ops.Unfollow("none"))
    with pytest.raises(UnsupportedInput, match="the protocol carries no such thing"):
        await performer.perform(small.nursery, ops.CloseInput("r"))


@pytest.mark.parametrize("id", ["", "a" * 257, "☃" * 86, "a\0b"])
async def test_an_id_that_no_protocol_carries_starts_nothing(small: Small, id: str) -> None:
    performer = Performer(small, LineWriter())
    with pytest.raises(InvalidArgument, match="expected an id of 1 to 256 bytes without NUL"):
        await performer.perform(small.nursery, ops.Start(id, START.spec))
    assert await performer.perform(small.nursery, ops.Runs()) == {"runs": []}


async def test_what_a_fake_cannot_do_is_refused(small: Small) -> None:
    with pytest.raises(UnsupportedInput):
        suffer_nothing(Faults())
    with pytest.raises(UnsupportedInput):
        emit_nothing("r", ())
    with pytest.raises(UnsupportedInput):
        play_nothing(ECHO)
