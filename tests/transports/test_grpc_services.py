"""Health and reflection, asked by grpclib's own generated messages."""

from __future__ import annotations

import attrs
import pytest
import trio
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpclib.health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpclib.reflection.v1.reflection_pb2 import (
    ServerReflectionRequest,
    ServerReflectionResponse,
)

from fleetgate.transports.api import GrpcMethod, LinkBroken, Options
from fleetgate.transports.grpc_reflection import PATHS
from fleetgate.transports.grpc_services import CHECK, WATCH
from fleetgate.transports.grpc_testing import echo, raw_client, serving, talking
from fleetgate.transports.open import open_dialer, open_listener

FILE = FileDescriptorProto(name="test/talk.proto", package="test")
FILE.service.add(name="Talk")

KINDS = {
    CHECK: GrpcMethod(False, False),
    WATCH: GrpcMethod(False, True),
    **dict.fromkeys(PATHS, GrpcMethod()),
}


def asking(path: str) -> Options:
    options = talking(path)
    assert options.grpc is not None
    return attrs.evolve(options, grpc=attrs.evolve(options.grpc, calls=KINDS))


def check(service: str) -> bytes:
    return HealthCheckRequest(service=service).SerializeToString()


@pytest.mark.parametrize("service", ["", "test.Talk"])
async def test_what_is_served_is_healthy(service: str) -> None:
    async with serving(echo) as url, open_dialer(url, asking(CHECK)) as dialer:
        link = await dialer.dial()
        await link.send(check(service))
        answer = HealthCheckResponse.FromString(await link.receive())
        assert answer.status == HealthCheckResponse.SERVING
        with pytest.raises(trio.EndOfChannel):
            await link.receive()
        await link.close(0)


async def test_what_is_not_served_is_not_found() -> None:
    async with serving(echo) as url, open_dialer(url, asking(CHECK)) as dialer:
        link = await dialer.dial()
        await link.send(check("test.None"))
        with pytest.raises(LinkBroken) as caught:
            await link.receive()
        assert caught.value.code == 5
        await link.close(0)


async def test_health_is_watched_to_the_end() -> None:
    async with open_listener("grpc://127.0.0.1:0", talking()) as listener:
        url = listener.addresses[0]
        async with open_dialer(url, asking(WATCH)) as dialer, trio.open_nursery() as nursery:
            nursery.start_soon(listener.serve, echo)
            link = await dialer.dial()
            await link.send(check("test.Talk"))
            first = HealthCheckResponse.FromString(await link.receive())
            await listener.aclose()
            last = HealthCheckResponse.FromString(await link.receive())
            with pytest.raises(LinkBroken) as caught:
                await link.receive()
            await link.close(0)
    assert (first.status, last.status, caught.value.code) == (1, 2, 14)


async def test_a_watcher_that_goes_is_forgotten() -> None:
    async with open_listener("grpc://127.0.0.1:0", talking()) as listener:
        url = listener.addresses[0]
        async with open_dialer(url, asking(WATCH)) as dialer, trio.open_nursery() as nursery:
            nursery.start_soon(listener.serve, echo)
            link = await dialer.dial()
            await link.send(check("test.None"))
            answer = HealthCheckResponse.FromString(await link.receive())
            assert answer.status == HealthCheckResponse.SERVICE_UNKNOWN
            await link.close(None)
            await listener.aclose()


@pytest.mark.parametrize("path", PATHS)
async def test_reflection(path: str) -> None:
    options = talking(descriptors=(FILE.SerializeToString(),))
    async with serving(echo, options) as url, open_dialer(url, asking(path)) as dialer:
        link = await dialer.dial()
        for question in (
            ServerReflectionRequest(list_services=""),
            ServerReflectionRequest(file_containing_symbol="test.Talk"),
        ):
            await link.send(question.SerializeToString())
        listed = ServerReflectionResponse.FromString(await link.receive())
        assert [each.name for each in listed.list_services_response.service] == ["test.Talk"]
        found = ServerReflectionResponse.FromString(await link.receive())
        assert list(found.file_descriptor_response.file_descriptor_proto) == [
            FILE.SerializeToString()
        ]
        await link.close(0)


async def test_a_question_that_is_no_message() -> None:
    async with serving(echo) as url:
        for path in KINDS:
            async with open_dialer(url, asking(path)) as dialer:
                link = await dialer.dial()
                await link.send(b"\xff")
                with pytest.raises(LinkBroken) as caught:
                    await link.receive()
                assert caught.value.code == 3
                await link.close(0)


async def test_reflection_does_not_hold_up_a_listener_that_is_closed() -> None:
    async with open_listener("grpc://127.0.0.1:0", talking()) as listener:
        url = listener.addresses[0]
        async with open_dialer(url, asking(PATHS[0])) as dialer, trio.open_nursery() as nursery:
            nursery.start_soon(listener.serve, echo)
            link = await dialer.dial()
            await listener.aclose()
            with pytest.raises(LinkBroken) as caught:
                await link.receive()
            assert caught.value.code == 14
            await link.close(0)


async def test_health_is_for_everybody_and_reflection_for_those_who_may_call() -> None:
    options = attrs.evolve(talking(), authorize=lambda opening: 401)
    async with serving(echo, options) as url, raw_client(url) as raw:
        call = raw.request(CHECK)
        raw.h2.send_data(call, b"\0\0\0\0\0", end_stream=True)
        await raw.flush()
        assert (await raw.outcome(call))["grpc-status"] == "0"
        for path in PATHS:
            call = raw.request(path)
            await raw.flush()
            assert (await raw.outcome(call))["grpc-status"] == "16"
