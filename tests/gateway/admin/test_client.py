"""The client against the real API over a real socket, and against peers that misbehave."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from errno import EACCES, ECONNREFUSED, EIO, ENOENT
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from fleetgate.core import events as e
from fleetgate.core.hub_testing import DONE, HandWorker
from fleetgate.core.ids import RunId
from fleetgate.gateway.admin import client as client_module
from fleetgate.gateway.admin.api import Api
from fleetgate.gateway.admin.client import (
    ANSWER_WITHIN,
    MAX_LINE,
    AdminClient,
    AdminError,
    Unreachable,
    path_of,
)
from fleetgate.gateway.admin.server import open_admin


@pytest.fixture
async def client(api: Api, tmp_path: Path) -> AsyncIterator[AdminClient]:
    def fail(fault: Exception) -> None:
        raise fault

    async with (
        open_admin(f"unix:{tmp_path}/own/socket") as server,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(server.serve, api.handle, fail)
        yield AdminClient(server.address)
        nursery.cancel_scope.cancel()


def test_paths() -> None:
    assert path_of("runs", "admin/a b", "events", after=3, follow=None) == (
        "/v1/runs/admin%2Fa%20b/events?after=3"
    )
    assert path_of("status") == "/v1/status"


async def test_a_run_over_the_socket(client: AdminClient, worker: HandWorker) -> None:
    body = {"run": "x/y z", "input": {"prompt": "hi"}}
    with pytest.raises(AdminError) as caught:
        await client.post(path_of("runs"), body)
    assert caught.value.code == "invalid_argument"
    started = await client.post(path_of("runs"), {**body, "run": "x/y"})
    assert started["run"]["run"] == "admin/x/y"
    run = RunId("admin/x/y")
    async with client.stream(path_of("runs", run, "events", follow=1)) as lines:
        assert (await anext(lines))["type"] == "RunAssigned"
        worker.record(run, e.TextProduced("ä漢\n" * 100), seq=1)
        assert (await anext(lines))["text"] == "ä漢\n" * 100
        worker.record(run, DONE, seq=2)
        assert (await anext(lines))["type"] == "RunFinished"
        with pytest.raises(StopAsyncIteration):
            await anext(lines)


async def test_a_refusal_has_code_and_text(client: AdminClient) -> None:
    with pytest.raises(AdminError) as caught:
        await client.get(path_of("runs", "none/such"))
    assert caught.value.code == "not_found"
    assert "none/such" in caught.value.message
    with pytest.raises(AdminError):
        async with client.stream(path_of("runs", "none/such", "events")):
            pass


Talk = Callable[[trio.SocketStream], Awaitable[None]]


@asynccontextmanager
async def _answering(talk: Talk) -> AsyncIterator[AdminClient]:
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, talk, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        yield AdminClient(f"127.0.0.1:{port}")
        nursery.cancel_scope.cancel()


def _saying(data: bytes) -> Talk:
    async def talk(stream: trio.SocketStream) -> None:
        await stream.receive_some(10_000)
        await stream.send_all(data)
        await stream.send_eof()

    return talk


_CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"SSH-2.0-something\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n",
    ],
)
async def test_an_answer_that_is_cut_or_none(data: bytes) -> None:
    async with _answering(_saying(data)) as client:
        with pytest.raises(Unreachable, match="went away"):
            await client.get("/v1/status")


async def test_an_answer_that_is_not_json() -> None:
    said = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 2\r\n\r\nno"
    async with _answering(_saying(said)) as client:
        with pytest.raises(AdminError, match=r"502.*no gateway's admin socket is there"):
            await client.get("/v1/status")


async def test_a_stream_that_is_cut_says_so_behind_what_came() -> None:
    async with (
        _answering(_saying(_CHUNKED + b'8\r\n{"a":1}\n\r\n4\r\n{"b"\r\n')) as client,
        client.stream("/v1/x") as lines,
    ):
        assert await anext(lines) == {"a": 1}
        with pytest.raises(Unreachable, match="went away"):
            await anext(lines)


async def test_a_stream_that_can_never_go_on_is_an_error_of_the_gateways() -> None:
    line = b'{"error":{"code":"unavailable","message":"it is damaged"}}\n'
    said = b'8\r\n{"a":1}\n\r\n%x\r\n%b\r\n0\r\n\r\n' % (len(line), line)
    async with _answering(_saying(_CHUNKED + said)) as client, client.stream("/v1/x") as lines:
        assert await anext(lines) == {"a": 1}
        with pytest.raises(AdminError, match="it is damaged"):
            await anext(lines)


@pytest.mark.limit("gateway/admin/client.MAX_LINE")
async def test_a_line_without_an_end_is_not_held_for_ever() -> None:
    size = MAX_LINE + (1 << 20)
    said = _CHUNKED + b"%x\r\n" % size + bytes(size) + b"\r\n0\r\n\r\n"
    async with _answering(_saying(said)) as client, client.stream("/v1/x") as lines:
        with pytest.raises(Unreachable, match="a line over"):
            await anext(lines)


async def test_no_answer_is_an_error_in_time(autojump_clock: trio.testing.MockClock) -> None:
    ours, _theirs = trio.testing.memory_stream_pair()

    async def connect(_: str) -> trio.abc.Stream:
        return ours

    start = trio.current_time()
    with pytest.raises(Unreachable, match=f"no answer in {ANSWER_WITHIN:g} s"):
        await AdminClient("silent", connect).get("/v1/status")
    assert trio.current_time() - start == ANSWER_WITHIN


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(ENOENT, "No such file"), "there is no such socket. Start one with `ga"),
        (ConnectionRefusedError(ECONNREFUSED, "refused"), "nobody listens there. Start one with"),
        (PermissionError(EACCES, "denied"), "permission denied. Only the user who started it"),
        (OSError(EIO, "Input/output error"), "Input/output error"),
        (trio.TooSlowError(), "within 5 s"),
    ],
)
async def test_an_operator_is_told_what_to_do_where_nobody_answers(
    error: Exception, words: str
) -> None:
    async def connect(_: str) -> trio.abc.Stream:
        raise error

    with pytest.raises(Unreachable) as raised:
        await AdminClient("unix:/s", connect).get("/v1/status")
    assert f"no gateway answers at unix:/s{' ' if 'within' in words else ': '}{words}" in str(
        raised.value
    )


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:99999", "unix:/nonexistent/socket"])
async def test_where_nobody_is(address: str) -> None:
    with pytest.raises(Unreachable, match=r"no gateway answers at .*: "):
        await AdminClient(address).get("/v1/status")


async def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as bound:  # taken, so that nobody else takes it; not listening
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(Unreachable, match=r"nobody listens there\. Start one with"):
            await AdminClient(address).get("/v1/status")


@pytest.mark.limit("gateway/admin/client.MAX_ANSWER")
async def test_i9_an_answer_without_an_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    said = _CHUNKED + b"3e8\r\n{}" + b" " * 998 + b"\r\n0\r\n\r\n"
    monkeypatch.setattr(client_module, "MAX_ANSWER", 1000)
    async with _answering(_saying(said)) as client:
        assert await client.get("/v1/status") == {}
    monkeypatch.setattr(client_module, "MAX_ANSWER", 999)
    async with _answering(_saying(said)) as client:
        with pytest.raises(Unreachable):
            await client.get("/v1/status")
