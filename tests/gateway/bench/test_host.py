"""The load host: it speaks as a real one does, and emits what it is asked to."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.bench.host import LoadHost, task_of
from fleetgate.gateway.bench.speech import PLAIN_SESSION
from fleetgate.gateway.bench.task import BenchFailed, Task
from fleetgate.gateway.bench.window import WINDOW
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec import decode, encode
from fleetgate.transports.api import Link
from fleetgate.transports.memory import memory_link_pair


def dispatch(task: Task) -> bytes:
    spec = w.ExecutionSpec(program=w.Argv(("emit", str(task))))
    return encode(w.Envelope(*PLAIN_SESSION, w.CommandDispatch("uuid", 1, spec=spec)))


async def read_events(link: Link, *, acknowledge: bool) -> list[w.CommandEvent]:
    events: list[w.CommandEvent] = []
    while not events or not isinstance(events[-1].event, w.CommandExit):
        for frame in await link.receive_some():
            payload = decode(frame).payload
            assert isinstance(payload, w.CommandEvent)
            events.append(payload)
        if acknowledge:
            ack = w.EventAck("uuid", events[-1].event_seq)
            await link.send(encode(w.Envelope(*PLAIN_SESSION, ack)))
    return events


@pytest.mark.parametrize("rate", [0, 1_000_000])
async def test_it_emits_as_many_bodies_as_the_task_says_and_then_the_exit(rate: int) -> None:
    ours, theirs = memory_link_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(LoadHost(theirs, plain=True).run)
        await ours.send(dispatch(Task(64, 1e6, rate, events=3000)))
        events = await read_events(ours, acknowledge=True)
        await ours.aclose()
    assert [event.event_seq for event in events] == list(range(1, 3003))
    assert all(isinstance(event.event, w.OutputChunk) for event in events[1:-1])


async def test_I9_it_waits_where_nothing_is_acknowledged() -> None:
    ours, theirs = memory_link_pair(buffer=2 * WINDOW)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(LoadHost(theirs, plain=True).run)
        await ours.send(dispatch(Task(64, 1e6, events=2 * WINDOW)))
        await wait_all_tasks_blocked()
        assert len(await ours.receive_some()) == WINDOW
        nursery.cancel_scope.cancel()


async def test_what_it_does_not_expect_ends_it() -> None:
    ours, theirs = memory_link_pair()
    await ours.send(encode(w.Envelope(*PLAIN_SESSION, w.EventAck("uuid", 1))))
    with pytest.raises(BenchFailed, match="expected CommandDispatch; EventAck came"):
        await LoadHost(theirs, plain=True).run()


@pytest.mark.parametrize("program", [None, "emit 64", w.Argv(), w.Argv(("emit", "everything"))])
def test_a_dispatch_of_no_task_is_refused(program: str | w.Argv | None) -> None:
    spec = w.ExecutionSpec(program=program)
    with pytest.raises(BenchFailed, match=r"expected a dispatch|no task"):
        task_of(w.CommandDispatch("uuid", 1, spec=spec))
