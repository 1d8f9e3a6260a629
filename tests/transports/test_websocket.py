from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.transports.address import Address, parse_address
from fleetgate.transports.api import (
    DialFailed,
    DialRefused,
    Link,
    LinkBroken,
    ListenFailed,
    Opening,
    Options,
    Rejection,
)
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.tcp import connect
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair
from fleetgate.transports.websocket import resource_of

HERE = "ws://127.0.0.1:0/agent"
SECURE = "wss://127.0.0.1:0/agent"
OPTIONS = Options()
SHORT = Options(close_timeout=0.5)
"""Where closing is waited for in vain."""
UPGRADE = (
    b"GET /agent HTTP/1.1\r\nHost: gw.example:80\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize("binary", [True, False])
async def test_it_is_a_link(binary: bool) -> None:
    options = attrs.evolve(SHORT, binary=binary)
    await check_link(lambda: open_link_pair(HERE, options), LinkTraits(codes=True))


async def test_it_is_a_link_over_tls(certificates) -> None:
    listening = attrs.evolve(SHORT, tls=certificates.listening(mutual=True))
    dialling = attrs.evolve(SHORT, tls=certificates.dialling(mutual=True))
    await check_link(lambda: open_link_pair(SECURE, listening, dialling), LinkTraits(codes=True))
    async with open_link_pair(SECURE, listening, dialling) as (near, far):
        assert far.opening.identities[0] == "node-7"
        assert near.opening.identities[0] == "gateway"


async def test_a_certificate_that_does_not_hold(certificates, strangers) -> None:
    listening = attrs.evolve(OPTIONS, tls=certificates.listening())
    dialling = attrs.evolve(OPTIONS, tls=strangers.dialling())
    async with serving(SECURE, listening) as url, open_dialer(url, dialling) as dialer:
        with pytest.raises(DialRefused, match="does not hold"):
            await dialer.dial()


async def echo(link: Link) -> None:
    async for frame in link:
        await link.send(frame)


@asynccontextmanager
async def serving(address: str, options: Options) -> AsyncGenerator[str, None]:
    async with open_listener(address, options) as listener, trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, echo)
        yield listener.addresses[0]
        nursery.cancel_scope.cancel()


async def echoes(url: str, options: Options = OPTIONS) -> bool:
    """Whether the listener still serves."""
    async with open_dialer(url, options) as dialer:
        link = await dialer.dial()
        await link.send(b"still here?")
        answer = await link.receive()
        await link.aclose()
        return answer == b"still here?"


async def say(url: str, data: bytes) -> bytes:
    """Everything that a bare TCP client gets for these bytes."""
    got = b""
    async with await connect(parse_address(url)) as stream:
        await stream.send_all(data)
        with suppress(trio.BrokenResourceError):
            while piece := await stream.receive_some():
                got += piece
    return got


# --- the upgrade, at the listener


async def test_both_ends_know_of_each_other() -> None:
    listening = attrs.evolve(OPTIONS, subprotocols=("rvbox.v2", "rvbox.v1"))
    dialling = attrs.evolve(
        OPTIONS,
        headers={"Authorization": "Bearer s3cret", "X-Node": "7"},
        subprotocols=("other", "rvbox.v1"),
    )
    async with open_link_pair(HERE, listening, dialling) as (near, far):
        there = far.opening
        assert there.path == near.opening.path == "/agent"
        assert there.subprotocol == near.opening.subprotocol == "rvbox.v1"
        assert there.headers["authorization"] == "Bearer s3cret"
        assert there.headers["x-node"] == "7"
        assert there.headers["sec-websocket-protocol"] == "other, rvbox.v1"
        assert there.headers["host"] == near.opening.peer
        assert there.peer.startswith("127.0.0.1:")
        assert "s3cret" not in repr(there)


async def test_no_subprotocol_is_needed() -> None:
    for offered in ((), ("other",)):
        listening = attrs.evolve(OPTIONS, subprotocols=("rvbox.v1",))
        dialling = attrs.evolve(OPTIONS, subprotocols=offered)
        async with open_link_pair(HERE, listening, dialling) as (near, far):
            assert near.opening.subprotocol is far.opening.subprotocol is None


@pytest.mark.parametrize(
    ("address", "path", "resource"),
    [("ws://h:1", "/agent", "/agent"), ("ws://h:1/", "/agent", "/"), ("ws://h:1/a", "/b", "/a")],
)
def test_the_address_has_the_path_or_else_the_options(
    address: str, path: str, resource: str
) -> None:
    assert resource_of(parse_address(address), Options(path=path)) == resource


async def test_another_path_is_not_found_and_a_query_does_not_matter() -> None:
    async with serving(HERE, OPTIONS) as url:
        async with open_dialer(url.replace("/agent", "/other"), OPTIONS) as dialer:
            with pytest.raises(DialRefused, match="answered 404") as caught:
                await dialer.dial()
            assert (caught.value.status, caught.value.final) == (404, False)
        async with open_dialer(f"{url}?x=1", OPTIONS) as dialer:
            link = await dialer.dial()
            assert link.opening.path == "/agent?x=1"
            await link.close(None)
        assert await echoes(url)


async def test_authorize_decides_before_the_upgrade() -> None:
    asked: list[Opening] = []

    def authorize(opening: Opening) -> int | Rejection | None:
        asked.append(opening)
        token = opening.headers.get("authorization")
        if token is None:
            return Rejection(401, b'{"status":401}', {"Content-Type": "application/json"})
        return None if token == "Bearer right" else 403

    async with serving(HERE, attrs.evolve(OPTIONS, authorize=authorize)) as url:
        for headers, status in (({}, 401), ({"Authorization": "Bearer wrong"}, 403)):
            async with open_dialer(url, attrs.evolve(OPTIONS, headers=headers)) as dialer:
                with pytest.raises(DialRefused) as caught:
                    await dialer.dial()
                assert (caught.value.status, caught.value.final) == (status, True)
        answer = await say(url, UPGRADE + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert b"Content-Type: application/json\r\n" in answer
        assert answer.endswith(b'\r\n\r\n{"status":401}')
        assert await echoes(url, attrs.evolve(OPTIONS, headers={"Authorization": "Bearer right"}))
        paths = len(asked)
        assert b" 404 " in await say(url, UPGRADE.replace(b"/agent", b"/else") + b"\r\n")
        assert len(asked) == paths


async def test_fault_5_no_compression_is_agreed_on() -> None:
    """A small message must not be able to become a large one."""
    offer = b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
    async with serving(HERE, OPTIONS) as url, await connect(parse_address(url)) as stream:
        await stream.send_all(UPGRADE + offer + b"\r\n")
        answer = await stream.receive_some()
        assert answer.startswith(b"HTTP/1.1 101 ")
        assert b"extensions" not in answer.lower()
        await stream.send_all(b"\xc2\x80\x00\x00\x00\x00")  # RSV1: a compressed message
        closed = await stream.receive_some()
        assert (closed[0], closed[2:4]) == (0x88, (1002).to_bytes(2, "big"))


async def test_repeated_headers_are_joined() -> None:
    seen: list[Opening] = []

    def authorize(opening: Opening) -> int:
        seen.append(opening)
        return 503

    async with serving(HERE, attrs.evolve(OPTIONS, authorize=authorize)) as url:
        extra = b"Cookie: a=1\r\nCookie: b=2\r\nX-Any: 1\r\nX-Any: 2\r\n"
        assert b" 503 " in await say(url, UPGRADE + extra + b"\r\n")
    assert seen[0].headers["cookie"] == "a=1; b=2"
    assert seen[0].headers["x-any"] == "1, 2"
    assert seen[0].headers["host"] == "gw.example:80"


@pytest.mark.parametrize(
    ("junk", "answer"),
    [
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b"HTTP/1.1 400 "),
        (b"POST /agent HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", b"HTTP/1.1 400 "),
        (UPGRADE.replace(b": 13", b": 12") + b"\r\n", b"HTTP/1.1 426 "),
        (UPGRADE.replace(b"gw.example", b"\xff\xff") + b"\r\n", b""),
        (UPGRADE + b"Sec-WebSocket-Protocol: \xff\r\n\r\n", b""),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 400 "),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"HTTP/1.1 400 "),
        (b"\x00" * 2000, b"HTTP/1.1 400 "),
        (b"GET /agent HTTP/1.1\r\n" + b"X-Filler: y\r\n" * 6000, b""),
        (UPGRADE + b"\r\n\x82\x80\x00\x00\x00\x00", b""),
    ],
)
async def test_junk_on_the_port_ends_itself(junk: bytes, answer: bytes) -> None:
    reported: list[str] = []
    options = attrs.evolve(OPTIONS, report=lambda what, reason: reported.append(what))
    async with serving(HERE, options) as url:
        assert (await say(url, junk)).startswith(answer)
        assert await echoes(url)
    assert reported == ["handshake_failed"]


@pytest.mark.parametrize("data", [b"", UPGRADE])
async def test_a_slow_handshake_ends_at_its_deadline(data: bytes, mock_clock: MockClock) -> None:
    reported: list[BaseException | None] = []
    options = attrs.evolve(OPTIONS, report=lambda what, reason: reported.append(reason))
    async with serving(HERE, options) as url, trio.open_nursery() as nursery:

        async def go_by() -> None:
            await trio.testing.wait_all_tasks_blocked(0.01)
            mock_clock.jump(options.handshake_timeout)

        nursery.start_soon(go_by)
        assert await say(url, data) == b""
        assert await echoes(url)
    assert [str(reason) for reason in reported] == ["the handshake took too long"]


async def test_a_caller_who_leaves_in_mid_upgrade_holds_nothing_up() -> None:
    reported: list[BaseException | None] = []
    options = attrs.evolve(
        OPTIONS, max_handshakes=1, report=lambda what, reason: reported.append(reason)
    )
    async with serving(HERE, options) as url:
        for _ in range(3):
            async with await connect(parse_address(url)) as stream:
                await stream.send_all(UPGRADE)
                await stream.send_eof()
                assert await stream.receive_some() == b""
        assert await echoes(url)
    assert len(reported) == 3


async def test_a_port_that_is_taken() -> None:
    async with open_listener(HERE, OPTIONS) as listener:
        with pytest.raises(ListenFailed, match="cannot listen"):
            async with open_listener(listener.addresses[0], OPTIONS):
                raise AssertionError("bound twice")


# --- the upgrade, at the dialler


@asynccontextmanager
async def answering(
    answer: Callable[[trio.SocketStream], object],
) -> AsyncGenerator[str, None]:
    """A server that is none of ours."""
    bound = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, answer, bound)
        yield f"ws://127.0.0.1:{bound[0].socket.getsockname()[1]}/agent"
        nursery.cancel_scope.cancel()
        for listener in bound:
            await listener.aclose()


async def dial_at(*answers: bytes, forever: bool = False) -> Exception:
    """How dialling fails where the answer is this."""

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            with suppress(trio.BrokenResourceError):
                for piece in answers:
                    await stream.send_all(piece)
                while forever:
                    await stream.send_all(answers[-1])
                await stream.send_eof()
                while await stream.receive_some():
                    pass

    async with (
        answering(answer) as url,
        open_dialer(url, attrs.evolve(OPTIONS, subprotocols=("a",))) as dialer,
    ):
        with pytest.raises((DialFailed, DialRefused)) as caught:
            await dialer.dial()
        return caught.value


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope", 401),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 302),
        (b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", 503),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", 200),
    ],
)
async def test_another_answer_than_101_is_a_refusal(answer: bytes, status: int) -> None:
    for pieces in ([answer], [answer[:20], answer[20:]]):
        error = await dial_at(*pieces)
        assert isinstance(error, DialRefused)
        assert (error.status, error.final) == (status, status == 401)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 101 Switching",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x00\x00\x00\x01\x00",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
    ],
)
async def test_an_answer_that_is_none_is_a_failure(answer: bytes) -> None:
    error = await dial_at(answer)
    assert isinstance(error, DialFailed)
    assert "no WebSocket at ws://127.0.0.1" in str(error)


@pytest.mark.limit("transports/websocket.MAX_TOLD")
@pytest.mark.parametrize("final", [False, True])
async def test_a_server_that_selects_what_nobody_offered_has_refused(final: bool) -> None:
    """For good, where the protocol has it so: it is another's server."""

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            head = bytes(await stream.receive_some())
            key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)
            assert key is not None
            digest = hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
            await stream.send_all(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                b"Sec-WebSocket-Protocol: " + b"b" * 99 + b"\r\n"
                b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
            )
            with suppress(trio.BrokenResourceError):
                while await stream.receive_some():
                    pass

    dialling = attrs.evolve(OPTIONS, subprotocols=("a",), unoffered_final=final)
    async with answering(answer) as url, open_dialer(url, dialling) as dialer:
        with pytest.raises(DialRefused, match=r"subprotocol 'b{64}', which") as caught:
            await dialer.dial()
        assert caught.value.final is final


async def test_an_endless_answer_costs_no_memory() -> None:
    filler = b"X-Filler: y\r\n" * 5000
    head = await dial_at(b"HTTP/1.1 101 Switching Protocols\r\n", filler, forever=True)
    assert isinstance(head, DialFailed)
    body = await dial_at(b"HTTP/1.1 401 No\r\n\r\n", filler, forever=True)
    assert isinstance(body, DialRefused)
    assert body.status == 401


async def test_a_server_that_says_nothing() -> None:
    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            while await stream.receive_some():
                pass

    dialling = attrs.evolve(OPTIONS, handshake_timeout=0.1)
    async with answering(answer) as url, open_dialer(url, dialling) as dialer:
        with pytest.raises(DialFailed, match=r"did not answer within 0\.1 s"):
            await dialer.dial()


async def test_cancelling_a_dial_leaves_nothing_open() -> None:
    ended = trio.Event()

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            scope.cancel()
            assert await stream.receive_some() == b""
            ended.set()

    async with answering(answer) as url, open_dialer(url, OPTIONS) as dialer:
        with trio.CancelScope() as scope:
            await dialer.dial()
        await ended.wait()


async def test_leaving_the_dialers_block_drops_its_links() -> None:
    async with serving(HERE, OPTIONS) as url:
        async with open_dialer(url, OPTIONS) as dialer:
            link = await dialer.dial()
            await link.send(b"a")
            assert await link.receive() == b"a"
        with pytest.raises(LinkBroken):
            await link.receive()
        with pytest.raises(DialFailed):
            await dialer.dial()


def test_an_ipv6_host_keeps_its_brackets() -> None:
    assert Address("ws", "::1", 80).netloc == "[::1]:80"


async def test_ipv6() -> None:
    async with open_link_pair("ws://[::1]:0/agent", OPTIONS) as (near, far):
        await near.send(b"a")
        assert await far.receive() == b"a"
        assert far.opening.headers["host"].startswith("[::1]:")
