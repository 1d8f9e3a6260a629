"""Links that keep frames for a while."""

from __future__ import annotations

from collections.abc import Sequence

import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.bench.pairs.dam import MARK, Basin, Dam, mark_of
from fleetgate.transports.memory import memory_link_pair


async def test_a_dam_keeps_what_goes_out_until_it_is_poured() -> None:
    link, peer = memory_link_pair()
    dam = Dam(link)
    await dam.send(b"before")
    dam.shut()
    await dam.send_some([b"1", b"2"])
    await dam.send(b"3")
    assert dam.kept == [b"1", b"2", b"3"]
    assert list(await peer.receive_some()) == [b"before"]
    await dam.pour(2)
    await dam.send(b"behind")
    come: list[bytes] = []
    while len(come) < 4:
        come += await peer.receive_some()
    assert come == [b"1", b"2", b"3", b"behind"]
    assert dam.kept == []


async def test_what_a_dam_gets_meanwhile_it_gives() -> None:
    link, peer = memory_link_pair()
    dam = Dam(link)
    dam.shut()
    await peer.send(b"question")
    assert await dam.receive() == b"question"
    await peer.close(1000)
    await dam.close(1000)


async def test_a_basin_gives_nothing_out_until_each_run_has_ended() -> None:
    link, peer = memory_link_pair()
    basin = Basin(link)
    told: list[str] = []
    given: list[Sequence[bytes]] = []
    basin.fill(2, lambda: told.append("full"))

    async def read() -> None:
        given.append(await basin.receive_some())
        given.append(await basin.receive_some())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        first = [b"text", b"<" + mark_of(1) + b">", b"again " + mark_of(1), b"no mark " + MARK]
        await peer.send_some(first)
        await wait_all_tasks_blocked()
        assert (told, given) == ([], [])
        await peer.send(b"last " + mark_of(0))
        await wait_all_tasks_blocked()
        assert told == ["full"]
        assert given == [[*first, b"last " + mark_of(0)]]
        await peer.send(b"as ever")
    assert list(given[1]) == [b"as ever"]
