"""Taps on all links of a process."""

from __future__ import annotations

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.render import Line
from fleetgate.transports.memory import memory_link_pair

ENTRY = Entry("south", "hosts", "rvbox", "memory:x", True, None)


async def test_links_and_frames_are_numbered_and_every_sink_is_told() -> None:
    one: list[Line] = []
    two: list[Line] = []
    clock = Clock()
    onlookers = Onlookers(adapters(()), clock, one.append, two.append)
    before = clock()
    for _ in range(2):
        near, far = memory_link_pair()
        link = onlookers.wrap(ENTRY, near)
        await link.send(b"x")
        await far.receive()
        await link.close(1000)
    assert one == two
    kinds = [(line["event"], line["link"], line.get("number")) for line in one]
    assert kinds == [
        ("link", 1, None),
        ("frame", 1, 1),
        ("over", 1, None),
        ("link", 2, None),
        ("frame", 2, 2),
        ("over", 2, None),
    ]
    assert all(before <= line["time"] <= clock() for line in one)
    assert (one[0]["dialler"], one[0]["entry"], one[1]["from"]) == ("worker", "hosts", "controller")
