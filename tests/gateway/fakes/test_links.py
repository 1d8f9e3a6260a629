"""The links of a fake."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.links import FakeLinks
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.render import Line
from fleetgate.transports.api import LinkBroken
from fleetgate.transports.faults import Faults
from fleetgate.transports.memory import MemoryLink, memory_link_pair

KNOWN = adapters(())
ENTRY = Entry("north", "client", "agency", "memory:x", True, None)
ANSWER = b'\0{"kind":"response","request_id":1,"type":"accepted"}'
EVENT = b'\0{"kind":"event","run_id":"r","sequence":1,"event":{"type":"text","payload":"x"}}'


async def taken(far: MemoryLink) -> list[bytes]:
    return [bytes(frame) for frame in await far.receive_some()]


async def test_an_answer_is_lost_and_the_onlooker_sees_what_the_peer_was_sent() -> None:
    seen: list[Line] = []
    links = FakeLinks(0, [Faults(lose_ack=1, duplicate=1)])
    links.onlookers = Onlookers(KNOWN, Clock(), seen.append)
    near, far = memory_link_pair()
    link = links.wrap(KNOWN, ENTRY, near)
    await link.send_some([ANSWER, EVENT])
    assert await taken(far) == [EVENT, EVENT]
    assert [line["name"] for line in seen if line["event"] == "frame"] == ["event.text"] * 2


async def test_each_link_has_faults_of_its_own_and_a_seed_repeats_them_all() -> None:
    async def played(seed: int) -> list[list[bytes]]:
        links = FakeLinks(seed, [Faults(corrupt=0.5)])
        got: list[list[bytes]] = []
        for _ in range(2):
            near, far = memory_link_pair()
            await links.wrap(KNOWN, ENTRY, near).send_some([EVENT] * 8)
            got.append(await taken(far))
        return got

    first = await played(1)
    assert first == await played(1)
    assert first[0] != first[1]
    assert first != await played(2)


async def test_faults_change_on_links_that_are_up_and_on_those_to_come() -> None:
    links = FakeLinks()
    near, far = memory_link_pair()
    link = links.wrap(KNOWN, ENTRY, near)
    await link.send(EVENT)
    links.suffer(Faults(duplicate=1))
    await link.send(EVENT)
    assert await taken(far) == [EVENT] * 3
    other, beyond = memory_link_pair()
    later = links.wrap(KNOWN, ENTRY, other)
    await later.send(EVENT)
    links.suffer()
    await later.send(EVENT)
    assert await taken(beyond) == [EVENT] * 3


async def test_whoever_closes_a_half_open_link_waits_for_the_end(
    autojump_clock: MockClock,
) -> None:
    links = FakeLinks(0, [Faults(half_open=True)])
    near, far = memory_link_pair()
    link = links.wrap(KNOWN, ENTRY, near)
    closed = trio.Event()

    async def close() -> None:
        await link.close(1000)
        closed.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(close)
        with trio.move_on_after(1000):
            await closed.wait()
        assert not closed.is_set()
        await links.release()
    assert closed.is_set()
    with pytest.raises(LinkBroken):
        await far.receive()


async def test_a_link_that_is_mended_is_closed_as_it_was_to_be() -> None:
    links = FakeLinks(0, [Faults(half_open=True)])
    near, far = memory_link_pair()
    link = links.wrap(KNOWN, ENTRY, near)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.close, 1000)
        await trio.testing.wait_all_tasks_blocked()
        links.suffer()
    with pytest.raises(trio.EndOfChannel):
        await far.receive()
