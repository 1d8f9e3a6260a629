from __future__ import annotations

import socket

import pytest
import trio
from trio.testing import MockClock

from fleetgate.transports.api import Link, LinkBroken, Options
from fleetgate.transports.framing import make_framer
from fleetgate.transports.memory import memory_link_pair
from fleetgate.transports.serving import StreamListener, log_report, serve_link
from fleetgate.transports.stream import StreamLink


class Reports:
    """What was reported, and a way to wait for the next."""

    def __init__(self) -> None:
        self.all: list[tuple[str, BaseException | None]] = []
        self._more = trio.Event()

    def __call__(self, what: str, reason: BaseException | None) -> None:
        self.all.append((what, reason))
        self._more.set()
        self._more = trio.Event()

    async def wait(self, count: int) -> None:
        while len(self.all) < count:
            await self._more.wait()


async def greet(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
    return StreamLink(stream, make_framer("text_lines", 1000))


async def sockets() -> list[trio.SocketListener]:
    return await trio.open_tcp_listeners(0, host="127.0.0.1")


async def dial(bound: list[trio.SocketListener]) -> trio.SocketStream:
    return await trio.open_tcp_stream("127.0.0.1", bound[0].socket.getsockname()[1])


async def echo(link: Link) -> None:
    async for frame in link:
        if frame == b"raise":
            raise ValueError("as asked")
        await link.send(frame)


async def test_a_handler_that_raises_ends_its_own_link_only() -> None:
    reports = Reports()
    bound = await sockets()
    listener = StreamListener(bound, (), Options(report=reports), greet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        good, bad = await dial(bound), await dial(bound)
        await bad.send_all(b"raise\n")
        assert await bad.receive_some() == b""
        await bad.aclose()
        await reports.wait(1)
        what, reason = reports.all[0]
        assert what == "handler_failed"
        assert isinstance(reason, ValueError)
        await good.send_all(b"still here\n")
        assert await good.receive_some() == b"still here\n"
        await good.aclose()
        nursery.cancel_scope.cancel()
    await listener.aclose()


@pytest.mark.limit("Options.max_links")
async def test_too_many_links_are_dropped_and_said_so() -> None:
    reports = Reports()
    bound = await sockets()
    listener = StreamListener(bound, (), Options(report=reports, max_links=1), greet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        first = await dial(bound)
        await first.send_all(b"a\n")
        assert await first.receive_some() == b"a\n"
        async with await dial(bound) as second:
            assert await second.receive_some() == b""
        assert [what for what, _ in reports.all] == ["links_full"]
        await first.send_all(b"b\n")
        assert await first.receive_some() == b"b\n"
        await first.send_eof()
        assert await first.receive_some() == b""
        await first.aclose()
        await trio.testing.wait_all_tasks_blocked()
        async with await dial(bound) as third:
            await third.send_all(b"c\n")
            assert await third.receive_some() == b"c\n"
        nursery.cancel_scope.cancel()
    await listener.aclose()


async def never(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
    await trio.sleep_forever()
    raise AssertionError("unreachable")


@pytest.mark.limit("Options.max_handshakes")
async def test_handshakes_run_side_by_side_up_to_a_bound() -> None:
    reports = Reports()
    slow: list[trio.SocketStream] = []

    async def patient(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        if await stream.receive_some(1) == b"s":
            slow.append(stream)
            await trio.sleep_forever()
        return await greet(stream, nursery)

    bound = await sockets()
    listener = StreamListener(bound, (), Options(report=reports, max_handshakes=2), patient)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        stuck = [await dial(bound) for _ in range(1)]
        await stuck[0].send_all(b"s")
        async with await dial(bound) as quick:
            await quick.send_all(b"qa\n")
            assert await quick.receive_some() == b"a\n"
        stuck.append(await dial(bound))
        await stuck[1].send_all(b"s")
        while len(slow) < 2:
            await trio.testing.wait_all_tasks_blocked()
        async with await dial(bound) as late:
            assert await late.receive_some() == b""
        assert [what for what, _ in reports.all] == ["handshakes_full"]
        for stream in stuck:
            await stream.aclose()
        nursery.cancel_scope.cancel()
    await listener.aclose()


async def elsewhere(bound: list[trio.SocketListener]) -> trio.SocketStream:
    """A stream from another address of this machine."""
    port = bound[0].socket.getsockname()[1]
    return await trio.open_tcp_stream("127.0.0.1", port, local_address="127.0.0.9")


@pytest.mark.limit("Options.max_handshakes_each")
async def test_who_opens_and_never_speaks_leaves_room_for_others() -> None:
    reports = Reports()
    bound = await sockets()
    options = Options(report=reports, max_handshakes=8, max_handshakes_each=3)

    async def speaking(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        await stream.receive_some(1)
        return await greet(stream, nursery)

    listener = StreamListener(bound, (), options, speaking)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        mute = [await dial(bound) for _ in range(20)]
        await reports.wait(17)
        assert {what for what, _ in reports.all} == {"handshakes_full"}
        assert str(reports.all[0][1]) == "there are 3 handshakes from 127.0.0.1"
        async with await elsewhere(bound) as other:
            await other.send_all(b"-a\n")
            assert await other.receive_some() == b"a\n"
        for stream in mute:
            await stream.aclose()
        nursery.cancel_scope.cancel()
    await listener.aclose()


@pytest.mark.limit("Options.max_links_each")
async def test_one_address_never_has_all_links() -> None:
    reports = Reports()
    bound = await sockets()
    options = Options(report=reports, max_links=4, max_links_each=2)
    listener = StreamListener(bound, (), options, greet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        greedy = [await dial(bound) for _ in range(4)]
        await reports.wait(2)
        assert [str(why) for _, why in reports.all] == ["there are 2 links from 127.0.0.1"] * 2
        async with await elsewhere(bound) as other:
            await other.send_all(b"a\n")
            assert await other.receive_some() == b"a\n"
        for stream in greedy:
            await stream.aclose()
        nursery.cancel_scope.cancel()
    await listener.aclose()


@pytest.mark.parametrize("slow", [True, False])
async def test_a_handshake_that_fails_or_lasts_ends_itself(
    slow: bool, autojump_clock: MockClock
) -> None:
    reports = Reports()

    async def fail(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        raise UnicodeError("whatever a stranger can cause")

    bound = await sockets()
    listener = StreamListener(bound, (), Options(report=reports), never if slow else fail)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        async with await dial(bound) as stream:
            assert await stream.receive_some() == b""
        await reports.wait(1)
        what, reason = reports.all[0]
        assert what == "handshake_failed"
        assert isinstance(reason, LinkBroken if slow else UnicodeError)
        nursery.cancel_scope.cancel()
    await listener.aclose()


async def test_cancelling_serve_drops_handshakes_too() -> None:
    bound = await sockets()
    begun = trio.Event()

    async def begin(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        begun.set()
        return await never(stream, nursery)

    listener = StreamListener(bound, (), Options(), begin)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        stream = await dial(bound)
        await begun.wait()
        nursery.cancel_scope.cancel()
    assert await stream.receive_some() == b""
    await stream.aclose()
    await listener.aclose()


async def test_closing_the_listener_lets_links_live_and_serve_ends_with_the_last() -> None:
    bound = await sockets()
    listener = StreamListener(bound, (), Options(), greet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        stream = await dial(bound)
        await stream.send_all(b"a\n")
        assert await stream.receive_some() == b"a\n"
        address = bound[0].socket.getsockname()
        await listener.aclose()
        with socket.socket() as knock:
            assert knock.connect_ex(address) != 0
        await stream.send_all(b"b\n")
        assert await stream.receive_some() == b"b\n"
        await stream.send_eof()
        assert await stream.receive_some() == b""
        await stream.aclose()


async def test_cancelling_serve_drops_links_without_a_word() -> None:
    near, far = memory_link_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_link, far, echo, log_report)
        await near.send(b"a")
        assert await near.receive() == b"a"
        nursery.cancel_scope.cancel()
    with pytest.raises(LinkBroken) as caught:
        await near.receive()
    assert caught.value.code == 1006


async def test_a_handler_that_returns_or_raises_leaves_a_closed_link() -> None:
    near, far = memory_link_pair()

    async def leave(link: Link) -> None:
        return None

    await serve_link(far, leave, log_report)
    with pytest.raises(trio.EndOfChannel):
        await near.receive()
    reports = Reports()
    near, far = memory_link_pair()
    await near.send(b"raise")
    await serve_link(far, echo, reports)
    with pytest.raises(LinkBroken, match="internal error") as caught:
        await near.receive()
    assert caught.value.code == 1011
    assert [what for what, _ in reports.all] == ["handler_failed"]


async def test_several_failures_are_reported_as_they_are() -> None:
    reports = Reports()

    async def two(link: Link) -> None:
        raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])

    await serve_link(memory_link_pair()[0], two, reports)
    assert isinstance(reports.all[0][1], ExceptionGroup)


def test_without_a_report_there_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    log_report("links_full", None)
    log_report("handler_failed", ValueError("x"))
    assert [record.getMessage() for record in caplog.records] == [
        "links_full: None",
        "handler_failed: ValueError('x')",
    ]
