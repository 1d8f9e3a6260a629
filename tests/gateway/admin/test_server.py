"""The operators' socket is for operators: not for other users, not for web pages."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable
from fleetgate.gateway.admin.http import Reply, Request, Send, Stream
from fleetgate.gateway.admin.server import MAX_CONNECTIONS, AdminServer, guarded, open_admin
from fleetgate.gateway.places import UnixPlace, place_of
from fleetgate.transports import unix
from fleetgate.transports.api import AddressError, ListenFailed


async def _yes(request: Request) -> Reply:
    return Reply({"path": request.path})


def _ignore(fault: Exception) -> None:
    raise fault


@pytest.fixture(params=["unix", "tcp"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AdminServer]:
    address = f"unix:{tmp_path}/own/socket" if request.param == "unix" else "127.0.0.1:0"
    async with open_admin(address) as opened, trio.open_nursery() as nursery:
        nursery.start_soon(opened.serve, _yes, _ignore)
        yield opened
        nursery.cancel_scope.cancel()


async def test_it_answers_at_its_address(server: AdminServer) -> None:
    assert await AdminClient(server.address).get("/v1/status") == {"path": ["v1", "status"]}


async def test_connections_that_ask_nothing_keep_nobody_out(server: AdminServer) -> None:
    streams = [await _connect(server.address) for _ in range(MAX_CONNECTIONS * 2)]
    assert await AdminClient(server.address).get("/") == {"path": [""]}
    # The oldest were closed, with a word.
    for stream in streams[:MAX_CONNECTIONS]:
        said = await _all_of(stream)
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"too many connections" in said
    for stream in streams:
        await stream.aclose()


@pytest.mark.limit("gateway/admin/server.MAX_CONNECTIONS")
async def test_where_all_have_asked_the_new_one_is_told_so_and_closed(tmp_path: Path) -> None:
    async def stream_forever(request: Request) -> Stream:
        async def write(send: Send) -> None:
            await send(b"{}\n")
            await trio.sleep_forever()

        return Stream(write)

    async with open_admin(f"unix:{tmp_path}/own/s") as server, trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, stream_forever, _ignore)
        streams = [await _connect(server.address) for _ in range(MAX_CONNECTIONS)]
        for stream in streams:
            await stream.send_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 200 ")
        for _ in range(3):
            assert b"too many connections" in await _all_of(await _connect(server.address))
        with pytest.raises(AdminError, match="too many connections are open"):
            await AdminClient(server.address).get("/")
        await streams[0].aclose()
        assert await _first_line(server.address) == {}
        for stream in streams:
            await stream.aclose()
        nursery.cancel_scope.cancel()


async def _all_of(stream: trio.abc.Stream) -> bytes:
    """What comes until the server closes, which is told from a reset that it did not read."""
    said = b""
    async with stream:
        with suppress(trio.BrokenResourceError):
            while data := await stream.receive_some():
                said += data
    return said


async def _first_line(address: str) -> object:
    """The server learns of a closed connection when the kernel says so, and not before."""
    while True:
        with suppress(AdminError):
            async with AdminClient(address).stream("/") as lines:
                async for line in lines:
                    return line


async def _connect(address: str) -> trio.abc.Stream:
    place = place_of(address)
    assert place is not None
    if isinstance(place, UnixPlace):
        return await trio.open_unix_socket(place.path)
    return await trio.open_tcp_stream(place.host, place.port)


async def test_a_unix_socket_is_ours_alone_and_goes_with_us(tmp_path: Path) -> None:
    path = tmp_path / "own" / "socket"
    async with open_admin(f"unix:{path}"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        with pytest.raises(ListenFailed, match="already listening"):
            async with open_admin(f"unix:{path}"):
                pass
    assert not path.exists()
    with pytest.raises(Unreachable):
        await AdminClient(f"unix:{path}").get("/")


async def test_another_user_gets_nothing_even_past_the_sockets_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the mode had been changed: the kernel says who connects."""
    async with open_admin(f"unix:{tmp_path}/own/socket") as opened, trio.open_nursery() as nursery:
        nursery.start_soon(opened.serve, _yes, _ignore)
        monkeypatch.setattr(unix, "_credentials", lambda stream: (1, os.geteuid() + 1))
        async with await _connect(opened.address) as stream:
            with suppress(trio.BrokenResourceError):
                await stream.send_all(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await _all_of(stream) == b""
        monkeypatch.setattr(unix, "_credentials", lambda stream: (1, 0))
        assert await AdminClient(opened.address).get("/") == {"path": [""]}
        nursery.cancel_scope.cancel()


async def test_a_taken_port_is_said_to_be(tmp_path: Path) -> None:
    async with open_admin("127.0.0.1:0") as server:
        with pytest.raises(ListenFailed, match="cannot listen at"):
            async with open_admin(server.address):
                pass


@pytest.mark.parametrize("address", ["0.0.0.0:0", "nonsense", ":0", "unix:"])
async def test_places_that_others_reach_are_refused(address: str) -> None:
    with pytest.raises((AddressError, ListenFailed)):
        async with open_admin(address):
            pass


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"host": "localhost"}, b"", 200),
        ({"host": "localhost:7780"}, b"", 200),
        ({"host": "127.0.0.1:7780"}, b"", 200),
        ({"host": "[::1]:7780"}, b"", 200),
        ({"host": "[::1]"}, b"", 200),
        ({"host": "evil.example"}, b"", 421),
        ({"host": "evil.example:7780"}, b"", 421),
        ({"host": "127.0.0.1.evil.example:7780"}, b"", 421),
        ({"host": "0.0.0.0:7780"}, b"", 421),
        ({"host": ""}, b"", 421),
        ({}, b"", 421),
        ({"host": "localhost", "origin": "http://localhost:7780"}, b"", 403),
        ({"host": "localhost", "origin": "null"}, b"", 403),
        ({"host": "localhost"}, b"{}", 415),
        ({"host": "localhost", "content-type": "text/plain"}, b"{}", 415),
        ({"host": "localhost", "content-type": "application/json"}, b"{}", 200),
        ({"host": "localhost", "content-type": "application/json; charset=utf-8"}, b"{}", 200),
    ],
)
async def test_web_pages_and_borrowed_names_are_kept_out(
    headers: dict[str, str], body: bytes, status: int
) -> None:
    reply = await guarded(_yes)(Request("POST", ("v1",), {}, headers, body))
    assert isinstance(reply, Reply)
    assert reply.status == status
