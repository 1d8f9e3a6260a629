"""The bare end against a bare end: what it says of itself is so."""

from __future__ import annotations

import pytest
import trio
from h2.events import DataReceived, RequestReceived
from trio.testing import memory_stream_pair

from fleetgate.transports.grpc_messages import prefixed as ours
from fleetgate.transports.grpc_testing import (
    TALK,
    RawHttp2,
    echo,
    prefixed,
    raw_client,
    serving,
    talking,
)


async def ends() -> tuple[RawHttp2, RawHttp2]:
    near, far = memory_stream_pair()
    client, server = RawHttp2(near), RawHttp2(far, client=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.start)
        nursery.start_soon(server.start)
    return client, server


async def test_a_call_between_two_bare_ends() -> None:
    client, server = await ends()
    call = client.request(TALK, {"x-more": "1"})
    client.h2.send_data(call, b"data")
    await client.flush()
    asked = await server.until(RequestReceived)
    assert ("x-more", "1") in [(str(name), str(value)) for name, value in asked.headers]
    assert (await server.until(DataReceived, call)).data == b"data"
    server.h2.send_headers(call, [(":status", "200"), ("grpc-status", "5")], end_stream=True)
    await server.flush()
    assert (await client.outcome(call))["grpc-status"] == "5"
    cut = client.request(TALK)
    await client.flush()
    await server.until(RequestReceived)
    server.h2.reset_stream(cut, 8)
    await server.flush()
    assert await client.outcome(cut) == {"reset": "8"}
    await server.stream.aclose()
    await client.ended()
    for wait in (client.until(DataReceived), client.outcome(99)):
        with pytest.raises(AssertionError, match="the stream ended"):
            await wait


async def test_a_listener_that_echoes() -> None:
    async with serving(echo) as url, raw_client(url) as raw:
        call = raw.request(TALK)
        raw.h2.send_data(call, prefixed(b"hello"), end_stream=True)
        await raw.flush()
        assert (await raw.until(DataReceived, call)).data == prefixed(b"hello")
        assert (await raw.outcome(call))["grpc-status"] == "0"


def test_prefixes() -> None:
    assert prefixed(b"abc") == ours(b"abc") == b"\0\0\0\0\x03abc"
    assert prefixed(b"", 1) == b"\x01\0\0\0\0"
    assert talking("/a.B/C", ping_every=None).grpc is not None
