"""What bad input to rvbox's two sides comes to on a real WebSocket, with frames that protobuf and
wsproto alone make: the stated answer and close code, and another link is served."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

import attrs
import pytest
import trio
from wsproto import ConnectionType, WSConnection
from wsproto import events as ws

from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config_entries import Entry, Facing, side_of
from fleetgate.gateway.keeper import Keeper, Surroundings
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenEntry
from fleetgate.schemas.rvbox.v1 import agent_pb2 as agent
from fleetgate.schemas.rvbox.v1 import common_pb2 as common
from fleetgate.transports.api import Link, LinkBroken, Options
from fleetgate.transports.open import open_listener

WITHIN = 120
MIB = 1 << 20
UUID = "3f2b8c1d-5e6a-4b7c-8d9e-0f1a2b3c4d5e"
HASH = bytes(range(32))


class Closed(Exception):
    """The gateway closed the link with this code, or refused the upgrade with this status."""


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


def keeper(hub: Hub, facing: Facing, name: str, address: str) -> tuple[Keeper, SeenEntry]:
    side = side_of(adapters(())["rvbox"], facing)
    entry = Entry(facing, name, "rvbox", address, facing == "south", side.settings())
    seen = SeenEntry()
    around = Surroundings(hub, TrioClock(), "gw", lambda name: f"i-{name}", lambda: 0.0)
    return Keeper(entry, side, around, seen), seen


# --- our server, and a host that a test speaks for


@attrs.define
class Host:
    stream: trio.SocketStream
    wire: WSConnection = attrs.field(factory=lambda: WSConnection(ConnectionType.CLIENT))
    session: tuple[str, int] = ("", 0)

    async def send(self, data: bytes | str) -> None:
        with suppress(trio.BrokenResourceError):  # it may read no more of a message too long
            await self.stream.send_all(self.wire.send(ws.Message(data=data)))

    async def say(self, session: tuple[str, int] | None = None, **payload: Any) -> None:
        id, generation = session or self.session
        made = agent.AgentEnvelope(session_id=id, session_generation=generation, **payload)
        await self.send(made.SerializeToString())

    async def next(self) -> ws.Event:
        while True:
            for event in self.wire.events():
                return event
            self.wire.receive_data(await self.stream.receive_some() or None)

    async def hear(self) -> agent.AgentEnvelope:
        with trio.fail_after(WITHIN):
            event = await self.next()
        if isinstance(event, ws.CloseConnection):
            raise Closed(event.code)
        assert isinstance(event, ws.BytesMessage)
        return agent.AgentEnvelope.FromString(bytes(event.data))

    async def join(self, name: str) -> None:
        """Come to an open session."""
        await self.say(client_hello=hello(client_id=name))
        welcome = await self.hear()
        assert welcome.WhichOneof("payload") == "server_welcome"
        self.session = (welcome.session_id, welcome.session_generation)
        assert (await self.hear()).WhichOneof("payload") == "reconcile_request"
        await self.say(reconcile_snapshot=agent.ReconcileSnapshot())
        assert (await self.hear()).WhichOneof("payload") == "reconcile_result"

    async def ended(self, close: int, error: str = "") -> None:
        """The link ends next, with this close code, behind this error if any."""
        if error:
            said = (await self.hear()).error
            assert said.close_session
            assert said.error.code == common.ControlErrorCode.Value(f"CONTROL_ERROR_CODE_{error}")
        with pytest.raises(Closed) as caught:
            await self.hear()
        assert caught.value.args == (close,)


def hello(**changes: Any) -> agent.ClientHello:
    version = {"major": 1, "minor": 0}
    given: dict[str, Any] = {
        "client_id": "host",
        "supported_protocol": {"minimum": version, "maximum": version},
        "supported_shells": [common.SHELL_TYPE_SH],
        "client_instance_id": "i",
    }
    return agent.ClientHello(**{**given, **changes})


Dial = Callable[..., AbstractAsyncContextManager[Host]]


@pytest.fixture
async def dial(hub: Hub) -> AsyncIterator[Dial]:
    made, seen = keeper(hub, "south", "hosts", "ws://127.0.0.1:0")
    async with trio.open_nursery() as nursery:
        address = await nursery.start(made.run)
        yield partial(on_websocket, address)
        assert [link.faults for link in seen.links if link.faults] == []
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def on_websocket(address: str, path: str = "/agent") -> AsyncIterator[Host]:
    name, _, port = address.removeprefix("ws://").partition("/")[0].partition(":")
    async with await trio.open_tcp_stream(name, int(port)) as stream:
        host = Host(stream)
        await stream.send_all(host.wire.send(ws.Request(host=name, target=path)))
        with trio.fail_after(WITHIN):
            answer = await host.next()
        if isinstance(answer, ws.RejectConnection):
            raise Closed(answer.status_code)
        assert isinstance(answer, ws.AcceptConnection)
        yield host


async def test_a_text_message_is_1003_and_one_above_a_mebibyte_1009(dial: Dial) -> None:
    for message, code in (("text", 1003), (bytes(MIB + 1), 1009)):
        async with dial() as host:
            await host.join("host")
            await host.send(message)
            await host.ended(code)
    async with dial() as other:
        await other.join("host")


async def test_another_path_is_404(dial: Dial) -> None:
    with pytest.raises(Closed, match="404"):
        async with dial("/other"):
            raise AssertionError("it was let in")


@pytest.mark.parametrize("junk", [b"\xff\xff", b"\x0a\x05abc", None], ids=["junk", "cut", "unset"])
async def test_an_undecodable_envelope_or_one_without_payload_is_1002(
    dial: Dial, junk: bytes | None
) -> None:
    async with dial() as host, dial() as other:
        await host.join("host")
        await (host.say() if junk is None else host.send(junk))
        await host.ended(1002, "PROTOCOL_VIOLATION")
        await other.join("other")


BAD_HELLOS = {
    "no id": {"client_id": ""},
    "id of 129": {"client_id": "x" * 129},
    "id with a space": {"client_id": "a b"},
    "id that is no ASCII": {"client_id": "h\xf6st"},
    "no instance": {"client_instance_id": ""},
    "no shell": {"supported_shells": []},
}


@pytest.mark.parametrize("bad", BAD_HELLOS)
async def test_a_bad_hello_is_an_invalid_argument_and_1008(dial: Dial, bad: str) -> None:
    async with dial() as host, dial() as other:
        await host.say(client_hello=hello(**BAD_HELLOS[bad]))
        await host.ended(1008, "INVALID_ARGUMENT")
        await other.join("other")


async def test_an_id_of_128_is_good(dial: Dial) -> None:
    async with dial() as host:
        await host.join("x" * 128)


async def test_another_session_or_generation_is_stale_and_4001(dial: Dial) -> None:
    async with dial() as other:
        for another in (True, False):
            async with dial() as host:
                await host.join("host")
                id, generation = host.session
                session = ("0" * 32, generation) if another else (id, generation + 1)
                await host.say(session, client_capacity=agent.ClientCapacity())
                await host.ended(4001, "STALE_SESSION")
        await other.join("other")


async def test_a_second_hello_is_1002(dial: Dial) -> None:
    async with dial() as host, dial() as other:
        await host.join("host")
        await host.say(client_hello=hello())
        await host.ended(1002, "PROTOCOL_VIOLATION")
        await other.join("other")


async def test_the_newest_link_of_a_client_wins_and_the_older_gets_4002(dial: Dial) -> None:
    async with dial() as older, dial() as newer, dial() as another:
        await older.join("host")
        await newer.join("host")
        assert newer.session[1] == older.session[1] + 1
        await older.ended(4002, "SUPERSEDED")
        await another.say(client_hello=hello(client_instance_id="j"))
        await another.ended(1008, "CLIENT_ID_IN_USE")


# --- our client, and a server that a test speaks for


@attrs.define
class Server:
    """A link that our client has dialled."""

    link: Link
    done: trio.Event = attrs.field(factory=trio.Event)
    client: str = ""

    async def say(self, **payload: Any) -> None:
        made = agent.AgentEnvelope(session_id="s", session_generation=1, **payload)
        await self.link.send(made.SerializeToString())

    async def hear(self, *kinds: str) -> Any:
        """The next message of one of these kinds."""
        with trio.fail_after(WITHIN):
            while True:
                said = agent.AgentEnvelope.FromString(await self.link.receive())
                kind = said.WhichOneof("payload")
                if kind in kinds:
                    return getattr(said, str(kind))

    async def greet(self) -> None:
        self.client = (await self.hear("client_hello")).client_instance_id
        await self.say(
            server_welcome=agent.ServerWelcome(selected_protocol={"major": 1, "minor": 0})
        )
        await self.say(reconcile_request=agent.ReconcileRequest())
        await self.hear("reconcile_snapshot")
        await self.say(reconcile_result=agent.ReconcileResult())

    async def dispatch(self, uuid: str, digest: bytes = HASH, **spec: Any) -> Any:
        await self.say(
            command_dispatch=agent.CommandDispatch(
                issue_uuid=uuid,
                command_revision=1,
                target_session_generation=1,
                immutable_request_sha256=digest,
                spec=spec or {"command_line": "true", "shell": common.SHELL_TYPE_SH},
            )
        )
        return await self.hear("command_accepted")

    async def told(self) -> str:
        code = (await self.hear("error")).error.code
        return common.ControlErrorCode.Name(code).removeprefix("CONTROL_ERROR_CODE_")


@pytest.fixture
async def servers(hub: Hub) -> AsyncIterator[tuple[Server, Server]]:
    """Two servers, each with a client of ours in an open session."""
    send, receive = trio.open_memory_channel[Server](2)

    async def accept(link: Link) -> None:
        server = Server(link)
        await server.greet()
        await send.send(server)
        await server.done.wait()

    options = Options(limit=MIB, path="/agent")
    async with open_listener("ws://127.0.0.1:0", options) as listener, trio.open_nursery() as tasks:
        tasks.start_soon(listener.serve, accept)
        seen: list[SeenEntry] = []
        for name in ("one", "two"):
            made, heard = keeper(hub, "north", name, f"{listener.addresses[0]}/agent")
            seen.append(heard)
            await tasks.start(made.run)
        with trio.fail_after(WITHIN):
            found = [await receive.receive() for _ in seen]
        yield found[0], found[1]
        assert [link.faults for each in seen for link in each.links if link.faults] == []
        tasks.cancel_scope.cancel()


Servers = tuple[Server, Server]


@pytest.mark.parametrize("uuid", ["", "nope", UUID.upper(), UUID.replace("-", ""), f"{{{UUID}}}"])
async def test_a_bad_uuid_is_rejected_and_the_link_goes_on(servers: Servers, uuid: str) -> None:
    server, other = servers
    answer = await server.dispatch(uuid)
    assert not answer.accepted
    assert answer.rejection.code == common.CONTROL_ERROR_CODE_INVALID_ARGUMENT
    assert (await server.dispatch(UUID)).accepted
    assert (await other.dispatch(UUID)).accepted


@pytest.mark.parametrize("length", [0, 31, 33])
async def test_a_hash_of_another_length_is_rejected_and_the_link_goes_on(
    servers: Servers, length: int
) -> None:
    server, other = servers
    answer = await server.dispatch(UUID, bytes(length))
    assert not answer.accepted
    assert answer.rejection.code == common.CONTROL_ERROR_CODE_INVALID_ARGUMENT
    assert (await server.dispatch(UUID)).accepted
    assert (await other.dispatch(UUID)).accepted


async def test_an_ack_beyond_what_was_sent_ends_the_link(servers: Servers) -> None:
    server, other = servers
    assert (await server.dispatch(UUID)).accepted
    await server.say(event_ack=agent.EventAck(issue_uuid=UUID, through_event_seq=99))
    assert await server.told() == "PROTOCOL_VIOLATION"
    with trio.fail_after(WITHIN), pytest.raises((LinkBroken, trio.EndOfChannel)) as caught:
        await server.link.receive()
    assert getattr(caught.value, "code", None) in (1002, None)
    assert (await other.dispatch(UUID)).accepted


def chunk(offset: int, data: bytes, digest: bytes | None = None) -> agent.ScriptChunk:
    right = hashlib.sha256(data).digest()
    return agent.ScriptChunk(issue_uuid=UUID, offset=offset, data=data, sha256=digest or right)


async def test_script_chunks_out_of_order_or_with_wrong_sums_are_said_and_repeated(
    servers: Servers,
) -> None:
    server, other = servers
    script = b"exit 0\n"
    whole = hashlib.sha256(script).digest()
    reference = {"size_bytes": len(script), "sha256": whole}
    accepted = await server.dispatch(UUID, script=reference, shell=common.SHELL_TYPE_SH)
    assert accepted.accepted
    await server.say(script_chunk=chunk(3, script[3:]))
    assert await server.told() == "OUT_OF_ORDER"
    await server.say(script_chunk=chunk(0, script[:3], HASH))
    assert await server.told() == "CHECKSUM_MISMATCH"
    await server.say(script_chunk=chunk(0, script[:3]))
    commit = agent.ScriptCommit(issue_uuid=UUID, size_bytes=len(script), sha256=whole)
    await server.say(script_commit=commit)
    assert await server.told() == "CHECKSUM_MISMATCH"
    await server.say(script_chunk=chunk(0, script))
    await server.say(script_commit=commit)
    queued = common.COMMAND_LIFECYCLE_QUEUED
    while (await server.hear("command_event")).lifecycle.lifecycle != queued:
        pass
    assert (await other.dispatch(UUID)).accepted
