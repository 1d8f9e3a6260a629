"""HTTP over one stream, with the standard library's words as an independent peer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from fleetgate.core.errors import RunNotFound, Unavailable
from fleetgate.gateway.admin.http import (
    BODY_WITHIN,
    CHUNK,
    HEAD_WITHIN,
    IDLE_FOR,
    MAX_BODY,
    MAX_HEAD,
    SEND_WITHIN,
    Handler,
    HttpConnection,
    Reply,
    Request,
    Send,
    Stream,
)


class Peer:
    """Writes bytes and reads answers; knows just enough HTTP to tell where one ends."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._buffer = b""

    async def ask(self, data: bytes) -> tuple[int, dict[str, str], Any]:
        await self.stream.send_all(data)
        return await self.answer()

    async def ask_head(self, data: bytes) -> bytes:
        await self.stream.send_all(data)
        return await self._until(b"\r\n\r\n")

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        head = (await self._until(b"\r\n\r\n")).decode()
        status, *lines = head.strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        body: Any = None
        if "content-length" in headers:
            body = json.loads(await self._exactly(int(headers["content-length"])))
        return int(status.split()[1]), headers, body

    async def chunk(self) -> bytes:
        size = int((await self._until(b"\r\n")).strip(), 16)
        return (await self._exactly(size + 2))[:-2]

    async def rest(self) -> bytes:
        while data := await self.stream.receive_some():
            self._buffer += data
        return self._buffer

    async def _until(self, end: bytes) -> bytes:
        while end not in self._buffer:
            data = await self.stream.receive_some()
            if not data:
                raise EOFError(self._buffer)
            self._buffer += data
        taken, self._buffer = self._buffer.split(end, 1)
        return taken + end

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            data = await self.stream.receive_some()
            if not data:
                raise EOFError(self._buffer)
            self._buffer += data
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


@asynccontextmanager
async def _served(handler: Handler, faults: list[Exception] | None = None) -> AsyncIterator[Peer]:
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        fault = (faults if faults is not None else []).append
        nursery.start_soon(HttpConnection(ours, handler, fault).serve)
        yield Peer(theirs)
        nursery.cancel_scope.cancel()


async def _echo(request: Request) -> Reply:
    return Reply(
        {
            "method": request.method,
            "path": request.path,
            "query": dict(request.query),
            "body": request.body.decode(),
        }
    )


async def test_requests_follow_each_other_on_one_connection() -> None:
    async with _served(_echo) as peer:
        head = b"GET /v1/runs/a%2Fb%20c?after=3&x= HTTP/1.1\r\nhost: h\r\n\r\n"
        status, headers, body = await peer.ask(head)
        assert status == 200
        assert headers["content-type"] == "application/json"
        assert body == {
            "method": "GET",
            "path": ["v1", "runs", "a/b c"],
            "query": {"after": "3"},
            "body": "",
        }
        post = b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhello"
        assert (await peer.ask(post))[2]["body"] == "hello"


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with _served(_echo) as peer:
        one = b"GET /%d HTTP/1.1\r\nhost: h\r\n\r\n"
        await peer.stream.send_all(one % 1 + one % 2 + one % 3)
        assert [(await peer.answer())[2]["path"] for _ in range(3)] == [["1"], ["2"], ["3"]]


async def test_a_request_may_come_byte_by_byte() -> None:
    async with _served(_echo) as peer:
        for byte in b"POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\nhi":
            await peer.stream.send_all(bytes([byte]))
        assert (await peer.answer())[2]["body"] == "hi"


async def test_expect_100_continue() -> None:
    async with _served(_echo) as peer:
        await peer.stream.send_all(
            b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n"
        )
        assert (await peer.answer())[0] == 100
        assert (await peer.ask(b"hi"))[2]["body"] == "hi"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: h\r\nhost: i\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: h\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_told_so_and_ends_the_connection(data: bytes) -> None:
    async with _served(_echo) as peer:
        status, headers, body = await peer.ask(data)
        assert status in (400, 431)
        assert headers["connection"] == "close"
        assert body["error"]["code"] == "bad_request"
        assert await peer.rest() == b""


async def test_a_target_that_is_no_path_is_told_so_and_ends_the_connection() -> None:
    async with _served(_echo) as peer:
        status, headers, body = await peer.ask(b"GET //[ HTTP/1.1\r\nhost: h\r\n\r\n")
        assert (status, body["error"]["code"]) == (400, "bad_request")
        assert headers["connection"] == "close"
        assert await peer.rest() == b""


async def test_who_asks_for_the_head_alone_gets_no_body_and_may_ask_again() -> None:
    async with _served(_echo) as peer:
        head = await peer.ask_head(b"HEAD / HTTP/1.1\r\nhost: h\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert (await peer.ask(b"GET /x HTTP/1.1\r\nhost: h\r\n\r\n"))[2]["path"] == ["x"]


async def test_i11_whatever_a_request_brings_about_ends_its_connection_only() -> None:
    """A successful answer to CONNECT is the end of HTTP, and h11 lets no body follow it."""
    faults: list[Exception] = []
    async with _served(_echo, faults) as peer:
        await peer.stream.send_all(b"CONNECT h:1 HTTP/1.1\r\nhost: h\r\n\r\n")
        assert await peer.rest() == b""
        assert [type(fault).__name__ for fault in faults] == ["LocalProtocolError"]


@pytest.mark.limit("gateway/admin/http.MAX_BODY")
async def test_a_body_over_the_limit_is_refused_before_it_is_held() -> None:
    async with _served(_echo) as peer:
        head = b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"
        await peer.stream.send_all(head)
        piece = bytes(1 << 20)
        for _ in range(MAX_BODY // len(piece) + 1):
            await peer.stream.send_all(b"%x\r\n%b\r\n" % (len(piece), piece))
        status, _, body = await peer.answer()
        assert (status, body["error"]["code"]) == (413, "too_large")
        assert await peer.rest() == b""


@pytest.mark.parametrize("size", [b"%d" % (MAX_BODY + 1), b"9" * 20])
async def test_a_body_that_says_it_is_too_long_is_not_waited_for(size: bytes) -> None:
    async with _served(_echo) as peer:
        head = b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: %b\r\n\r\n" % size
        await peer.stream.send_all(head)
        status, _, body = await peer.answer()
        assert (status, body["error"]["code"]) == (413, "too_large")
        assert await peer.rest() == b""


async def test_a_slow_request_is_told_so(autojump_clock: trio.testing.MockClock) -> None:
    async with _served(_echo) as peer:
        start = trio.current_time()
        status, _, body = await peer.ask(b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\n")
        assert (status, body["error"]["code"]) == (408, "timeout")
        assert trio.current_time() - start == BODY_WITHIN
        assert await peer.rest() == b""


async def test_an_idle_connection_ends_without_a_word(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with _served(_echo) as peer:
        await peer.ask(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        start = trio.current_time()
        assert await peer.rest() == b""
        assert trio.current_time() - start == IDLE_FOR


async def test_a_connection_that_asks_nothing_ends_sooner(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with _served(_echo) as peer:
        start = trio.current_time()
        assert await peer.rest() == b""
        assert trio.current_time() - start == HEAD_WITHIN


@pytest.mark.parametrize(
    "before",
    [b"", b"GET / HTTP/1.1\r\nhost: h\r\n\r\n", b"HEAD / HTTP/1.1\r\nhost: h\r\n\r\n"],
)
async def test_a_head_that_does_not_end_is_told_so(
    before: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    async with _served(_echo) as peer:
        if before.startswith(b"HEAD"):
            await peer.ask_head(before)
        elif before:
            await peer.ask(before)
        start = trio.current_time()
        status, headers, body = await peer.ask(b"GET / HTTP/1.1\r\nho")
        assert (status, body["error"]["code"], headers["connection"]) == (408, "timeout", "close")
        assert trio.current_time() - start == HEAD_WITHIN
        assert await peer.rest() == b""


@pytest.mark.parametrize(
    "data",
    [b"", b"GET / HT", b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\n{"],
)
async def test_who_has_not_asked_can_be_turned_away(data: bytes) -> None:
    ours, theirs = trio.testing.memory_stream_pair()
    connection = HttpConnection(ours, _echo, lambda fault: None)
    peer = Peer(theirs)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.serve)
        await theirs.send_all(data)
        await trio.testing.wait_all_tasks_blocked()
        assert connection.waiting
        connection.turn_away()
        status, headers, body = await peer.answer()
        assert (status, body["error"]["code"]) == (503, "unavailable")
        assert headers["connection"] == "close"
        assert await peer.rest() == b""
    assert not connection.waiting


async def test_who_has_asked_cannot() -> None:
    asked, go_on = trio.Event(), trio.Event()

    async def slow(request: Request) -> Reply:
        asked.set()
        await go_on.wait()
        return Reply({})

    ours, theirs = trio.testing.memory_stream_pair()
    connection = HttpConnection(ours, slow, lambda fault: None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.serve)
        await theirs.send_all(b"GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        await asked.wait()
        assert not connection.waiting
        connection.turn_away()
        go_on.set()
        assert (await Peer(theirs).answer())[0] == 200


async def test_who_is_refused_is_told_so_at_once_and_closed() -> None:
    ours, theirs = trio.testing.memory_stream_pair()
    await HttpConnection(ours, _echo, lambda fault: None).refuse()
    peer = Peer(theirs)
    status, _, body = await peer.answer()
    assert (status, body["error"]["code"]) == (503, "unavailable")
    assert await peer.rest() == b""


async def test_a_fault_is_answered_and_told_and_the_connection_lives() -> None:
    async def broken(request: Request) -> Reply:
        if request.path == ("bad",):
            raise RuntimeError("the-secret")
        return Reply({})

    faults: list[Exception] = []
    async with _served(broken, faults) as peer:
        status, _, body = await peer.ask(b"GET /bad HTTP/1.1\r\nhost: h\r\n\r\n")
        assert status == 500
        assert "the-secret" not in str(body)
        assert [str(fault) for fault in faults] == ["the-secret"]
        assert (await peer.ask(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n"))[0] == 200


async def test_a_stream_is_chunks_and_an_end() -> None:
    async def lines(request: Request) -> Stream:
        async def write(send: Send) -> None:
            await send(b'{"a":1}\n')
            await send(b'{"a":2}\n')

        return Stream(write)

    async with _served(lines) as peer:
        status, headers, _ = await peer.ask(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        assert (status, headers["content-type"]) == (200, "application/x-ndjson")
        assert await peer.chunk() == b'{"a":1}\n'
        assert await peer.chunk() == b'{"a":2}\n'
        assert await peer.rest() == b"0\r\n\r\n"


async def test_a_stream_ends_when_its_peer_goes_away() -> None:
    cancelled = trio.Event()

    async def forever(request: Request) -> Stream:
        async def write(send: Send) -> None:
            await send(b"{}\n")
            try:
                await trio.sleep_forever()
            finally:
                cancelled.set()

        return Stream(write)

    async with _served(forever) as peer:
        await peer.ask(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        assert await peer.chunk() == b"{}\n"
        await peer.stream.aclose()
        await cancelled.wait()


async def test_a_stream_that_is_refused_in_its_midst_is_cut_and_no_fault() -> None:
    async def half(request: Request) -> Stream:
        async def write(send: Send) -> None:
            await send(b"{}\n")
            raise RunNotFound("it was forgotten")

        return Stream(write)

    faults: list[Exception] = []
    async with _served(half, faults) as peer:
        await peer.ask(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        assert await peer.rest() == b"3\r\n{}\n\r\n"
        assert faults == []


@pytest.mark.parametrize("lasting", [False, True])
async def test_a_stream_that_can_never_go_on_says_so_and_ends(lasting: bool) -> None:
    """Any other that is unavailable is cut: who asks again may be given what comes next."""

    async def half(request: Request) -> Stream:
        async def write(send: Send) -> None:
            await send(b"{}\n")
            raise Unavailable("it is damaged: do so", lasting=lasting)

        return Stream(write)

    faults: list[Exception] = []
    async with _served(half, faults) as peer:
        await peer.ask(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        line = b'{"error":{"code":"unavailable","message":"it is damaged: do so"}}\n'
        end = b"%x\r\n%b\r\n0\r\n\r\n" % (len(line), line) if lasting else b""
        assert await peer.rest() == b"3\r\n{}\n\r\n" + end
        assert faults == []


async def test_a_stream_that_fails_has_no_end_that_looks_like_one() -> None:
    async def half(request: Request) -> Stream:
        async def write(send: Send) -> None:
            await send(b"{}\n")
            raise RuntimeError("no more")

        return Stream(write)

    faults: list[Exception] = []
    async with _served(half, faults) as peer:
        await peer.ask(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        assert await peer.rest() == b"3\r\n{}\n\r\n"
        assert len(faults) == 1


async def test_a_peer_that_reads_nothing_loses_its_stream(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def endless(request: Request) -> Stream:
        async def write(send: Send) -> None:
            while True:
                await send(bytes(10_000))

        return Stream(write)

    ours, theirs = trio.testing.lockstep_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(theirs.send_all, b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        start = trio.current_time()
        await HttpConnection(ours, endless, lambda fault: None).serve()
        assert trio.current_time() - start == SEND_WITHIN


@pytest.mark.limit("gateway/admin/http.MAX_HEAD", "gateway/admin/http.CHUNK")
async def test_i9_a_head_over_the_limit_is_refused_and_read_no_further() -> None:
    ours, theirs = trio.testing.memory_stream_pair()
    asked: list[int | None] = []
    read = ours.receive_stream.receive_some

    async def noted(most: int | None = None) -> bytes | bytearray:
        asked.append(most)
        return await read(most)

    ours.receive_stream.receive_some = noted  # type: ignore[method-assign]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(HttpConnection(ours, _echo, lambda fault: None).serve)
        await theirs.send_all(b"GET / HTTP/1.1\r\nx: " + b"y" * (MAX_HEAD + CHUNK))
        answer = await Peer(theirs).answer()
        assert answer[0] in (400, 431)
        await theirs.aclose()
    assert set(asked) == {CHUNK}
