"""Both ends ours, and a genuine peer on either end: grpcio, in threads of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import attrs
import grpc
import pytest
import trio
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpclib.health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpclib.reflection.v1.reflection_pb2 import (
    ServerReflectionRequest,
    ServerReflectionResponse,
)

from fleetgate.transports.address import parse_address
from fleetgate.transports.api import (
    DialFailed,
    DialRefused,
    Link,
    LinkBroken,
    ListenFailed,
    Opening,
    Options,
)
from fleetgate.transports.grpc import BACKLOG
from fleetgate.transports.grpc_reflection import PATHS
from fleetgate.transports.grpc_services import CHECK
from fleetgate.transports.grpc_testing import ASK, LISTEN, TALK, TELL, echo, serving, talking
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair

HERE = "grpc://127.0.0.1:0"
SECURE = "grpcs://127.0.0.1:0"
OPTIONS = talking()
SHORT = attrs.evolve(OPTIONS, close_timeout=0.5)
"""Where closing is waited for in vain."""


async def test_it_is_a_link() -> None:
    await check_link(lambda: open_link_pair(HERE, SHORT), LinkTraits())


async def test_it_is_a_link_over_tls(certificates) -> None:
    listening = attrs.evolve(SHORT, tls=certificates.listening(mutual=True))
    dialling = attrs.evolve(SHORT, tls=certificates.dialling(mutual=True))
    await check_link(lambda: open_link_pair(SECURE, listening, dialling), LinkTraits())
    async with open_link_pair(SECURE, listening, dialling) as (near, far):
        assert far.opening.identities[0] == "node-7"
        assert near.opening.identities[0] == "gateway"


async def test_both_ends_know_of_each_other() -> None:
    dialling = attrs.evolve(OPTIONS, headers={"Authorization": "Bearer s3cret", "X-Node": "7"})
    async with open_link_pair(HERE, OPTIONS, dialling) as (near, far):
        there = far.opening
        assert there.path == near.opening.path == TALK
        assert there.headers["authorization"] == "Bearer s3cret"
        assert there.headers["x-node"] == "7"
        assert there.headers["host"] == near.opening.peer
        assert there.peer.startswith("127.0.0.1:")
        assert "s3cret" not in repr(there)


async def test_a_port_that_is_taken() -> None:
    async with open_listener(HERE, OPTIONS) as listener:
        with pytest.raises(ListenFailed, match="cannot listen at"):
            async with open_listener(listener.addresses[0], OPTIONS):
                pass


# --- a genuine client


def target(url: str) -> str:
    return parse_address(url).netloc


async def in_thread(work: Callable[[], Any]) -> Any:
    return await trio.to_thread.run_sync(work)


def failed(call: Callable[[], Any]) -> tuple[int, str]:
    try:
        call()
    except grpc.RpcError as error:
        return error.code().value[0], error.details()  # type: ignore[attr-defined]
    raise AssertionError("the call did not fail")


async def test_a_genuine_client_makes_calls_of_each_kind() -> None:
    async def handler(link: Link) -> None:
        got = [frame async for frame in link]
        many = link.opening.path in (TALK, LISTEN)
        await link.send_some([b"+".join(got)] * (3 if many else 1))
        await link.close(0)

    def work() -> list[Any]:
        with grpc.insecure_channel(target(url)) as channel:
            return [
                channel.unary_unary(ASK)(b"a", timeout=120),
                list(channel.unary_stream(LISTEN)(b"a", timeout=120)),
                channel.stream_unary(TELL)(iter([b"a", b"b"]), timeout=120),
                list(channel.stream_stream(TALK)(iter([b"a", b"b"]), timeout=120)),
            ]

    async with serving(handler) as url:
        assert await in_thread(work) == [b"a", [b"a"] * 3, b"a+b", [b"a+b"] * 3]


async def test_a_genuine_client_talks_over_tls(certificates) -> None:
    seen: list[Opening] = []

    async def handler(link: Link) -> None:
        seen.append(link.opening)
        await echo(link)

    def read(path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def work() -> list[bytes]:
        credentials = grpc.ssl_channel_credentials(
            read(certificates.ca),
            read(certificates.client.key),
            read(certificates.client.certificate),
        )
        big = [bytes([number]) * 100_000 for number in range(40)]
        with grpc.secure_channel(target(url), credentials) as channel:
            talk = channel.stream_stream(TALK)
            answers = talk(iter(big), timeout=120, metadata=[("authorization", "Bearer x")])
            assert list(answers) == big
        return big

    options = attrs.evolve(OPTIONS, tls=certificates.listening(mutual=True))
    async with serving(handler, options) as url:
        await in_thread(work)
    assert seen[0].identities[0] == "node-7"
    assert seen[0].headers["authorization"] == "Bearer x"


async def test_a_genuine_client_hears_how_a_call_ends() -> None:
    async def handler(link: Link) -> None:
        code = int(await link.receive())
        await link.close(code, f"because of {code}: ü")

    def work() -> list[tuple[int, str]]:
        with grpc.insecure_channel(target(url)) as channel:
            ask, none = channel.unary_unary(ASK), channel.unary_unary("/test.Talk/None")
            told = [failed(lambda code=code: ask(b"%d" % code, timeout=120)) for code in (5, 16)]
            told.append(failed(lambda: none(b"", timeout=120)))
            told.append(failed(lambda: ask(bytes(OPTIONS.limit + 1), timeout=120)))
            return told

    async with serving(handler) as url:
        told = await in_thread(work)
    assert told[:2] == [(5, "because of 5: ü"), (16, "because of 16: ü")]
    assert [code for code, _ in told[2:]] == [12, 8]


async def test_a_genuine_client_cancels_and_runs_out_of_time() -> None:
    ends: list[int | None] = []
    gone, over = trio.Event(), threading.Event()

    async def handler(link: Link) -> None:
        await link.send(b"begun")
        try:
            await link.receive()
            await link.receive()
        except LinkBroken as error:
            ends.append(error.code)
        finally:
            if len(ends) == 2:
                gone.set()

    def cancel() -> None:
        with grpc.insecure_channel(target(url)) as channel:
            call = channel.stream_stream(TALK)(iter_until(over), timeout=120)
            assert next(call) == b"begun"
            call.cancel()

    def expire() -> tuple[int, str]:
        with grpc.insecure_channel(target(url)) as channel:
            # Else all of its time may be gone before the server hears of the call.
            grpc.channel_ready_future(channel).result(120)
            call = channel.stream_stream(TALK)(iter_until(over), timeout=1)
            return failed(lambda: list(call))

    async with serving(handler) as url:
        await in_thread(cancel)
        code, _ = await in_thread(expire)
        await gone.wait()
    over.set()
    assert code == 4
    assert ends[0] == 1
    assert ends[1] in (1, 4)  # ours or its own clock, whichever was first


def iter_until(over: threading.Event) -> Iterator[bytes]:
    """A request that does not end by itself."""
    yield b"one"
    over.wait()


async def test_a_genuine_client_asks_what_there_is() -> None:
    file = FileDescriptorProto(name="test/talk.proto", package="test")
    file.service.add(name="Talk")

    def work() -> list[Any]:
        with grpc.insecure_channel(target(url)) as channel:
            check = channel.unary_unary(
                CHECK, HealthCheckRequest.SerializeToString, HealthCheckResponse.FromString
            )
            found: list[Any] = [check(HealthCheckRequest(service="test.Talk"), timeout=120).status]
            for path in PATHS:
                ask = channel.stream_stream(
                    path,
                    ServerReflectionRequest.SerializeToString,
                    ServerReflectionResponse.FromString,
                )
                questions = [
                    ServerReflectionRequest(list_services=""),
                    ServerReflectionRequest(file_containing_symbol="test.Talk"),
                ]
                listed, described = ask(iter(questions), timeout=120)
                found += [each.name for each in listed.list_services_response.service]
                found += described.file_descriptor_response.file_descriptor_proto
        return found

    async with serving(echo, talking(descriptors=(file.SerializeToString(),))) as url:
        found = await in_thread(work)
    assert found == [1, *["test.Talk", file.SerializeToString()] * 2]


# --- a genuine server


class Genuine(grpc.GenericRpcHandler):
    """Echoes; refuses a wrong token; ends with the status that a message names."""

    def service(self, details: Any) -> Any:
        if details.method != TALK:
            return None
        tokens = [value for name, value in details.invocation_metadata if name == "authorization"]
        return grpc.stream_stream_rpc_method_handler(
            self.talk if tokens == ["Bearer right"] else self.refuse
        )

    def refuse(self, requests: Any, context: Any) -> None:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")

    def talk(self, requests: Any, context: Any) -> Iterator[bytes]:
        for request in requests:
            if request == b"abort":
                context.abort(grpc.StatusCode.ABORTED, "replaced")
            yield request


@contextmanager
def genuine_server() -> Iterator[tuple[str, Any]]:
    with ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads, handlers=[Genuine()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"grpc://127.0.0.1:{port}", server
        server.stop(None).wait()


@pytest.fixture
def genuine() -> Iterator[str]:
    with genuine_server() as (url, _server):
        yield url


def to_genuine(token: str = "right") -> Options:
    options = talking(final=frozenset({16}))
    return attrs.evolve(options, headers={"authorization": f"Bearer {token}"})


async def test_a_genuine_server_echoes(genuine: str) -> None:
    frames = [bytes([number % 256]) * (number * 100) for number in range(300)]
    async with open_dialer(genuine, to_genuine()) as dialer:
        link = await dialer.dial()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.send_some, frames)
            got: list[bytes] = []
            while len(got) < len(frames):
                got += await link.receive_some()
        assert got == frames
        await link.close(0)


async def test_a_genuine_server_ends_the_call(genuine: str) -> None:
    async with open_dialer(genuine, to_genuine()) as dialer:
        link = await dialer.dial()
        await link.send_some([b"first", b"abort"])
        assert await link.receive() == b"first"
        with pytest.raises(LinkBroken, match=r"ABORTED \(10\): replaced") as caught:
            await link.receive()
        assert (caught.value.code, caught.value.final) == (10, False)
        await link.close(0)


async def test_a_genuine_server_that_drains_lets_the_call_live() -> None:
    with genuine_server() as (url, server):
        async with open_dialer(url, to_genuine()) as dialer:
            link = await dialer.dial()
            await link.send(b"before")
            assert await link.receive() == b"before"
            stopped = server.stop(30)
            with pytest.raises((DialFailed, DialRefused)):
                await dialer.dial()
            await link.send(b"after")
            assert await link.receive() == b"after"
            await link.close(0)
            await in_thread(stopped.wait)


async def test_a_genuine_server_refuses(genuine: str) -> None:
    """At once, or behind the answer to our first ping, which it does not promise."""

    async def call() -> None:
        link = await dialer.dial()
        try:
            await link.receive()
        finally:
            await link.close(None)

    async with open_dialer(genuine, to_genuine("wrong")) as dialer:
        with pytest.raises((LinkBroken, DialRefused), match="who are you") as caught:
            await call()
    assert isinstance(caught.value, LinkBroken | DialRefused)
    assert caught.value.final


@pytest.mark.limit("transports/grpc.BACKLOG")
async def test_i9_so_many_connections_wait_in_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    opening = trio.open_tcp_listeners

    async def noted(*args: Any, backlog: int, **kwargs: Any) -> Any:
        asked.append(backlog)
        return await opening(*args, backlog=backlog, **kwargs)

    monkeypatch.setattr(trio, "open_tcp_listeners", noted)
    async with open_listener(HERE, OPTIONS):
        assert asked == [BACKLOG]
