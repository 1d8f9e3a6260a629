"""Keeping one entry going."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import attrs
import pytest
import trio
from h2.events import ConnectionTerminated, StreamEnded
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import Recorded
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    LINK,
    HandWorker,
    TrioClock,
    hub_on,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config_entries import Entry, Facing, Grant, Secret
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.keeper import Keeper, Surroundings
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import PlainConnection, PlainSettings, SeenEntry, plain_adapter
from fleetgate.gateway.tokens import Tokens
from fleetgate.protocols import api
from fleetgate.protocols.api import Steps
from fleetgate.transports.api import DialRefused, Link, LinkError, Options
from fleetgate.transports.grpc_testing import prefixed, raw_client
from fleetgate.transports.open import open_dialer, open_listener
from fleetgate.transports.tap import Crossed, Frames, TappedLink

OPTIONS = Options("varint", 1 << 16)
LISTENER = Entry("north", "gui", "plain", "memory:gui", True, PlainSettings())
DIALER = attrs.evolve(LISTENER, name="edge", address="memory:edge", listens=False)


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


def make_keeper(hub: Hub, entry: Entry) -> tuple[Keeper, SeenEntry]:
    seen = SeenEntry()
    around = Surroundings(hub, TrioClock(), "gw", lambda name: f"id-of-{name}", lambda: 1.0)
    return Keeper(entry, plain_adapter().northbound, around, seen), seen


async def dial(address: str, **headers: str) -> Link:
    async with open_dialer(address, attrs.evolve(OPTIONS, headers=headers)) as dialer:
        return await dialer.dial()


async def test_a_listener_drives_each_link_that_comes(hub: Hub) -> None:
    keeper, seen = make_keeper(hub, LISTENER)
    async with trio.open_nursery() as nursery:
        assert await nursery.start(keeper.run) == "memory:gui"
        one, two = await dial("memory:gui"), await dial("memory:gui")
        for link in (one, two):
            assert await link.receive() == b"hello gui id-of-gui ()"
        assert len(keeper.drivers) == 2
        await one.send(b"end")
        with pytest.raises((trio.EndOfChannel, LinkError)):
            await one.receive()
        await two.send(b"x")
        assert await two.receive() == b"x"
        assert len(keeper.drivers) == 1
        nursery.cancel_scope.cancel()
    assert seen.named("listening") == ["memory:gui"]
    assert seen.named("down")[0] == "end"
    assert not keeper.drivers


async def test_fault_11_draining_tells_every_peer_and_those_that_come_later(hub: Hub) -> None:
    keeper, _ = make_keeper(hub, LISTENER)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        links = [await dial("memory:gui") for _ in range(5)]
        for link in links:
            await link.receive()
        await keeper.drain()
        for link in links:
            assert await link.receive() == b"bye"
            with pytest.raises((trio.EndOfChannel, LinkError)):
                await link.receive()
        late = await dial("memory:gui")
        with pytest.raises((trio.EndOfChannel, LinkError)):
            await late.receive()
        nursery.cancel_scope.cancel()


CALLS = ("WatchNodes", "Cancel")


async def test_fault_11_a_grpc_peer_hears_of_a_drain_before_its_calls_end(hub: Hub) -> None:
    """GOAWAY first: a client takes its next call elsewhere, and none of them to a server that
    only refuses it."""
    side = adapters(())["iop"].northbound
    entry = Entry("north", "control", "iop", "grpc://127.0.0.1:0", True, side.settings())
    around = Surroundings(hub, TrioClock(), "gw", lambda name: f"id-of-{name}", lambda: 1.0)
    keeper = Keeper(entry, side, around, SeenEntry())
    async with trio.open_nursery() as nursery:
        address = await nursery.start(keeper.run)
        async with raw_client(address) as raw, raw_client(address) as idle:
            watch, cancel = (raw.request(f"/iop.EdgeControl/{name}") for name in CALLS)
            for call in (watch, cancel):
                raw.h2.send_data(call, prefixed(b""), end_stream=True)
            await raw.flush()
            await raw.outcome(cancel)  # so the one before it was taken up
            raw.seen.clear()
            await keeper.drain()
            await idle.until(ConnectionTerminated)
            await idle.ended()
            await raw.ended()
            told = [type(event) for event in raw.seen]
            assert told.index(ConnectionTerminated) < told.index(StreamEnded)
        with pytest.raises(OSError, match="connect"):
            async with raw_client(address):
                pass
        nursery.cancel_scope.cancel()


async def test_whoever_drains_an_entry_that_is_being_drained_ends_with_it(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(self: Driver) -> None: ...

    monkeypatch.setattr(Driver, "drain", lambda self: None)
    monkeypatch.setattr(Driver, "finish", at_once)
    keeper, _ = make_keeper(hub, LISTENER)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        link = await dial("memory:gui")
        await link.receive()
        async with trio.open_nursery() as draining:
            for _ in range(2):
                draining.start_soon(keeper.drain)
                await wait_all_tasks_blocked()
            await link.send(b"end")
        nursery.cancel_scope.cancel()


async def test_an_entry_that_its_controller_stops_closes_its_listener(hub: Hub) -> None:
    keeper, _ = make_keeper(hub, LISTENER)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        await hub.submit(c.StopLink("gui", c.StopMode.DRAIN))
        await wait_all_tasks_blocked()
        assert not nursery.child_tasks
        with pytest.raises(LinkError):
            await dial("memory:gui")


class Watching(PlainConnection):
    """Follows the run that a frame names, and sends what each of its events is."""

    def receive(self, frame: bytes, now: int) -> Steps:
        return (api.Send(b"watching"), api.Follow(RunId(frame.decode()), Seq(0)))

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        return tuple(api.Send(type(each.event).__name__.encode()) for each in batch)


async def test_I5_whoever_watches_an_entry_that_is_stopped_sees_its_last_run_end(hub: Hub) -> None:
    around = Surroundings(hub, TrioClock(), "gw", lambda name: f"id-of-{name}", lambda: 1.0)
    side = plain_adapter(make=Watching).northbound
    entry = attrs.evolve(LISTENER, name=LINK)
    keeper = Keeper(entry, side, around, SeenEntry())
    worker = HandWorker(hub, worker_info())
    await worker.join()
    run = await started(hub)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        link = await dial("memory:gui")
        await link.receive()
        await link.send(run.encode())
        assert await link.receive() == b"watching"
        assert await link.receive() == b"RunAssigned"
        await hub.submit(c.StopLink(LINK, c.StopMode.DRAIN))
        await wait_all_tasks_blocked()
        worker.record(run, e.TextProduced("last words"), DONE)
        rest = [await link.receive() for _ in range(3)]
        with pytest.raises((trio.EndOfChannel, LinkError)):
            await link.receive()
    assert rest == [b"TextProduced", b"RunFinished", b"bye"]


async def test_fault_24_a_dialler_comes_again_after_a_growing_wait_and_not_where_it_is_hopeless(
    hub: Hub, autojump_clock: MockClock
) -> None:
    keeper, seen = make_keeper(hub, DIALER)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        await trio.sleep(10)
        assert seen.named("retrying") == [1, 2, 4, 8]
        async with open_listener("memory:edge", OPTIONS) as listener:

            async def refuse_then_end(link: Link) -> None:
                await link.receive()
                await link.send(b"fail" if len(seen.links) == 1 else b"end")
                await trio.sleep(1)

            nursery.start_soon(listener.serve, refuse_then_end)
            await trio.sleep(100)
            assert len(seen.links) == 2
            assert seen.named("gave_up") == ["end"]
            nursery.cancel_scope.cancel()


async def test_fault_16_a_token_that_is_missing_is_looked_for_again(
    hub: Hub, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("T", raising=False)
    keeper, seen = make_keeper(hub, attrs.evolve(DIALER, token=Secret(env="T")))
    async with trio.open_nursery() as nursery, open_listener("memory:edge", OPTIONS) as listener:

        async def hold(link: Link) -> None:
            await trio.sleep_forever()

        nursery.start_soon(listener.serve, hold)
        await nursery.start(keeper.run)
        await trio.sleep(2)
        assert not seen.links
        monkeypatch.setenv("T", "now")
        await trio.sleep(30)
        assert len(seen.links) == 1
        nursery.cancel_scope.cancel()


async def test_a_listener_with_tokens_demands_an_identity(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T", "secret")
    entry = attrs.evolve(LISTENER, tokens=(Grant(Secret(env="T"), "host-1"),))
    keeper, _ = make_keeper(hub, entry)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        with pytest.raises(DialRefused, match="401"):
            await dial("memory:gui", authorization="Bearer wrong")
        link = await dial("memory:gui", authorization="Bearer secret")
        assert await link.receive() == b"hello gui id-of-gui ('host-1',)"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("in_band", "greeting"), [(True, b"hello gui id-of-gui ()"), (False, None)]
)
async def test_fault_16_who_was_let_in_and_cannot_be_judged_again_is_nobody(
    in_band: bool, greeting: bytes | None, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its token was changed meanwhile, and a flood of wrong ones is here."""
    judged = [] if in_band else ["host-1"]

    def whose(tokens: Tokens, token: str) -> str | None:
        if judged:
            return judged.pop()
        raise Unavailable("try again")

    monkeypatch.setattr(Tokens, "whose", whose)
    side = plain_adapter().northbound
    carriage = attrs.evolve(side.carriage(PlainSettings()), in_band=in_band)
    side = attrs.evolve(side, carriage=lambda _: carriage)
    entry = attrs.evolve(LISTENER, tokens=(Grant(Secret(env="T"), "host-1"),))
    around, seen = Surroundings(hub, TrioClock(), "gw", "id-of-{}".format, lambda: 1.0), SeenEntry()
    keeper = Keeper(entry, side, around, seen)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        link = await dial("memory:gui", authorization="Bearer secret")
        if greeting is None:
            with pytest.raises((trio.EndOfChannel, LinkError)):
                await link.receive()
            assert seen.named("down") == ["try again"]
        else:
            assert await link.receive() == greeting
        nursery.cancel_scope.cancel()
    assert not any(link.faults for link in seen.links)


async def test_I11_an_adapter_that_cannot_be_made_ends_its_links_only(
    hub: Hub, autojump_clock: MockClock
) -> None:
    def refuse(settings: PlainSettings) -> PlainConnection:
        raise ValueError("a mistake of ours")

    seen = SeenEntry()
    around = Surroundings(hub, TrioClock(), "gw", lambda name: "id", lambda: 1.0)
    keeper = Keeper(DIALER, plain_adapter(make=refuse).northbound, around, seen)
    async with trio.open_nursery() as nursery, open_listener("memory:edge", OPTIONS) as listener:

        async def hold(link: Link) -> None:
            await trio.sleep_forever()

        nursery.start_soon(listener.serve, hold)
        await nursery.start(keeper.run)
        await trio.sleep(10)
        assert len(seen.links) > 1
        assert all(len(link.faults) == 1 for link in seen.links)
        nursery.cancel_scope.cancel()


async def _send_for_ever(link: Link) -> None:
    while True:
        await link.send(b"x" * 60_000)


async def test_a_frame_has_the_time_that_its_protocol_gives_it(
    hub: Hub, autojump_clock: MockClock
) -> None:
    side = plain_adapter().northbound
    carriage = attrs.evolve(side.carriage(PlainSettings()), write_within=10.0)
    side = attrs.evolve(side, carriage=lambda _: carriage)
    around, seen = Surroundings(hub, TrioClock(), "gw", lambda name: "id", lambda: 1.0), SeenEntry()
    keeper = Keeper(LISTENER, side, around, seen)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        link = await dial("memory:gui")
        start = trio.current_time()
        with pytest.raises(LinkError):
            await _send_for_ever(link)  # whoever reads nothing is written to until there is no room
        assert trio.current_time() - start < 20
        nursery.cancel_scope.cancel()
    assert seen.named("down") == ["the peer took nothing for 10 s"]


async def test_I11_a_link_whose_opening_cannot_be_told_is_closed(
    hub: Hub, autojump_clock: MockClock
) -> None:
    names: dict[str, str] = {}
    seen = SeenEntry()
    around = Surroundings(hub, TrioClock(), "gw", names.__getitem__, lambda: 1.0)
    keeper = Keeper(DIALER, plain_adapter().northbound, around, seen)
    ends: list[Exception] = []
    async with trio.open_nursery() as nursery, open_listener("memory:edge", OPTIONS) as listener:

        async def read(link: Link) -> None:
            with pytest.raises(LinkError) as caught:
                await link.receive()
            ends.append(caught.value)

        nursery.start_soon(listener.serve, read)
        await nursery.start(keeper.run)
        await trio.sleep(2)
        assert len(seen.links) == len(ends) == 2
        assert all(len(link.faults) == 1 for link in seen.links)
        nursery.cancel_scope.cancel()


async def test_fault_24_a_link_that_dies_at_once_does_not_start_the_backoff_anew(
    hub: Hub, autojump_clock: MockClock
) -> None:
    keeper, seen = make_keeper(hub, DIALER)
    async with trio.open_nursery() as nursery, open_listener("memory:edge", OPTIONS) as listener:
        lives = iter([0, 0, 0, 40, 0])

        async def serve(link: Link) -> None:
            await trio.sleep(next(lives, 1000))
            await link.close(None)

        nursery.start_soon(listener.serve, serve)
        await nursery.start(keeper.run)
        await trio.sleep(200)
        assert seen.named("retrying") == [1, 2, 4, 1, 2]
        nursery.cancel_scope.cancel()


async def test_a_dialler_whose_controller_stops_it_dials_no_more(
    hub: Hub, autojump_clock: MockClock
) -> None:
    keeper, seen = make_keeper(hub, DIALER)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        await trio.sleep(2)
        await hub.submit(c.StopLink("edge", c.StopMode.DRAIN))
        await trio.sleep(1)
        assert not nursery.child_tasks
    assert seen.named("retrying")


async def test_case_5_a_registration_starts_the_backoff_anew(
    hub: Hub, autojump_clock: MockClock
) -> None:
    side = adapters(())["kodelet"].northbound
    settings = side.settings(retry_first=0.01, retry_cap=0.02)
    entry = Entry("north", "cp", "kodelet", "memory:cp", False, settings)
    seen = SeenEntry()
    around = Surroundings(hub, TrioClock(), "gw", lambda name: f"id-of-{name}", lambda: 0.5)
    keeper = Keeper(entry, side, around, seen)
    registered = b'{"runnerId":"R","generation":1}'
    options = Options("", 1 << 16, subprotocols=("kodelet.runner.v1.jsonrpc",))

    async def register_then_drop(link: Link) -> None:
        assert b"runner.register" in await link.receive()
        await link.send(b'{"jsonrpc":"2.0","id":"runner:1","result":%s}' % registered)
        assert b"runner.heartbeat" in await link.receive()
        await link.close(None)

    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        await trio.sleep(0.02)  # the second dial has failed too
        async with open_listener("memory:cp", options) as listener:
            nursery.start_soon(listener.serve, register_then_drop)
            await trio.sleep(0.035)
            nursery.cancel_scope.cancel()
    assert seen.named("retrying")[:4] == [0.01, 0.02, 0.01, 0.01]


@pytest.mark.parametrize("listens", [True, False])
async def test_what_is_put_around_a_link_sees_its_frames(
    hub: Hub, listens: bool, autojump_clock: MockClock
) -> None:
    told = Frames()
    around = Surroundings(
        hub,
        TrioClock(),
        "gw",
        lambda name: f"id-of-{name}",
        lambda: 1.0,
        wrap=lambda entry, link: TappedLink(link, told),
    )
    entry = attrs.evolve(LISTENER if listens else DIALER, address="memory:wrapped")
    keeper = Keeper(entry, plain_adapter().northbound, around, SeenEntry())

    async def talk(link: Link) -> None:
        await link.send(b"over there")
        await trio.sleep(1)
        await link.close(None)

    async with trio.open_nursery() as nursery:
        if listens:
            await nursery.start(keeper.run)
            await talk(await dial("memory:wrapped"))
        else:
            async with open_listener("memory:wrapped", OPTIONS) as listener:
                nursery.start_soon(listener.serve, talk)
                await nursery.start(keeper.run)
                await trio.sleep(2)
        nursery.cancel_scope.cancel()
    assert ("in", b"over there") in [
        (each.way, each.frame) for each in told if isinstance(each, Crossed)
    ]


@pytest.mark.parametrize("facing", ["north", "south"])
@pytest.mark.parametrize("listens", [True, False])
async def test_what_faces_workers_waits_for_no_controller_that_stops_it(
    facing: Facing, listens: bool, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every end of a run all that wait are woken: a fleet of daemons is as many entries."""
    asked: list[str] = []

    async def wait_stopped(link: str) -> None:
        asked.append(link)
        await trio.sleep_forever()

    monkeypatch.setattr(hub, "wait_stopped", wait_stopped)
    keeper, _ = make_keeper(hub, attrs.evolve(LISTENER, facing=facing, listens=listens))
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        await wait_all_tasks_blocked()
        assert asked == (["gui"] if facing == "north" else [])
        nursery.cancel_scope.cancel()
