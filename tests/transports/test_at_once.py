"""Writing to a socket without waiting, and what is left."""

from __future__ import annotations

import socket

import pytest
import trio
from trio.testing import assert_checkpoints, memory_stream_pair, wait_all_tasks_blocked

from fleetgate.transports.api import Link, LinkBroken, Options
from fleetgate.transports.at_once import finish, read_some, write_at_once
from fleetgate.transports.framing import make_framer
from fleetgate.transports.stream import StreamLink
from fleetgate.transports.testing import open_link_pair

MIB = 1 << 20
OPTIONS = Options(framing="kind", limit=8 * MIB)
LARGE = [b"\x00" + bytes([n]) * 3 * MIB for n in (1, 2, 3)]
"""More than any socket takes at once."""


def pair() -> tuple[trio.SocketStream, trio.SocketStream]:
    one, other = (trio.socket.from_stdlib_socket(each) for each in socket.socketpair())
    return trio.SocketStream(one), trio.SocketStream(other)


async def test_a_socket_takes_what_it_has_room_for() -> None:
    ours, theirs = pair()
    async with ours, theirs:
        assert write_at_once(ours, b"abc") == 3
        assert await theirs.receive_some() == b"abc"
        taken = write_at_once(ours, bytes(16 * MIB))
        assert 0 < taken < 16 * MIB
        assert write_at_once(ours, b"abc") == 0
    assert write_at_once(ours, b"abc") == 0, "it is closed"


async def test_a_socket_whose_peer_is_gone_takes_nothing_and_the_next_write_says_why() -> None:
    ours, theirs = pair()
    link = StreamLink(ours, make_framer("kind", 100))
    await theirs.aclose()
    assert write_at_once(ours, b"abc") == 0
    with pytest.raises(LinkBroken, match="lost"):
        await finish(link.begin([b"\x00a"]))
    await link.close(None)


async def test_what_is_no_socket_takes_nothing() -> None:
    stream, _ = memory_stream_pair()
    assert write_at_once(stream, b"abc") == 0


async def test_a_link_begins_a_small_write_and_ends_it_without_a_turn() -> None:
    ours, theirs = pair()
    link, far = (StreamLink(each, make_framer("kind", 100)) for each in (ours, theirs))
    assert link.begin([b"\x00a", b"\x00b"]) is None
    assert await far.receive_some() == [b"\x00a", b"\x00b"]
    figures = link.statistics()
    assert (figures.frames_out, figures.bytes_out) == (2, 12)
    for each in (link, far):
        await each.close(None)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:0", "ws://127.0.0.1:0/x"])
async def test_what_does_not_fit_goes_out_behind_it_in_order(address: str) -> None:
    async with open_link_pair(address, OPTIONS) as (near, far):
        for sender, receiver in ((near, far), (far, near)):
            rest = sender.begin([b"\x00first", *LARGE])
            assert rest is not None
            got: list[bytes] = []
            async with trio.open_nursery() as nursery:
                nursery.start_soon(take, receiver, got, 5)
                await rest
                assert sender.begin([b"\x00last"]) is None
            assert got == [b"\x00first", *LARGE, b"\x00last"]
            figures = sender.statistics()
            assert (figures.frames_out, receiver.statistics().frames_in) == (5, 5)
            assert figures.bytes_out == receiver.statistics().bytes_in


async def take(link: Link, got: list[bytes], count: int) -> None:
    while len(got) < count:
        got += await link.receive_some()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:0", "ws://127.0.0.1:0/x"])
async def test_a_rest_that_is_cut_ends_the_link(address: str) -> None:
    async with open_link_pair(address, OPTIONS) as (near, far):
        rest = near.begin(LARGE)
        assert rest is not None
        with trio.CancelScope() as scope:
            scope.cancel()
            await rest
        assert scope.cancelled_caught
        with pytest.raises(LinkBroken):
            await finish(near.begin([b"\x00a"]))
        got: list[bytes] = []
        with pytest.raises(LinkBroken):
            await take(far, got, 3)
        assert got == LARGE[: len(got)]


async def test_a_socket_gives_what_has_come_and_is_waited_for_where_nothing_has() -> None:
    ours, theirs = pair()
    async with ours, theirs:
        await theirs.send_all(b"abcd")
        with assert_checkpoints():
            assert await read_some(ours, 3) == b"abc"
        assert await read_some(ours, 3) == b"d"
        got: list[bytes | bytearray] = []

        async def read() -> None:
            got.append(await read_some(ours, 3))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            assert got == []
            await theirs.send_all(b"late")
        assert got == [b"lat"]
        assert await read_some(ours, 3) == b"e"
        await theirs.send_eof()
        assert await read_some(ours, 3) == b""


async def test_a_read_that_is_cancelled_takes_nothing() -> None:
    ours, theirs = pair()
    async with ours, theirs:
        await theirs.send_all(b"abc")
        with trio.CancelScope() as scope:
            scope.cancel()
            await read_some(ours, 3)
        assert scope.cancelled_caught
        assert await read_some(ours, 3) == b"abc"
        with trio.move_on_after(0):
            await read_some(ours, 3)
        await theirs.send_all(b"def")
        assert await read_some(ours, 3) == b"def"


async def test_a_read_says_how_its_socket_ended_as_trio_does() -> None:
    for read in (read_some, trio.SocketStream.receive_some):
        ours, theirs = pair()
        await ours.send_all(b"unread")
        await theirs.aclose()
        with pytest.raises(trio.BrokenResourceError) as caught:
            await read(ours, 3)
        assert isinstance(caught.value.__cause__, ConnectionResetError)
        await ours.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await read(ours, 3)


async def test_a_read_ends_when_its_socket_is_closed_under_it() -> None:
    ours, theirs = pair()
    async with theirs, trio.open_nursery() as nursery:

        async def read() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await read_some(ours, 3)

        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        await ours.aclose()


async def test_what_is_no_socket_is_read_as_it_is() -> None:
    ours, theirs = memory_stream_pair()
    await theirs.send_all(b"abc")
    assert await read_some(ours, 2) == b"ab"
