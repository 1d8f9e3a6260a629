"""Standing between two peers, over memory, Unix and gRPC."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
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
from fleetgate.protocols.explaining import Speaker, other
from fleetgate.protocols.iop import codec, wire
from fleetgate.transports.api import Handler, Link, LinkBroken, Options, PeerClosed
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


WHERE = "ws://127.0.0.1:0/api/runner/v1/connect"


@asynccontextmanager
async def runner_behind(handler: Handler) -> AsyncGenerator[tuple[Link, list[Line]], None]:
    """A runner's link, through somebody between, to a control plane that is `handler`."""
    adapter = KNOWN["kodelet"]
    far = carried(adapter, entry_of(adapter, "controller", Place(WHERE, True)))
    near = carried(adapter, entry_of(adapter, "worker", Place(WHERE, False)))
    async with (
        between("kodelet", WHERE, WHERE, far, handler) as (address, seen),
        open_dialer(address, near) as dialer,
    ):
        yield await dialer.dial(), seen


@pytest.mark.parametrize("code", [1000, 1001, 4321])
async def test_an_end_keeps_its_code_and_its_words_either_way(code: int) -> None:
    ends: list[tuple[int | None, str]] = []
    heard = trio.Event()

    async def serve(link: Link) -> None:
        frame = await link.receive()
        if frame == b"close":
            await link.close(code, "s3cr3t")
            return
        ends.append(await end_of(link))
        heard.set()

    async with runner_behind(serve) as (link, seen):
        await link.send(b"close")
        assert await end_of(link) == (code, "s3cr3t")
    assert [line["code"] for line in seen if line["event"] == "over"] == [code]
    async with runner_behind(serve) as (link, seen):
        await link.send(b"wait")
        await link.close(code, "s3cr3t")
        await heard.wait()
    assert ends == [(code, "s3cr3t")]
    assert seen[-1]["code"] == code
    assert "s3cr3t" not in str(seen)


async def end_of(link: Link) -> tuple[int | None, str]:
    try:
        await link.receive()
    except (PeerClosed, LinkBroken) as end:
        return end.code, end.reason
    raise AssertionError("a frame came in place of the end")


async def test_text_that_is_no_utf8_goes_through_as_it_is() -> None:
    async with runner_behind(echo) as (link, _seen):
        await link.send(b'{"a":"\xff\xfe"}')
        assert await link.receive() == b'{"a":"\xff\xfe"}'


@pytest.mark.parametrize(
    ("offered", "agreed"), [((), ()), (("rvbox.v1",), ("rvbox.v1",)), (("rvbox.v1",), ())]
)
async def test_a_subprotocol_is_offered_where_it_was_and_agreed_to_by_both(
    offered: tuple[str, ...], agreed: tuple[str, ...]
) -> None:
    shown: list[str | None] = []

    async def serve(link: Link) -> None:
        shown.append(link.opening.headers.get("sec-websocket-protocol"))
        await echo(link)

    adapter, where = KNOWN["rvbox"], "ws://127.0.0.1:0/agent"
    far = carried(adapter, entry_of(adapter, "controller", Place(where, True)))
    near = carried(adapter, entry_of(adapter, "worker", Place(where, False)))
    async with (
        between("rvbox", where, where, attrs.evolve(far, subprotocols=agreed), serve) as (
            address,
            _seen,
        ),
        open_dialer(address, attrs.evolve(near, subprotocols=offered)) as dialer,
    ):
        link = await dialer.dial()
        if offered != agreed:
            assert (await end_of(link))[0] == 1002
        else:
            await link.send(b"x")
            assert await link.receive() == b"x"
    assert shown == [", ".join(offered) or None]


async def test_a_client_that_half_closes_gets_its_answers(tmp_path: Path) -> None:
    """As AgencyProxy's daemon does it: what was asked is answered, and then it closes."""

    async def serve(link: Link) -> None:
        asked = [frame async for frame in link]
        await link.send_some(asked)
        await link.close(1000)

    adapter = KNOWN["agency"]
    here, there = f"unix:{tmp_path}/here", f"unix:{tmp_path}/there"
    far = carried(adapter, entry_of(adapter, "worker", Place(there, True)))
    near = carried(adapter, entry_of(adapter, "controller", Place(here, False)))
    async with (
        between("agency", here, there, far, serve) as (address, seen),
        open_dialer(address, near) as dialer,
    ):
        link = await dialer.dial()
        await link.send_some([HELLO, HELLO])
        assert await link.send_eof()
        assert [frame async for frame in link] == [HELLO, HELLO]
        await link.close(1000)
    assert kinds(seen)[-4:] == [
        ("over", "controller", None),
        ("frame", "worker", "hello"),
        ("frame", "worker", "hello"),
        ("over", "worker", None),
    ]


@asynccontextmanager
async def caller_behind(
    path: str, handler: Handler
) -> AsyncGenerator[tuple[Link, list[Line]], None]:
    """A call through somebody between to an edge that is `handler`."""
    adapter, port = KNOWN["iop"], "grpc://127.0.0.1:0"
    options = carried(adapter, entry_of(adapter, "worker", Place(port, True)))
    async with (
        between("iop", port, port, options, handler) as (address, seen),
        open_dialer(address, dialling(options, path)) as dialer,
    ):
        yield await dialer.dial(), seen


async def test_a_node_that_half_closes_hears_how_the_edge_ends_it() -> None:
    async def serve(link: Link) -> None:
        assert [frame async for frame in link] == [b"", b""]
        await link.send_some([b"", b"", b""])
        await link.close(10, "replaced by another")

    async with caller_behind("/iop.NodeLink/Connect", serve) as (link, _seen):
        await link.send_some([b"", b""])
        assert await link.send_eof()
        for _ in range(3):
            assert await link.receive() == b""
        assert await end_of(link) == (10, "replaced by another")


async def test_a_call_that_is_given_up_is_given_up_behind_it_too() -> None:
    heard = trio.Event()

    async def serve(link: Link) -> None:
        await link.send(codec.encode(wire.RunEvent("r", "start")))
        await link.receive()
        with suppress(trio.EndOfChannel):
            await link.receive()
        await link.wait_over()
        heard.set()

    async with caller_behind(RUN, serve) as (link, _seen):
        await link.send(codec.encode(wire.RunRequest("r")))
        await link.receive()
        await link.close(None)
        await heard.wait()


@pytest.mark.parametrize(
    ("protocol", "side", "where", "path", "junk"),
    [
        ("agency", "controller", "unix:{}/s{}", "", b"\xffs3cr3t"),
        ("kodelet", "worker", "ws://127.0.0.1:0/api/runner/v1/connect", "", b"{s3cr3t"),
        ("iop", "worker", "grpc://127.0.0.1:0", "/iop.NodeLink/Connect", b"\xffs3cr3t"),
    ],
)
async def test_what_cannot_be_read_has_a_line_with_its_size_and_why(
    protocol: str, side: Speaker, where: str, path: str, junk: bytes, tmp_path: Path
) -> None:
    """On each kind of carriage: a frame that is no message, and one that is above the limit."""
    adapter = KNOWN[protocol]
    here, there = where.format(tmp_path, 1), where.format(tmp_path, 2)
    far = carried(adapter, entry_of(adapter, other(side), Place(there, True)))
    near = dialling(carried(adapter, entry_of(adapter, side, Place(here, False))), path)
    long = near.limit + 1
    near = attrs.evolve(near, limit=2 * long)

    async def swallow(link: Link) -> None:
        with suppress(LinkBroken):
            async for _ in link:
                pass

    async with (
        between(protocol, here, there, far, swallow) as (address, seen),
        open_dialer(address, near) as dialer,
    ):
        link = await dialer.dial()
        await link.send(junk)
        with suppress(LinkBroken):
            await link.send(b" " * long)
        while not any(line["event"] == "over" and line["from"] == side for line in seen):
            await trio.lowlevel.checkpoint()
        await link.close(None)
    (frame,) = [line for line in seen if line["event"] == "frame"]
    assert (frame["size"], frame["message"], frame["raw"]) == (len(junk), None, None)
    assert frame["rule"]
    over = next(line for line in seen if line["event"] == "over" and line["from"] == side)
    assert over["broken"]
    assert str(long) in over["rule"]
    assert "s3cr3t" not in str(seen)
