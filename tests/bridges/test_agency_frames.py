"""Table 1.1 of the agency protocol, row by row, on a real Unix socket: what a daemon makes of odd
bytes, and that another client is served while it does."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config_entries import Entry, side_of
from fleetgate.gateway.keeper import Keeper, Surroundings
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenEntry
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings

CAP = 1_048_577
WITHIN = 120
HELLO = b'{"requestId":1,"type":"hello","client_name":"c","version":{"major":0,"minor":3}}'
LIST = b'{"requestId":2,"type":"list_runs"}'
RUNS = {"kind": "response", "request_id": 2, "type": "runs", "runs": []}


def framed(payload: bytes, kind: int = 0) -> bytes:
    return struct.pack(">IB", len(payload) + 1, kind) + payload


@attrs.define
class Client:
    """The raw bytes of one connection."""

    stream: trio.SocketStream

    async def say(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def hear(self) -> Any:
        with trio.fail_after(WITHIN):
            (length,) = struct.unpack(">I", await self._take(4))
            frame = await self._take(length)
        assert frame[0] == 0
        return json.loads(frame[1:])

    async def _take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = await self.stream.receive_some(size - len(data))
            assert more, "the daemon has closed"
            data += more
        return data

    async def hello(self) -> None:
        await self.say(framed(HELLO))
        assert (await self.hear())["type"] == "hello"

    async def rest(self) -> bytes:
        """All that comes until the daemon closes; bytes that it left unread make that a reset."""
        data = b""
        with trio.fail_after(WITHIN):
            try:
                while more := await self.stream.receive_some():
                    data += more
            except trio.BrokenResourceError:
                pass
        return data


@attrs.define
class Daemon:
    """A gateway's northbound entry on a socket."""

    path: Path
    seen: SeenEntry

    @asynccontextmanager
    async def dial(self) -> AsyncIterator[Client]:
        async with await trio.open_unix_socket(str(self.path)) as stream:
            yield Client(stream)


Open = Callable[..., AbstractAsyncContextManager[Daemon]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Private, and short enough for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="fg-") as made:
        yield Path(made)


@pytest.fixture
def open_daemon(folder: Path) -> Open:
    @asynccontextmanager
    async def opened(**settings: Any) -> AsyncIterator[Daemon]:
        path, seen = folder / "s", SeenEntry()
        side = side_of(adapters(())["agency"], "north")
        entry = Entry(
            "north", "gui", "agency", f"unix:{path}", True, AgencyNorthboundSettings(**settings)
        )
        async with (
            open_memory_journal() as journal,
            hub_on(journal) as hub,
            trio.open_nursery() as nursery,
        ):
            around = Surroundings(hub, TrioClock(), "gw", lambda name: "i", lambda: 0.0)
            await nursery.start(Keeper(entry, side, around, seen).run)
            yield Daemon(path, seen)
            nursery.cancel_scope.cancel()
        assert [link.faults for link in seen.links if link.faults] == []

    return opened


async def test_a_binary_frame_with_json_is_treated_like_text(open_daemon: Open) -> None:
    async with open_daemon() as daemon, daemon.dial() as client:
        await client.say(framed(HELLO, kind=1))
        assert (await client.hear())["version"] == {"major": 0, "minor": 3}


DROPPED = {
    "binary that is no UTF-8": framed(b"\xff\xfe", kind=1),
    "ping": framed(b"", kind=2),
    "pong": framed(b"", kind=3),
    "text that is no UTF-8": framed(b'"\xff"'),
    "close with 1 byte": framed(b"x", kind=4),
    "unknown kind": framed(b"x", kind=9),
    "length 0": bytes(4),
    "length above the cap": struct.pack(">I", CAP + 1),
    "malformed JSON": framed(b'{"requestId":2,'),
    "unknown type": framed(b'{"requestId":2,"type":"nope"}'),
    "missing field": framed(b'{"requestId":2,"type":"detach_run"}'),
    "mistyped field": framed(b'{"requestId":2,"type":"detach_run","run_id":5}'),
    "close": framed(b"", kind=4),
    "close with a reason": framed(b"\x03\xe8bye", kind=4),
}


@pytest.mark.parametrize("odd", DROPPED)
@pytest.mark.parametrize("strict", [False, True])
async def test_it_ends_this_link_without_a_word_and_no_other(
    open_daemon: Open, odd: str, strict: bool
) -> None:
    async with (
        open_daemon(strict_parity=strict) as daemon,
        daemon.dial() as client,
        daemon.dial() as other,
    ):
        await other.hello()
        await client.hello()
        await client.say(DROPPED[odd])
        assert await client.rest() == b""
        await other.say(framed(LIST))
        assert await other.hear() == RUNS


@pytest.mark.parametrize("cut", [0, 3, 5, 20])
async def test_an_end_inside_a_frame_or_between_two_ends_the_link(
    open_daemon: Open, cut: int
) -> None:
    async with open_daemon() as daemon, daemon.dial() as client, daemon.dial() as other:
        await client.hello()
        await client.say(framed(LIST)[:cut])
        await client.stream.send_eof()
        assert await client.rest() == b""
        await other.hello()


async def test_the_longest_frame_is_taken(open_daemon: Open) -> None:
    async with open_daemon() as daemon, daemon.dial() as client:
        await client.hello()
        longest = framed(LIST + b" " * (CAP - 1 - len(LIST)))
        assert struct.unpack(">I", longest[:4]) == (CAP,)
        await client.say(longest)
        assert await client.hear() == RUNS


async def test_lines_are_dropped_in_strict_parity(open_daemon: Open) -> None:
    async with open_daemon(strict_parity=True) as daemon, daemon.dial() as client:
        await client.say(HELLO + b"\n")
        assert await client.rest() == b""


async def test_lines_are_answered_by_lines_otherwise(open_daemon: Open) -> None:
    async with open_daemon() as daemon, daemon.dial() as client:
        await client.say(HELLO + b"\n" + LIST + b"\n")
        await client.stream.send_eof()
        hello, runs = (await client.rest()).splitlines()
        assert json.loads(hello)["type"] == "hello"
        assert json.loads(runs) == RUNS


async def test_requests_before_a_half_close_are_answered_and_then_it_closes(
    open_daemon: Open,
) -> None:
    async with open_daemon() as daemon, daemon.dial() as client:
        await client.say(framed(HELLO) + framed(LIST) * 3)
        await client.stream.send_eof()
        assert (await client.hear())["type"] == "hello"
        assert [await client.hear() for _ in range(3)] == [RUNS] * 3
        assert await client.rest() == b""


async def test_a_segment_is_no_frame(open_daemon: Open) -> None:
    async with open_daemon() as daemon, daemon.dial() as client:
        for at in range(len(framed(HELLO))):
            await client.say(framed(HELLO)[at : at + 1])
        assert (await client.hear())["type"] == "hello"
        await client.say(framed(LIST) + framed(LIST))
        assert [await client.hear(), await client.hear()] == [RUNS, RUNS]
