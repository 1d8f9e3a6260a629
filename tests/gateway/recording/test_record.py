"""Standing between two peers, over memory, Unix and gRPC."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.recording.live import Place, carried, dialling, entry_of
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.gateway.recording.record import Between
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.render import Line
from fleetgate.protocols.iop import codec, wire
from fleetgate.transports.api import Handler, Link, LinkBroken, Options
from fleetgate.transports.open import open_dialer, open_listener

KNOWN = adapters(())
RUN = f"{wire.CONTROL}Run"
HELLO = b'\0{"requestId":1,"type":"hello","client_name":"c","version":{"major":0,"minor":3}}'


@asynccontextmanager
async def between(
    protocol: str, here: str, there: str, far: Options, handler: Handler
) -> AsyncGenerator[tuple[str, list[Line]], None]:
    """Somebody between a peer that serves `handler` and us; the address to dial."""
    seen: list[Line] = []
    async with open_listener(there, far) as listener, trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, handler)
        middle = Between(
            KNOWN[protocol],
            Onlookers(KNOWN, Clock(), seen.append),
            Place(listener.addresses[0], False),
        )
        bound: list[str] = []
        ready = trio.Event()

        def note(address: str) -> None:
            bound.append(address)
            ready.set()

        nursery.start_soon(middle.serve, Place(here, True), note)
        await ready.wait()
        yield bound[0], seen
        nursery.cancel_scope.cancel()


def kinds(seen: list[Line]) -> list[tuple[str, str | None, str | None]]:
    return [(line["event"], line.get("from"), line.get("name")) for line in seen]


async def echo(link: Link) -> None:
    async for frame in link:
        await link.send(frame)


@pytest.mark.parametrize("carriage", ["memory", "unix"])
async def test_frames_go_both_ways_and_are_seen(carriage: str, tmp_path: Path) -> None:
    where = f"{tmp_path}/" if carriage == "unix" else "between-"
    here, there = (f"{carriage}:{where}{name}" for name in ("here", "there"))
    adapter = KNOWN["agency"]
    far = carried(adapter, entry_of(adapter, "worker", Place(there, True)))
    near = carried(adapter, entry_of(adapter, "controller", Place(here, False)))
    async with (
        between("agency", here, there, far, echo) as (address, seen),
        open_dialer(address, near) as dialer,
    ):
        link = await dialer.dial()
        await link.send(HELLO)
        assert await link.receive() == HELLO
        await link.close(1000)
        while len([line for line in seen if line["event"] == "over"]) < 2:
            await trio.lowlevel.checkpoint()
    assert kinds(seen)[:3] == [
        ("link", None, None),
        ("frame", "controller", "hello"),
        ("frame", "worker", "hello"),
    ]
    assert {(line["from"], line["broken"]) for line in seen if line["event"] == "over"} == {
        ("controller", False),
        ("worker", False),
    }


async def test_a_call_of_grpc_keeps_its_path_its_token_and_its_status() -> None:
    shown: list[str] = []

    async def serve(link: Link) -> None:
        shown.append(link.opening.headers["authorization"])
        assert await link.receive() == codec.encode(wire.RunRequest("r"))
        await link.send(codec.encode(wire.RunEvent("r", "start")))
        await link.close(5, "no such thing")

    adapter = KNOWN["iop"]
    options = carried(adapter, entry_of(adapter, "worker", Place("grpc://127.0.0.1:0", True)))
    client = attrs.evolve(dialling(options, RUN), headers={"authorization": "Bearer s3cr3t"})
    port = "grpc://127.0.0.1:0"
    async with (
        between("iop", port, port, options, serve) as (address, seen),
        open_dialer(address, client) as dialer,
    ):
        link = await dialer.dial()
        await link.send(codec.encode(wire.RunRequest("r")))
        assert codec.decode(wire.RunEvent, await link.receive()).run_id == "r"
        with pytest.raises(LinkBroken) as caught:
            await link.receive()
    assert caught.value.code == 5
    assert shown == ["Bearer s3cr3t"]
    assert [kind for kind in kinds(seen) if kind[0] == "frame"] == [
        ("frame", "controller", "RunRequest"),
        ("frame", "worker", "RunEvent"),
    ]
    assert [line["code"] for line in seen if line["event"] == "over"][-1] == 5
    assert "s3cr3t" not in str(seen)
    assert (seen[0]["path"], seen[0]["dialler"]) == (RUN, "controller")


async def test_a_peer_that_cannot_be_reached_ends_the_link_with_a_word() -> None:
    seen: list[Line] = []
    middle = Between(
        KNOWN["agency"], Onlookers(KNOWN, Clock(), seen.append), Place("memory:nobody", False)
    )
    ready = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(middle.serve, Place("memory:middle", True), lambda _: ready.set())
        await ready.wait()
        async with open_dialer("memory:middle", Options()) as dialer:
            link = await dialer.dial()
            with pytest.raises(LinkBroken) as caught:
                await link.receive()
        nursery.cancel_scope.cancel()
    assert caught.value.code == 1013
    assert seen[-1]["code"] == 1013


async def test_a_websocket_keeps_its_headers_and_its_close_code() -> None:
    shown: list[str] = []

    async def serve(link: Link) -> None:
        shown.append(link.opening.headers["authorization"])
        await link.send(await link.receive())
        await link.close(4001, "enough")

    adapter = KNOWN["kodelet"]
    where = "ws://127.0.0.1:0/api/runner/v1/connect"
    far = carried(adapter, entry_of(adapter, "controller", Place(where, True)))
    near = carried(adapter, entry_of(adapter, "worker", Place(where, False)))
    near = attrs.evolve(near, headers={"authorization": "Bearer s3cr3t"})
    async with (
        between("kodelet", where, where, far, serve) as (address, seen),
        open_dialer(address, near) as dialer,
    ):
        link = await dialer.dial()
        note = b'{"jsonrpc":"2.0","method":"runner.goodbye","params":{}}'
        await link.send(note)
        assert await link.receive() == note
        with pytest.raises(LinkBroken) as caught:
            await link.receive()
    assert caught.value.code == 4001
    assert shown == ["Bearer s3cr3t"]
    assert [line["name"] for line in seen if line["event"] == "frame"] == ["runner.goodbye"] * 2
    assert "s3cr3t" not in str(seen)
