from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.transports.grpc_call import Call, either
from fleetgate.transports.grpc_link import GrpcLink


def test_a_link_is_told_all_that_a_call_is_told() -> None:
    assert issubclass(GrpcLink, Call)
    told = {name for name in vars(Call) if name.startswith("on_")}
    heard = {"on_headers", "on_data", "on_end", "on_reset", "on_malformed", "on_lost", "on_room"}
    assert told == heard


async def test_the_first_of_some_events_will_do() -> None:
    one, other = trio.Event(), trio.Event()
    other.set()
    await either(one, other)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(either, one, trio.Event())
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        one.set()
