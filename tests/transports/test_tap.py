"""What a tap tells, and that it changes nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from fleetgate.transports.api import Link, LinkBroken, Options
from fleetgate.transports.grpc_testing import ASK, TALK, talking
from fleetgate.transports.memory import memory_link_pair
from fleetgate.transports.tap import Crossed, Crossing, Frames, Over, TappedLink
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair

CARRIAGES = {
    "memory": ("memory:tap", Options()),
    "unix": ("unix:{folder}/s", Options()),
    "tcp": ("tcp://127.0.0.1:0", Options()),
    "websocket": ("ws://127.0.0.1:0/x", Options()),
    "grpc stream": ("grpc://127.0.0.1:0", talking(TALK)),
    "grpc call": ("grpc://127.0.0.1:0", talking(ASK)),
}


@asynccontextmanager
async def tapped_pair() -> AsyncGenerator[tuple[Link, Link], None]:
    near, far = memory_link_pair(buffer=3)
    yield TappedLink(near, Frames()), TappedLink(far, Frames())


async def test_a_tapped_link_is_a_link(autojump_clock: MockClock) -> None:
    await check_link(tapped_pair, LinkTraits(codes=True, cut_spoils=False))


def crossed(told: list[Crossing]) -> list[tuple[str, bytes]]:
    return [(each.way, each.frame) for each in told if isinstance(each, Crossed)]


@pytest.mark.parametrize("name", CARRIAGES)
async def test_frames_are_told_on_every_carriage(name: str, folder: Path) -> None:
    address, options = CARRIAGES[name]
    near_told: list[Crossing] = []
    far_told: list[Crossing] = []
    async with open_link_pair(address.format(folder=folder), options) as (dialled, served):
        near, far = TappedLink(dialled, near_told.append), TappedLink(served, far_told.append)
        assert near.opening == dialled.opening
        assert near.speaks_status == dialled.speaks_status
        await near.send(b"question")
        assert await far.receive() == b"question"
        await far.send(b"answer")
        assert list(await near.receive_some()) == [b"answer"]
        assert crossed(near_told) == [("out", b"question"), ("in", b"answer")]
        assert crossed(far_told) == [("in", b"question"), ("out", b"answer")]
        assert near.statistics() == dialled.statistics()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(far.close, 1000)
            with pytest.raises((trio.EndOfChannel, LinkBroken)):
                await near.receive()
            await near.close(None)
        ends = [each for each in near_told if isinstance(each, Over)]
        assert [each.way for each in ends] == ["in", "out"]


async def test_both_ends_are_told_once_with_code_and_time(autojump_clock: MockClock) -> None:
    near, far = memory_link_pair()
    told: list[Crossing] = []
    link = TappedLink(near, told.append)
    await trio.sleep(3)
    began = trio.current_time()
    await far.close(4001, "no more")
    for _ in range(2):
        with pytest.raises(LinkBroken):
            await link.receive_some()
    await link.close(1000, "bye")
    await link.close(None)
    came, went = told
    assert isinstance(came, Over)
    assert (came.way, came.code, came.broken, came.time) == ("in", 4001, True, began)
    assert "no more" in came.reason
    assert went == Over("out", began, 1000, "bye")


async def test_a_peer_that_leaves_in_order_is_told_as_that() -> None:
    near, far = memory_link_pair()
    told: list[Crossing] = []
    link = TappedLink(near, told.append)
    await far.close(1000)
    with pytest.raises(trio.EndOfChannel):
        await link.receive()
    assert next(each for each in told if isinstance(each, Over)).broken is False


async def test_a_receive_that_is_cancelled_tells_and_loses_nothing() -> None:
    near, far = memory_link_pair()
    told: list[Crossing] = []
    link = TappedLink(near, told.append)
    with trio.CancelScope() as scope:
        scope.cancel()
        await link.receive_some()
    assert told == []
    await far.send(b"x")
    assert await link.receive() == b"x"
    assert crossed(told) == [("in", b"x")]


def test_what_is_kept_is_bounded_in_frames_and_in_bytes() -> None:
    kept = Frames(frames=3, size=10)
    for number in range(5):
        kept(Crossed("in", number, b"%d" % number))
    assert [each.time for each in kept] == [2, 3, 4]
    assert kept.left_out == 2
    kept(Crossed("in", 5, b"12345678"))
    kept(Over("in", 6))
    assert [each.time for each in kept] == [4, 5, 6]
    kept(Crossed("in", 7, bytes(11)))
    assert len(kept) == 0
    assert kept.left_out == 8


class Slow(TappedLink):
    def __init__(self, link: Link) -> None:
        super().__init__(link, Frames())
        self.pieces: list[int | None] = []

    def trickle(self, piece: int | None) -> None:
        self.pieces.append(piece)


def test_a_tap_trickles_where_its_link_does() -> None:
    near, _ = memory_link_pair()
    TappedLink(near, Frames()).trickle(1)  # there are no bytes here, and nothing happens
    slow = Slow(near)
    TappedLink(slow, Frames()).trickle(1)
    assert slow.pieces == [1]
