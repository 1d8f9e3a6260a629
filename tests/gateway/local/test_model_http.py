"""Streamed answers over real sockets: whole, slow, cut off, too large, and not at all."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.gateway.local import model_http
from fleetgate.gateway.local.model_http import MAX_LINE, Lines, ModelClient, Question, missing
from fleetgate.gateway.local.work import Declined, WorkFailed


def question(url: str, **changes) -> Question:
    members = {"connect_timeout": 5.0, "silence_timeout": 50.0, **changes}
    return Question(f"{url}/api/chat", {"a": (1, None, {"b": "ü"})}, **members)


@asynccontextmanager
async def client() -> AsyncIterator[ModelClient]:
    made = ModelClient()
    yield made
    await made.aclose()


async def lines_of(asked: Question) -> list[bytes]:
    async with client() as asking, asking.ask(asked) as lines:
        return [line async for line in lines]


class Reading:
    """An answer that is read beside the test, until it ends or fails."""

    def __init__(self, asked: Question) -> None:
        self.asked = asked
        self.lines: list[bytes] = []
        self.failed = ""
        self._nursery_manager = trio.open_nursery()
        self._news = trio.Event()

    async def __aenter__(self) -> Reading:
        nursery = await self._nursery_manager.__aenter__()
        nursery.start_soon(self._read)
        return self

    async def __aexit__(self, *error) -> None:
        await self._nursery_manager.__aexit__(*error)

    async def _read(self) -> None:
        try:
            async with client() as asking, asking.ask(self.asked) as lines:
                async for line in lines:
                    self.lines.append(line)
                    self._news.set()
        except WorkFailed as error:
            self.failed = str(error)

    async def until(self, count: int) -> None:
        while len(self.lines) < count:
            self._news = trio.Event()
            await self._news.wait()


async def failure_of(asked: Question) -> str:
    with pytest.raises(WorkFailed) as caught:
        await lines_of(asked)
    return str(caught.value)


async def test_an_answer_is_lines_however_it_comes(server) -> None:
    server.pieces = [b"on", b"e\r", b"\ntwo\n\nth", b"ree"]
    asked = question(server.url, headers={"authorization": "Bearer t"})
    assert await lines_of(asked) == [b"one", b"two", b"", b"three"]
    (seen,) = server.asked
    assert seen.path == "/api/chat"
    assert seen.body == {"a": [1, None, {"b": "ü"}]}
    assert seen.headers["authorization"] == "bearer t"
    assert seen.headers["accept-encoding"] == "identity"


async def test_neither_proxies_nor_credentials_come_from_the_environment(
    server, monkeypatch, tmp_path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    await lines_of(question(server.url))
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "answered 400: it does not take this request"),
        (401, "answered 401: it wants a token"),
        (404, "answered 404: it has no such model"),
        (500, "answered 500: its log says why"),
        (302, "answered 302: its log says why"),
        (204, "answered 204: its log says why"),
    ],
)
async def test_another_status_than_200(server, status: int, words: str) -> None:
    server.status = status
    server.pieces = [] if status == 204 else [b'{"error":"secret prompt"}']
    said = await failure_of(question(server.url))
    assert said.startswith(f"upstream_status: {server.url} {words}")
    assert "secret" not in said


async def test_a_server_that_is_not_there() -> None:
    with socket.socket() as bound:  # taken, so that nobody else takes it; not listening
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        said = await failure_of(question(f"http://127.0.0.1:{port}"))
    assert said.startswith(f"unavailable: http://127.0.0.1:{port} cannot be reached")


async def test_an_answer_that_is_cut_off(server) -> None:
    server.pieces, server.cut = [b"one\nt"], True
    async with Reading(question(server.url)) as reading:
        await reading.until(1)
    assert reading.lines == [b"one"]
    assert reading.failed.startswith(f"stream_broken: the answer of {server.url} was cut off")


async def test_an_answer_that_is_no_http(server, monkeypatch) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"what?\r\n\r\n")

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        port = listener.socket.getsockname()[1]
        said = await failure_of(question(f"http://127.0.0.1:{port}"))
        nursery.cancel_scope.cancel()
    assert said.startswith("stream_broken: ")
    assert "what" not in said


async def test_a_server_that_falls_silent(server, mock_clock: MockClock) -> None:
    server.pieces, server.holds = [b"one\n"], True
    async with Reading(question(server.url)) as reading:
        await reading.until(1)
        await wait_all_tasks_blocked()
        mock_clock.jump(49)
        await wait_all_tasks_blocked()
        assert not reading.failed
        mock_clock.jump(1)
    assert reading.failed.startswith(f"timeout: {server.url} sent nothing for 50 s")
    await server.gone.wait()


async def test_leaving_early_closes_the_connection(server) -> None:
    server.pieces, server.holds = [b"one\n"], True
    async with client() as asking:
        async with asking.ask(question(server.url)) as lines:
            assert await anext(lines) == b"one"
        await server.gone.wait()


async def test_a_cancel_closes_the_connection(server) -> None:
    server.pieces, server.holds = [b"one\n"], True
    async with client() as asking:
        with trio.CancelScope() as scope:
            async with asking.ask(question(server.url)) as lines:
                async for _ in lines:
                    scope.cancel()
        assert scope.cancelled_caught
        await server.gone.wait()


@pytest.mark.limit("gateway/local/model_http.MAX_LINE")
async def test_an_endless_line_is_read_no_further_than_the_limit(server) -> None:
    server.pieces, server.holds = [b"x" * 65536] * (MAX_LINE // 65536 + 1), True
    said = await failure_of(question(server.url))
    assert said == f"oversize_line: a line of the answer has more than {MAX_LINE} bytes"
    await server.gone.wait()


@given(st.lists(st.binary()), st.integers(1, 5))
def test_lines_are_what_they_are_however_they_are_cut(parts: list[bytes], size: int) -> None:
    data = b"\n".join(part.replace(b"\n", b"").rstrip(b"\r") for part in parts)
    splitter = Lines()
    found = [
        line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])
    ]
    assert [*found, *splitter.end()] == data.split(b"\n")


# --- the extra


async def test_without_httpx_the_run_says_which_extra_is_missing(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    async with client() as asking:
        with pytest.raises(Declined, match=r"unavailable: .* pip install 'fleetgate\[models\]'"):
            async with asking.ask(question("http://h")):
                raise AssertionError("nothing can be asked")


def test_it_is_known_before(monkeypatch) -> None:
    assert missing() is None
    monkeypatch.setattr(model_http, "find_spec", lambda _: None)
    assert missing() == model_http.MISSING
    assert importlib.util.find_spec("httpx") is not None
