from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio

from fleetgate.transports.api import (
    DialFailed,
    DialRefused,
    FrameTooLong,
    Link,
    LinkBroken,
    LinkClosed,
    ListenFailed,
    Opening,
    Options,
    Rejection,
)
from fleetgate.transports.memory import BACKLOG, memory_link_pair
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair

TRAITS = LinkTraits(codes=True, cut_spoils=False)


@asynccontextmanager
async def make_pair() -> AsyncGenerator[tuple[Link, Link], None]:
    yield memory_link_pair(buffer=3)


async def test_it_is_a_link() -> None:
    await check_link(make_pair, TRAITS)
    await check_link(lambda: open_link_pair("memory:a", Options()), TRAITS)


@pytest.mark.limit("transports/memory.BUFFER")
async def test_a_full_direction_makes_send_wait_and_the_other_flows() -> None:
    near, far = memory_link_pair(buffer=2)
    await near.send_some([b"a", b"b"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(near.send, b"c")
        await trio.testing.wait_all_tasks_blocked()
        assert near.statistics().frames_out == 2
        await far.send(b"back")
        assert await near.receive() == b"back"
        assert await far.receive_some() == [b"a", b"b"]
    assert await far.receive_some() == [b"c"]


async def test_a_cut_send_leaves_whole_frames_and_a_link_that_lives() -> None:
    near, far = memory_link_pair(buffer=1)
    with trio.move_on_after(0):
        await near.send_some([b"a", b"b", b"c"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(near.send_some, [b"1", b"2", b"3"])
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert await far.receive_some() == [b"1"]
    await near.send(b"4")
    assert await far.receive_some() == [b"4"]


async def test_each_end_keeps_its_own_limit() -> None:
    near, far = memory_link_pair(limits=(10, 4))
    await near.send_some([b"fits", b"too long"])
    with pytest.raises(FrameTooLong):
        await far.send(b"12345")
    assert await far.receive() == b"fits"
    for _ in range(2):
        with pytest.raises(LinkBroken, match="a frame of 8 bytes came, the limit is 4") as caught:
            await far.receive_some()
        assert caught.value.code == 1009
    with pytest.raises(LinkBroken) as caught:
        await near.receive()
    assert caught.value.code == 1009
    with pytest.raises(LinkBroken):
        await far.send(b"a")
    with pytest.raises(LinkBroken):
        await near.send(b"a")


async def test_closing_wakes_whoever_waits_on_either_end() -> None:
    near, far = memory_link_pair(buffer=1)
    raised: dict[str, Exception] = {}

    async def note(name: str, link: Link, frames: list[bytes]) -> None:
        try:
            await link.send_some(frames)
            raise AssertionError("sent without room")
        except (LinkBroken, LinkClosed) as error:
            raised[name] = error

    async with trio.open_nursery() as nursery:
        nursery.start_soon(note, "near", near, [b"a", b"b"])
        nursery.start_soon(note, "far", far, [b"a", b"b"])
        await trio.testing.wait_all_tasks_blocked()
        await near.close(1001)
    assert isinstance(raised["near"], LinkClosed)
    assert isinstance(raised["far"], LinkBroken)


async def test_a_name_is_taken_until_its_block_ends() -> None:
    async with open_listener("memory:gw", Options()) as listener:
        assert listener.addresses == ("memory:gw",)
        with pytest.raises(ListenFailed, match="is taken"):
            async with open_listener("memory:gw", Options()):
                raise AssertionError("two listeners with one name")
        await listener.aclose()
        async with open_listener("memory:gw", Options()):
            pass
    async with open_dialer("memory:gw", Options()) as dialer:
        with pytest.raises(DialFailed, match="nobody listens at memory:gw"):
            await dialer.dial()


@pytest.mark.limit("transports/memory.BACKLOG")
async def test_dialling_works_before_serving_and_is_bounded() -> None:
    async with (
        open_listener("memory:gw", Options()) as listener,
        open_dialer("memory:gw", Options()) as dialer,
    ):
        links = [await dialer.dial() for _ in range(BACKLOG)]
        with pytest.raises(DialFailed, match="128 links waiting"):
            await dialer.dial()
        await links[0].send(b"early")
        served = 0

        async def serve(link: Link) -> None:
            nonlocal served
            served += 1

        await listener.aclose()
        await listener.serve(serve)
        assert served == BACKLOG
        for link in links:
            with pytest.raises(trio.EndOfChannel):
                await link.receive()


async def test_links_are_counted() -> None:
    async with (
        open_listener("memory:gw", Options(max_links=1)) as listener,
        open_dialer("memory:gw", Options()) as dialer,
        trio.open_nursery() as nursery,
    ):
        done = trio.Event()

        async def serve(link: Link) -> None:
            await link.receive()
            await link.close(1000)
            done.set()

        nursery.start_soon(listener.serve, serve)
        link = await dialer.dial()
        with pytest.raises(DialFailed, match="takes no more"):
            await dialer.dial()
        await link.send(b"end")
        await done.wait()
        await trio.testing.wait_all_tasks_blocked()
        await dialer.dial()
        nursery.cancel_scope.cancel()


async def test_permission_and_subprotocol_as_at_an_upgrade() -> None:
    seen: list[Opening] = []

    def authorize(opening: Opening) -> Rejection | None:
        seen.append(opening)
        return None if opening.headers.get("authorization") == "Bearer x" else Rejection(401)

    listening = Options(authorize=authorize, subprotocols=("v2", "v1"))
    dialling = Options(
        path="/agent", headers={"Authorization": "Bearer x"}, subprotocols=("v0", "v1", "v2")
    )
    async with open_link_pair("memory:gw", listening, dialling) as (near, far):
        assert near.opening.subprotocol == far.opening.subprotocol == "v1"
        assert far.opening == seen[0]
        assert far.opening.path == "/agent"
        assert far.opening.headers["sec-websocket-protocol"] == "v0, v1, v2"
    async with (
        open_listener("memory:gw", listening),
        open_dialer("memory:gw", Options()) as dialer,
    ):
        with pytest.raises(DialRefused, match="answered 401") as caught:
            await dialer.dial()
        assert (caught.value.status, caught.value.final) == (401, True)
