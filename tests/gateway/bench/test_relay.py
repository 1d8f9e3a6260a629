"""The relay: frames both ways, whole and in order, and nothing but frames."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio

from fleetgate.gateway.bench.links import CLIENT, HOST
from fleetgate.gateway.bench.pairs.dam import Dam
from fleetgate.gateway.bench.relay import (
    Copy,
    copy,
    copy_singly,
    join,
    relay,
    to_message,
    to_socket,
)
from fleetgate.transports.memory import memory_link_pair
from fleetgate.transports.open import open_dialer, open_listener


def test_a_message_is_the_same_behind_both_changes() -> None:
    assert to_socket(b"message") == b"\x00message"
    assert to_message(to_socket(b"message")) == b"message"


@pytest.mark.parametrize("copied", [copy, copy_singly])
async def test_it_carries_frames_both_ways_until_an_end_ends(copied: Copy) -> None:
    client, socket = memory_link_pair()
    host, message = memory_link_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(join, socket, message, copied)
        await client.send(b"\x00go")
        assert await host.receive() == b"go"
        await host.send_some([b"1", b"22"])
        assert [await client.receive(), await client.receive()] == [b"\x001", b"\x0022"]
        await host.aclose()


async def test_it_waits_for_one_link_at_each_end_and_loses_nothing_meanwhile() -> None:
    async with (
        open_listener("memory:socket", CLIENT) as socket,
        open_listener("memory:message", HOST) as message,
        open_dialer("memory:socket", CLIENT) as to_relay,
        open_dialer("memory:message", HOST) as from_host,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(relay, socket, message)
        client = await to_relay.dial()
        await client.send(b"\x00early")
        host = await from_host.dial()
        assert await host.receive() == b"early"
        await client.aclose()


class Counted(Dam):
    """Counts writes."""

    writes = 0

    async def send_some(self, frames: Sequence[bytes]) -> None:
        self.writes += 1
        await super().send_some(frames)


async def test_a_plain_relay_writes_a_frame_for_each_that_it_reads() -> None:
    for copied, writes in ((copy, 1), (copy_singly, 3)):
        source, feed = memory_link_pair()
        target, _ = memory_link_pair()
        await feed.send_some([b"1", b"2", b"3"])
        await feed.close(1000)
        counted = Counted(target)
        await copied(source, counted, bytes)
        assert counted.writes == writes
