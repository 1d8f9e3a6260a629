"""Whether a link is read."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.gateway.gate import Gate
from fleetgate.gateway.outbox import HIGH_FRAMES, Outbox


class Asking:
    """As many questions as the test says."""

    def __init__(self) -> None:
        self.full = False
        self.answered = trio.Event()

    async def wait_answer(self) -> None:
        await self.answered.wait()


async def passes(gate: Gate) -> bool:
    with trio.move_on_after(1):
        await gate.wait()
        return True
    return False


async def test_a_pause_shuts_it_and_may_be_repeated(autojump_clock: MockClock) -> None:
    gate = Gate(Outbox(), Asking())
    assert await passes(gate)
    gate.pause()
    gate.pause()
    assert not gate.open
    assert not await passes(gate)
    gate.resume()
    assert await passes(gate)


async def test_it_is_shut_while_there_is_no_room(autojump_clock: MockClock) -> None:
    outbox, asking = Outbox(), Asking()
    gate = Gate(outbox, asking)
    for _ in range(HIGH_FRAMES):
        outbox.put(b"x")
    assert not await passes(gate)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.wait)
        await wait_all_tasks_blocked()
        await outbox.take()
        outbox.sent()
    asking.full = True
    assert not await passes(gate)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.wait)
        await wait_all_tasks_blocked()
        asking.full = False
        asking.answered.set()
    assert gate.open
