"""What both ends of a call do, over loopback sockets."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.transports.api import FrameRefused, FrameTooLong, Link, LinkBroken, LinkClosed
from fleetgate.transports.grpc_ends import ServedLink
from fleetgate.transports.grpc_http2 import STREAM_WINDOW
from fleetgate.transports.grpc_link import UNREAD, End
from fleetgate.transports.grpc_testing import (
    ASK,
    TALK,
    TELL,
    prefixed,
    raw_client,
    serving,
    talking,
)
from fleetgate.transports.testing import SETTLED, open_link_pair

HERE = "grpc://127.0.0.1:0"


def test_an_end_is_a_fresh_error_each_time() -> None:
    end = End("it broke", 14, True)
    first, second = end.error(), end.broken()
    assert isinstance(first, LinkBroken)
    assert first is not second
    assert (first.code, first.final, str(first)) == (14, True, "it broke")
    assert isinstance(End(None).error(), trio.EndOfChannel)
    assert End(None).broken().code == 0


async def test_all_that_is_there_comes_together() -> None:
    async with open_link_pair(HERE, talking()) as (near, far):
        await near.send_some([b"%d" % number for number in range(1000)])
        got: list[bytes] = []
        batches = 0
        while len(got) < 1000:
            got += await far.receive_some()
            batches += 1
        assert got == [b"%d" % number for number in range(1000)]
        assert batches < 20


async def test_one_task_receives_and_one_sends() -> None:
    async with open_link_pair(HERE, talking()) as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(near.receive)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await near.receive()
        await far.send(b"done")

        async def clog() -> None:
            with pytest.raises(LinkClosed):
                await near.send_some([bytes(100_000)] * 1000)

        nursery.start_soon(clog)
        await wait_all_tasks_blocked(SETTLED)
        with pytest.raises(trio.BusyResourceError):
            await near.send(b"beside")
        await near.close(None)


async def test_a_call_of_one_message_carries_one() -> None:
    for path, end in ((ASK, 0), (ASK, 1), (TELL, 1)):
        async with open_link_pair(HERE, talking(path)) as ends:
            with pytest.raises(FrameRefused, match="one message"):
                await ends[end].send_some([b"one", b"two"])
            await ends[end].send(b"one")
            with pytest.raises(FrameRefused, match="one message"):
                await ends[end].send(b"two")


async def test_the_limit_is_named() -> None:
    async with open_link_pair(HERE, talking()) as (near, _far):
        with pytest.raises(FrameTooLong, match="1048577 bytes is above the limit of 1048576"):
            await near.send(bytes((1 << 20) + 1))


@pytest.mark.limit(
    "transports/grpc_http2.STREAM_WINDOW",
    "transports/grpc_link.UNREAD",
    "transports/grpc_link.RETURN",
)
async def test_a_call_that_nobody_reads_holds_so_much_and_stops_no_other() -> None:
    """Back-pressure is per call: the window of the connection comes back."""
    links: list[Link] = []
    over = trio.Event()

    async def hold(link: Link) -> None:
        links.append(link)
        if len(links) > 1:
            await link.send(await link.receive())
        await over.wait()

    async with serving(hold) as url, raw_client(url) as raw:
        stuck = raw.request(TALK)
        sent = 0
        while True:
            with trio.move_on_after(SETTLED):
                while raw.h2.local_flow_control_window(stuck) <= 0:
                    await raw.next()
            room = raw.h2.local_flow_control_window(stuck)
            if room <= 0:
                break
            messages = prefixed(bytes(1000)) * 16
            piece = messages[: min(room, len(messages))]
            raw.h2.send_data(stuck, piece)
            sent += len(piece)
            await raw.flush()
        assert STREAM_WINDOW <= sent <= STREAM_WINDOW + UNREAD + 200_000
        beside = raw.request(TALK)
        raw.h2.send_data(beside, prefixed(b"hello"))
        await raw.flush()
        while not any(getattr(event, "data", b"") == prefixed(b"hello") for event in raw.seen):
            assert await raw.next()
        over.set()


async def test_a_message_may_be_longer_than_the_window() -> None:
    async with open_link_pair(HERE, talking()) as (near, far), trio.open_nursery() as nursery:
        whole = bytes(1 << 20)
        nursery.start_soon(near.send_some, [whole] * 3)
        for _ in range(3):
            assert await far.receive() == whole


async def test_it_can_be_waited_for_until_it_is_over() -> None:
    async with open_link_pair(HERE, talking()) as (near, far), trio.open_nursery() as nursery:
        assert isinstance(far, ServedLink)
        assert not far.over
        nursery.start_soon(far.wait_over)
        await near.send(b"a message is no end")
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        await near.close(None)
    assert far.over


async def test_closing_twice_waits_for_the_first_or_hurries_it() -> None:
    options = talking()
    async with open_link_pair(HERE, options) as (near, _far), trio.open_nursery() as nursery:
        # The far end does not answer, so that an orderly end takes its time.
        nursery.start_soon(near.close, 1000)
        await wait_all_tasks_blocked()
        nursery.start_soon(near.close, 1000)
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 2
        await near.close(None)
