"""A dialler of ours against a server that does what a test says."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import trio
from h2.errors import ErrorCodes
from h2.events import DataReceived, PingReceived, RequestReceived
from h2.settings import SettingCodes
from trio.testing import MockClock

from fleetgate.transports.api import DialFailed, DialRefused, Link, LinkBroken, Options
from fleetgate.transports.grpc_client import ANSWER_WITHIN, ClientConnection, patience
from fleetgate.transports.grpc_testing import LISTEN, TALK, RawHttp2, prefixed, talking
from fleetgate.transports.open import open_dialer
from fleetgate.transports.testing import SETTLED

Serve = Callable[[RawHttp2], Awaitable[None]]
HEAD = [(":status", "200"), ("content-type", "application/grpc")]


@asynccontextmanager
async def raw_server(serve: Serve) -> AsyncGenerator[str, None]:
    """A server of bare HTTP/2, past its preface; each connection is served so."""

    async def accept(stream: trio.SocketStream) -> None:
        raw = RawHttp2(stream, client=False)
        with suppress(trio.BrokenResourceError):
            async with stream:
                await raw.start()
                await serve(raw)

    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, accept, [listening])
        yield f"grpc://127.0.0.1:{listening.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def outcome(serve: Serve, options: Options | None = None) -> Exception:
    """How a call to such a server ends."""
    async with raw_server(serve) as url, open_dialer(url, options or talking()) as dialer:
        try:
            link = await dialer.dial()
        except (DialFailed, DialRefused) as error:
            return error
        return await end_of(link)


async def end_of(link: Link) -> Exception:
    try:
        while True:
            await link.receive()
    except (LinkBroken, trio.EndOfChannel) as end:
        return end
    finally:
        await link.close(None)


async def test_what_a_call_brings() -> None:
    seen: list[dict[str, str]] = []

    async def serve(raw: RawHttp2) -> None:
        event = await raw.until(RequestReceived)
        seen.append({str(name): str(value) for name, value in event.headers})
        raw.h2.send_headers(1, HEAD)
        raw.h2.send_headers(1, [("grpc-status", "0")], end_stream=True)
        await raw.flush()
        await raw.ended()

    options = Options(grpc=talking().grpc, headers={"Authorization": "Bearer x"})
    end = await outcome(serve, options)
    assert isinstance(end, trio.EndOfChannel)
    assert seen[0][":path"] == TALK
    assert seen[0]["te"] == "trailers"
    assert seen[0]["authorization"] == "Bearer x"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ([(":status", "503")], 14),
        ([(":status", "401")], 16),
        ([(":status", "x")], 2),
        ([(":status", "200"), ("content-type", "text/html")], 2),
        ([*HEAD, ("grpc-status", "9"), ("grpc-message", "no")], 9),
        ([*HEAD, ("grpc-status", "?")], 2),
        ([*HEAD], 2),
    ],
)
async def test_a_refusal_at_once(head: list[tuple[str, str]], status: int) -> None:
    async def serve(raw: RawHttp2) -> None:
        await raw.until(RequestReceived)
        raw.h2.send_headers(1, head, end_stream=True)
        await raw.flush()
        await raw.ended()

    end = await outcome(serve, talking(final=frozenset({16})))
    assert isinstance(end, DialRefused | LinkBroken)
    code = end.status if isinstance(end, DialRefused) else end.code
    assert (code, end.final) == (status, status == 16)


@pytest.mark.parametrize(
    ("data", "code"),
    [(prefixed(b"x", 1), 13), (b"\0\x7f\xff\xff\xff", 8), (b"\0\0", 13), (b"\0\0\0\0\5x", 13)],
)
async def test_an_answer_that_is_no_message(data: bytes, code: int) -> None:
    async def serve(raw: RawHttp2) -> None:
        await raw.until(RequestReceived)
        raw.h2.send_headers(1, HEAD)
        raw.h2.send_data(1, data)
        raw.h2.send_headers(1, [("grpc-status", "0")], end_stream=True)
        await raw.flush()
        await raw.ended()

    end = await outcome(serve)
    assert isinstance(end, LinkBroken | DialRefused)
    assert (end.status if isinstance(end, DialRefused) else end.code) == code


async def test_a_body_that_ends_without_trailers() -> None:
    async def serve(raw: RawHttp2) -> None:
        await raw.until(RequestReceived)
        raw.h2.send_headers(1, HEAD)
        raw.h2.send_data(1, prefixed(b"x"), end_stream=True)
        await raw.flush()
        await raw.ended()

    end = await outcome(serve)
    assert isinstance(end, LinkBroken)
    assert end.code == 2


@pytest.mark.parametrize(
    ("error", "code"), [(ErrorCodes.REFUSED_STREAM, 14), (ErrorCodes.CANCEL, 1), (1, 13)]
)
async def test_a_cut_call(error: int, code: int) -> None:
    async def serve(raw: RawHttp2) -> None:
        await raw.until(RequestReceived)
        raw.h2.send_headers(1, HEAD)
        raw.h2.send_data(1, prefixed(b"x"))
        raw.h2.reset_stream(1, error)
        await raw.flush()
        await raw.ended()

    end = await outcome(serve)
    assert isinstance(end, LinkBroken)
    assert end.code == code


async def test_a_server_that_drains_lets_the_call_live() -> None:
    async def serve(raw: RawHttp2) -> None:
        await raw.until(RequestReceived)
        await raw.stream.send_all(raw.h2.data_to_send() + raw.h2.go_away())
        raw.h2.send_headers(1, HEAD)
        data = await raw.until(DataReceived)
        raw.h2.send_data(1, data.data)
        raw.h2.send_headers(1, [("grpc-status", "0")], end_stream=True)
        await raw.flush()
        await raw.ended()

    async with raw_server(serve) as url, open_dialer(url, talking()) as dialer:
        link = await dialer.dial()
        await link.send(b"still here")
        assert await link.receive() == b"still here"
        assert isinstance(await end_of(link), trio.EndOfChannel)


async def test_a_goaway_that_leaves_the_call_out() -> None:
    async def serve(raw: RawHttp2) -> None:
        raw.h2.highest_inbound_stream_id = 0
        await raw.stream.send_all(raw.h2.go_away())
        await raw.ended()

    end = await outcome(serve)
    assert isinstance(end, DialRefused | LinkBroken | DialFailed)
    assert "no more calls" in str(end)


async def test_fault_10_a_server_that_finds_pings_too_many_gets_half_of_them() -> None:
    async def serve(raw: RawHttp2) -> None:
        await raw.until(RequestReceived)
        raw.h2.send_headers(1, HEAD)
        raw.h2.send_data(1, prefixed(b"x"))
        await raw.flush()
        await raw.stream.send_all(raw.h2.go_away(ErrorCodes.ENHANCE_YOUR_CALM, b"too_many_pings"))
        await raw.ended()

    async with raw_server(serve) as url:
        for factor in (2, 4):
            async with open_dialer(url, talking()) as dialer:
                with suppress(DialFailed):
                    end = await end_of(await dialer.dial())
                    assert isinstance(end, LinkBroken)
                    assert (end.code, "too many pings" in str(end)) == (14, True)
            assert patience().interval(url, 300) == 300 * factor


async def test_pings_while_a_call_lives() -> None:
    """In real time, which is why they come so fast."""
    pinged = trio.Event()

    async def serve(raw: RawHttp2) -> None:
        for _ in range(4):
            await raw.until(PingReceived)
        pinged.set()
        await raw.ended()

    options = talking(ping_every=0.001)
    async with raw_server(serve) as url, open_dialer(url, options) as dialer:
        link = await dialer.dial()
        await pinged.wait()
        await link.close(None)


async def test_a_server_that_answers_no_ping_is_gone(autojump_clock: MockClock) -> None:
    connection = ClientConnection("here")
    began = trio.current_time()
    await connection.keep_alive(300)
    assert connection.lost.is_set()
    assert connection.why == f"the peer did not answer a ping within {ANSWER_WITHIN:g} s"
    assert trio.current_time() - began == 300 + ANSWER_WITHIN


async def test_what_is_no_http2_at_all() -> None:
    async def noise(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError):
            async with stream:
                await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listening.socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, noise, [listening])
        async with open_dialer(f"grpc://127.0.0.1:{port}", talking()) as dialer:
            with pytest.raises(DialFailed, match="no gRPC at"):
                await dialer.dial()
        nursery.cancel_scope.cancel()


async def test_a_server_that_says_nothing_is_given_up() -> None:
    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listening.socket.getsockname()[1]
    options = Options(grpc=talking().grpc, handshake_timeout=0.05)
    async with listening, open_dialer(f"grpc://127.0.0.1:{port}", options) as dialer:
        with pytest.raises(DialFailed, match="did not answer within"):
            await dialer.dial()


async def test_metadata_that_cannot_be_sent() -> None:
    options = Options(grpc=talking().grpc, headers={"x": "two\nlines"})

    async def serve(raw: RawHttp2) -> None:
        await raw.ended()

    async with raw_server(serve) as url, open_dialer(url, options) as dialer:
        with pytest.raises(DialFailed, match="the value of x is not printable"):
            await dialer.dial()


async def test_a_small_window_of_the_server_is_kept() -> None:
    got = b""
    done = trio.Event()

    async def serve(raw: RawHttp2) -> None:
        nonlocal got
        raw.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 7})
        await raw.flush()
        while len(got) < 105:
            data = await raw.until(DataReceived)
            got += data.data
            if data.data:
                raw.h2.increment_flow_control_window(len(data.data), 1)
                await raw.flush()
        done.set()
        await raw.ended()

    async with raw_server(serve) as url, open_dialer(url, talking(LISTEN)) as dialer:
        link = await dialer.dial()
        await link.send(bytes(100))
        await done.wait()
        await link.close(None)
    assert got == prefixed(bytes(100))


async def test_leaving_its_block_drops_what_is_open() -> None:
    links: list[Link] = []

    async def serve(raw: RawHttp2) -> None:
        await raw.ended()

    async with raw_server(serve) as url:
        async with open_dialer(url, talking()) as dialer:
            links.append(await dialer.dial())
        with pytest.raises(LinkBroken):
            await links[0].receive()
        await links[0].close(None)
    assert SETTLED > 0
