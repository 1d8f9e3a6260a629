from __future__ import annotations

import socket
from contextlib import suppress

import attrs
import pytest
import trio

from fleetgate.transports.address import parse_address
from fleetgate.transports.api import DialFailed, Link, LinkBroken, ListenFailed, Options
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.tcp import connect, within_deadline
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair

HERE = "tcp://127.0.0.1:0"
OPTIONS = Options(framing="kind")
SHORT = attrs.evolve(OPTIONS, close_timeout=0.5)
"""Where closing is waited for in vain."""


async def test_it_is_a_link() -> None:
    await check_link(lambda: open_link_pair(HERE, SHORT), LinkTraits(lead=b"\x00"))


async def test_it_is_a_link_byte_by_byte() -> None:
    async with open_link_pair(HERE, OPTIONS) as (near, far):
        for link in (near, far):
            link.trickle(1)  # type: ignore[attr-defined]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(near.send_some, [b"\x00" + b"x" * 5000, b"\x00y"])
            assert await far.receive() == b"\x00" + b"x" * 5000
            assert await far.receive() == b"\x00y"


async def test_the_address_has_the_real_port_and_the_peer_is_named() -> None:
    async with open_listener(HERE, OPTIONS) as listener:
        (url,) = listener.addresses
        assert parse_address(url).port > 0
    async with open_link_pair(HERE, OPTIONS) as (near, far):
        assert near.opening.peer.startswith("127.0.0.1:")
        assert far.opening.peer.startswith("127.0.0.1:")
        assert near.opening.peer != far.opening.peer


async def test_a_port_that_is_taken_cannot_be_bound() -> None:
    async with open_listener(HERE, OPTIONS) as listener:
        with pytest.raises(ListenFailed, match="cannot listen at tcp://"):
            async with open_listener(listener.addresses[0], OPTIONS):
                raise AssertionError("bound twice")


async def test_nobody_there() -> None:
    with socket.socket() as bound:  # taken, so that nobody else takes it; not listening
        bound.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        async with open_dialer(address, OPTIONS) as dialer:
            with pytest.raises(DialFailed, match=r"cannot be reached: Connection refused$"):
                await dialer.dial()


async def test_dialling_has_a_deadline(autojump_clock: trio.testing.MockClock) -> None:
    address = parse_address("tcp://127.0.0.1:1")
    with (
        pytest.raises(DialFailed, match=r"did not answer within 10 s"),
        within_deadline(address, Options()),
    ):
        await trio.sleep_forever()


async def test_junk_breaks_its_own_link_only() -> None:
    broken: list[Exception] = []

    async def echo(link: Link) -> None:
        try:
            async for frame in link:
                await link.send(frame)
        except LinkBroken as error:
            broken.append(error)
            await link.close(None)

    async with (
        open_listener(HERE, OPTIONS) as listener,
        open_dialer(listener.addresses[0], OPTIONS) as dialer,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, echo)
        good = await dialer.dial()
        for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", b"\x00\x00\x00\x05\x00"):
            async with await connect(parse_address(listener.addresses[0])) as stream:
                await stream.send_all(junk)
                await stream.send_eof()
                with suppress(trio.BrokenResourceError):  # reset, where it had not read it all
                    assert await stream.receive_some() == b""
        await good.send(b"\x00still here")
        assert await good.receive() == b"\x00still here"
        await good.close(None)
        nursery.cancel_scope.cancel()
    assert len(broken) == 3


async def test_the_last_frame_arrives_though_what_the_peer_sent_was_never_read() -> None:
    """A socket closed with bytes unread is reset; the reset may overtake the last frame."""
    for _ in range(20):
        async with open_link_pair(HERE, OPTIONS) as (near, far):
            await near.send_some([b"\x00" + b"unread" * 1000] * 20)
            await far.send(b"\x00goodbye")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(far.close, 1000)
                assert await near.receive() == b"\x00goodbye"
                with pytest.raises(trio.EndOfChannel):
                    await near.receive()
                await near.close(1000)


async def test_closing_in_order_meets_a_reset() -> None:
    async with open_link_pair(HERE, OPTIONS) as (near, far), trio.open_nursery() as nursery:
        await near.send_some([b"\x00" + b"unread" * 1000] * 3)
        nursery.start_soon(near.close, 1000)
        await trio.testing.wait_all_tasks_blocked()
        await far.close(None)


async def test_ipv6_has_brackets() -> None:
    async with open_link_pair("tcp://[::1]:0", OPTIONS) as (near, _far):
        assert near.opening.peer.startswith("[::1]:")
