"""How an edge tells a node why its link ends, where the carriage has no status: the last
message, and over WebSocket a close code, too."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import attrs
import pytest
import trio
from wsproto import ConnectionType, WSConnection
from wsproto import events as ws

from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import OPERATOR, Route
from fleetgate.gateway.carrying import options_of
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fidelity.bridge import TOKEN, until
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.gateway.settings import GatewaySettings
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.settings import EdgeSettings, NorthSettings, north_carriage
from fleetgate.transports.api import Link, LinkBroken
from fleetgate.transports.open import open_dialer

WITHIN = 120
LARGEST = w.MAX_MESSAGE


@attrs.define
class Edge:
    """A listening edge."""

    member: Member
    address: str


@asynccontextmanager
async def open_edge(address: str) -> AsyncIterator[Edge]:
    grants = (Grant(TOKEN, "n1"),)
    entry = Entry("south", "nodes", "iop", address, True, EdgeSettings(), tokens=grants)
    routes = (Route(OPERATOR, "nodes"),)
    config = Config("edge.toml", GatewaySettings("memory:", name="edge"), (entry,), (), routes)
    async with open_memory_journal() as journal, trio.open_nursery() as nursery:
        member = Member(config, staying(journal))
        await nursery.start(member.run)
        (bound,) = member.seen.entries["nodes"].named("listening")
        yield Edge(member, str(bound))
        assert member.faults() == []
        nursery.cancel_scope.cancel()


# --- a node that a test speaks for


REGISTER = codec.encode_node(w.RegisterRequest(TOKEN.read()))


def registered(frame: bytes) -> w.RegisterResponse:
    answer = codec.decode_edge(frame)
    assert isinstance(answer, w.RegisterResponse)
    return answer


def error_code(frame: bytes) -> str:
    told = codec.decode_edge(frame)
    assert isinstance(told, w.Error)
    return told.code


class Ended(Exception):
    """The edge has ended the link, with this code. None: the carriage has no codes."""

    def __init__(self, code: int | None = None) -> None:
        super().__init__(code)
        self.code = code


class Spoken(Protocol):
    """A link on which a test speaks for a node."""

    async def say(self, frame: bytes) -> None:
        """Send a message, unless the edge reads no more."""

    async def hear(self) -> bytes:
        """The next message. Raises: `Ended`."""


@attrs.frozen
class OnStream:
    """A link without close codes."""

    link: Link

    async def say(self, frame: bytes) -> None:
        with suppress(LinkBroken):
            await self.link.send(frame)

    async def hear(self) -> bytes:
        try:
            return await self.link.receive()
        except (trio.EndOfChannel, LinkBroken):
            raise Ended from None


@attrs.define
class OnWebSocket:
    """A link that wsproto speaks."""

    stream: trio.SocketStream
    wire: WSConnection = attrs.field(factory=lambda: WSConnection(ConnectionType.CLIENT))
    _part: bytes = b""

    async def say(self, frame: bytes | str) -> None:
        with suppress(trio.BrokenResourceError):
            await self.stream.send_all(self.wire.send(ws.Message(data=frame)))

    async def next(self) -> ws.Event:
        while True:
            for event in self.wire.events():
                return event
            try:
                self.wire.receive_data(await self.stream.receive_some() or None)
            except trio.BrokenResourceError:
                raise Ended from None

    async def hear(self) -> bytes:
        while True:
            match await self.next():
                case ws.BytesMessage(data=data, message_finished=whole):
                    self._part += data
                    if whole:
                        message, self._part = bytes(self._part), b""
                        return message
                case ws.CloseConnection(code=code):
                    raise Ended(code)


@asynccontextmanager
async def on_stream(edge: Edge) -> AsyncIterator[OnStream]:
    entry = Entry("north", "raw", "iop", edge.address, False, NorthSettings())
    made = options_of(entry, north_carriage(NorthSettings()))
    async with open_dialer(edge.address, attrs.evolve(made, limit=2 * LARGEST)) as dialer:
        link = await dialer.dial()
        try:
            yield OnStream(link)
        finally:
            await link.close(None)


@asynccontextmanager
async def on_websocket(edge: Edge, path: str = "/iop") -> AsyncIterator[OnWebSocket]:
    host, _, port = edge.address.removeprefix("ws://").partition("/")[0].partition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        spoken = OnWebSocket(stream)
        await stream.send_all(spoken.wire.send(ws.Request(host=host, target=path)))
        answer = await spoken.next()
        if isinstance(answer, ws.RejectConnection):
            raise Ended(answer.status_code)
        assert isinstance(answer, ws.AcceptConnection)
        yield spoken


@attrs.frozen
class Carried:
    """An edge on a carriage without a status, and how a test dials it."""

    edge: Edge
    dial: Callable[[], AbstractAsyncContextManager[Any]]
    has_codes: bool

    async def ended(self, node: Spoken, code: int) -> bool:
        """Whether the link ends next, with this code where the carriage has any."""
        with trio.fail_after(WITHIN), pytest.raises(Ended) as caught:
            await node.hear()
        return caught.value.code == (code if self.has_codes else None)


async def hear(node: Spoken) -> bytes:
    with trio.fail_after(WITHIN):
        return await node.hear()


async def register(node: Spoken) -> None:
    await node.say(REGISTER)
    answer = registered(await hear(node))
    assert (answer.accepted, answer.node_id) == (True, "n1")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private directory with a path short enough for a socket."""
    made = Path(tempfile.mkdtemp(prefix="fg-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture(params=["tcp", "unix", "ws"])
async def carried(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Carried]:
    scheme = request.param
    place = f"unix:{folder}/edge.sock" if scheme == "unix" else f"{scheme}://127.0.0.1:0"
    async with open_edge(place) as edge:
        has_codes = scheme == "ws"
        dial = on_websocket if has_codes else on_stream
        yield Carried(edge, partial(dial, edge), has_codes)


@pytest.mark.parametrize("token", ["wrong", ""])
async def test_a_wrong_token_is_answered_then_1008(carried: Carried, token: str) -> None:
    async with carried.dial() as node:
        await node.say(codec.encode_node(w.RegisterRequest(token)))
        answer = registered(await hear(node))
        assert (answer.accepted, answer.reason) == (False, "the token names no node")
        assert await carried.ended(node, 1008)


@pytest.mark.parametrize(
    "first", [codec.encode_node(w.Heartbeat(1)), b"\xff\xff"], ids=["heartbeat", "garbage"]
)
async def test_what_is_no_register_is_answered_then_1008(carried: Carried, first: bytes) -> None:
    async with carried.dial() as node, carried.dial() as other:
        await node.say(first)
        assert error_code(await hear(node)) == "protocol_violation"
        assert await carried.ended(node, 1008)
        await register(other)


async def test_the_older_link_is_told_then_4002(carried: Carried) -> None:
    async with carried.dial() as older, carried.dial() as newer:
        await register(older)
        await register(newer)
        assert error_code(await hear(older)) == "replaced"
        assert await carried.ended(older, 4002)


async def test_a_shutdown_ends_a_link_in_order_with_1001(carried: Carried) -> None:
    async with trio.open_nursery() as nursery, carried.dial() as node:
        await register(node)
        nursery.start_soon(carried.edge.member.drain)
        assert await carried.ended(node, 1001)


def padded(size: int) -> bytes:
    """A message of so many bytes that an edge has no use for."""
    frame = codec.encode_node(w.Error("x", "y" * size))
    return codec.encode_node(w.Error("x", "y" * (2 * size - len(frame))))


async def test_a_message_of_4_mib_is_taken_and_one_byte_more_ends_the_link_with_1009(
    carried: Carried,
) -> None:
    assert len(padded(LARGEST)) == LARGEST
    async with carried.dial() as node:
        await register(node)
        await node.say(padded(LARGEST))
        (seen,) = carried.edge.member.seen.entries["nodes"].links
        await until(lambda: [what for what, _ in seen.reports] == ["iop_node_error"], WITHIN)
        await node.say(padded(LARGEST + 1))
        if not carried.has_codes:
            assert error_code(await hear(node)) == "resource_exhausted"
        assert await carried.ended(node, 1009)


@pytest.mark.parametrize("live", [True, False], ids=["live", "new"])
@pytest.mark.parametrize(
    ("prefix", "code"),
    [
        (b"\x80\x80\x80\x80\x80\x00", "protocol_violation"),
        (b"\xff\xff\xff\xff\x0f", "resource_exhausted"),
    ],
    ids=["no varint", "4 GiB"],
)
async def test_what_is_no_frame_of_a_stream_is_answered_before_its_end(
    folder: Path, prefix: bytes, code: str, live: bool
) -> None:
    """What is sent behind it is not read, and does not keep the answer from arriving."""
    async with open_edge(f"unix:{folder}/edge.sock") as edge:
        async with await trio.open_unix_socket(f"{folder}/edge.sock") as stream:
            if live:
                await stream.send_all(bytes([len(REGISTER)]) + REGISTER)
                assert await stream.receive_some()
            await stream.send_all(prefix + bytes(4096))
            with trio.fail_after(WITHIN):
                said = b"".join([piece async for piece in stream])
        assert error_code(said[1:]) == code
        async with on_stream(edge) as other:
            await register(other)


async def test_a_text_message_ends_the_link_with_1003() -> None:
    async with open_edge("ws://127.0.0.1:0") as edge, on_websocket(edge) as node:
        await register(node)
        await node.say("text")
        with trio.fail_after(WITHIN), pytest.raises(Ended) as caught:
            await node.hear()
        assert caught.value.code == 1003


async def test_another_path_is_no_edge() -> None:
    async with open_edge("ws://127.0.0.1:0") as edge:
        with pytest.raises(Ended) as caught:
            async with on_websocket(edge, "/other"):
                raise AssertionError("it was let in")
        assert caught.value.code == 404
