"""Links to a live peer for a recording."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.recording.live import Place, carried, dialling, entry_of, open_live
from fleetgate.gateway.recording.reading import LinkUp
from fleetgate.gateway.registry import adapters
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
