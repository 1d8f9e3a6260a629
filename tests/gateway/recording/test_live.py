"""Links to a live peer for a recording."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.recording.live import Place, carried, dialling, entry_of, open_live
from fleetgate.gateway.recording.reading import End, Frame, Item, LinkUp, Recording
from fleetgate.gateway.recording.replay import Played, Replay
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.explaining import Speaker, Whence
from fleetgate.protocols.iop import codec, wire
from fleetgate.transports.api import DialFailed, DialRefused, GrpcMethod, Link, LinkError, Options
from fleetgate.transports.open import open_dialer, open_listener

KNOWN = adapters(())
UP = LinkUp(1, 0, "agency", "", "", "controller")
NODE, RUN = "/iop.NodeLink/Connect", "/iop.EdgeControl/Run"


def test_a_side_is_played_by_the_entry_that_faces_the_other() -> None:
    place = Place("memory:x", False)
    assert entry_of(KNOWN["agency"], "worker", place).facing == "north"
    assert entry_of(KNOWN["agency"], "controller", place).facing == "south"


def test_every_call_of_either_side_is_carried_and_can_be_dialled() -> None:
    for side in ("worker", "controller"):
        adapter = KNOWN["iop"]
        options = carried(adapter, entry_of(adapter, side, Place("grpc://h:1", False)))
        assert options.grpc is not None
        assert options.grpc.calls[RUN] == GrpcMethod(False, True)
        assert options.grpc.calls[NODE] == GrpcMethod(True, True)
        dialled = dialling(options, RUN).grpc
        assert dialled is not None
        assert dialled.dial == RUN
    assert dialling(Options(), RUN) == Options()


async def test_links_are_dialled_and_live_until_the_end(autojump_clock: MockClock) -> None:
    ended: list[str] = []

    async def peer(link: Link) -> None:
        await link.send(b"hello")
        try:
            await link.receive()
        except (trio.EndOfChannel, LinkError):
            ended.append("it ended")

    async with (
        open_listener("memory:live", Options()) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, peer)
        place = Place("memory:live", False)
        async with open_live(KNOWN["agency"], "controller", place, lambda address: None) as open:
            link = await open(UP)
            assert await link.receive() == b"hello"
            await link.close(1000)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert ended == ["it ended"]


ASKED = codec.encode(wire.CancelRequest("r"))
ANSWERED = codec.encode(wire.CancelResponse(True))
CANCEL = f"{wire.CONTROL}Cancel"


def call() -> Recording:
    """A call of gRPC with one message each way, as it is seen from its server."""
    explainer = KNOWN["iop"].showing.explainer()
    items: list[Item] = [LinkUp(1, 0, "iop", "", CANCEL, "controller")]
    for number, (sender, raw) in enumerate((("controller", ASKED), ("worker", ANSWERED)), 1):
        told = explainer.explain(raw, Whence(sender, CANCEL))  # type: ignore[arg-type]
        items.append(Frame(1, number, 0, sender, told.name, told.body, raw))  # type: ignore[arg-type]
    items.insert(2, End(1, 0, "controller", None, False))
    return Recording("r", 0, {}, (*items, End(1, 0, "worker", 1000, False)))


async def play(side: Speaker, place: Place, bound: Callable[[str], None]) -> Played:
    iop = KNOWN["iop"]
    async with open_live(iop, side, place, bound) as open:
        return await Replay(call(), iop.showing, side, "strict", 0).play(open)


@pytest.mark.parametrize("answer", [ANSWERED, b""])
async def test_a_call_of_grpc_is_played_as_its_client(answer: bytes) -> None:
    async def serve(link: Link) -> None:
        assert await link.receive() == ASKED
        await link.send(answer)
        await link.close(1000)

    iop = KNOWN["iop"]
    options = carried(iop, entry_of(iop, "worker", Place("grpc://127.0.0.1:0", True)))
    async with (
        open_listener("grpc://127.0.0.1:0", options) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, serve)
        place = Place(listener.addresses[0], False)
        verdict = await play("controller", place, lambda address: None)
        nursery.cancel_scope.cancel()
    if answer:
        assert verdict == Played(2)
    else:
        assert verdict.difference is not None
        assert verdict.difference.path == "accepted"


async def test_a_call_of_grpc_is_played_as_its_server() -> None:
    iop = KNOWN["iop"]
    verdicts: list[Played] = []
    bound: list[str] = []
    ready = trio.Event()

    def note(address: str) -> None:
        bound.append(address)
        ready.set()

    async def serve() -> None:
        verdicts.append(await play("worker", Place("grpc://127.0.0.1:0", True), note))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await ready.wait()
        options = carried(iop, entry_of(iop, "controller", Place(bound[0], False)))
        async with open_dialer(bound[0], dialling(options, CANCEL)) as dialer:
            link = await dialer.dial()
            await link.send(ASKED)
            assert await link.receive() == ANSWERED
            with pytest.raises(trio.EndOfChannel):
                await link.receive()
    assert verdicts == [Played(2)]


async def test_a_peer_that_is_not_there_is_an_error_of_the_link() -> None:
    place = Place("memory:nobody", False)
    with pytest.RaisesGroup(
        pytest.RaisesExc((DialFailed, DialRefused)), allow_unwrapped=True, flatten_subgroups=True
    ):
        async with open_live(KNOWN["agency"], "controller", place, lambda address: None) as open:
            await open(UP)


async def test_links_that_come_are_given_out_in_order(autojump_clock: MockClock) -> None:
    bound: list[str] = []
    place = Place("memory:arrivals", True)
    async with open_live(KNOWN["agency"], "worker", place, bound.append) as open:
        assert bound == ["memory:arrivals"]
        async with open_dialer("memory:arrivals", Options()) as dialer:
            one, two = await dialer.dial(), await dialer.dial()
            await one.send(b"one")
            await two.send(b"two")
            assert await (await open(UP)).receive() == b"one"
            assert await (await open(UP)).receive() == b"two"
