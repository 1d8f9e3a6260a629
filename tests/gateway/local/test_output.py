import os
from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core.events import OutputProduced, Stream
from fleetgate.gateway.local.output import CHUNK, Relay


class Pipe:
    """A pipe, and what a relay reports of it while there is room."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        self.reader = trio.lowlevel.FdStream(reader)
        self.writer = trio.lowlevel.FdStream(writer)
        self.events: list[OutputProduced] = []
        self.room = trio.Event()
        self.room.set()
        self.relay = Relay(self.reader, Stream.STDERR, self.events.append, self._wait_room)

    async def _wait_room(self) -> None:
        await self.room.wait()

    def data(self) -> bytes:
        for event, following in zip(self.events, self.events[1:], strict=False):
            assert following.offset == event.offset + len(event.data)
        return b"".join(event.data for event in self.events)


@pytest.fixture
async def pipe() -> AsyncIterator[Pipe]:
    pipe = Pipe()
    async with pipe.reader, pipe.writer:
        yield pipe


@pytest.mark.limit("gateway/local/output.CHUNK")
async def test_bytes_come_out_as_they_went_in(pipe: Pipe) -> None:
    sent = bytes(range(256)) * 2048
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pipe.relay.run)
        await pipe.writer.send_all(sent)
        await pipe.writer.aclose()
    assert pipe.data() == sent
    assert {event.stream for event in pipe.events} == {Stream.STDERR}
    assert all(0 < len(event.data) <= CHUNK for event in pipe.events)


async def test_it_does_not_wait_for_more_than_there_is(pipe: Pipe) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pipe.relay.run)
        await pipe.writer.send_all(b"prompt> ")
        await wait_all_tasks_blocked()
        assert pipe.data() == b"prompt> "
        nursery.cancel_scope.cancel()


async def test_without_room_the_writer_waits(pipe: Pipe) -> None:
    pipe.room = trio.Event()
    sent = bytes(1 << 20)
    written = trio.Event()

    async def write() -> None:
        await pipe.writer.send_all(sent)
        written.set()
        await pipe.writer.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pipe.relay.run)
        nursery.start_soon(write)
        await wait_all_tasks_blocked()
        assert not written.is_set()
        assert pipe.events == []
        pipe.room.set()
    assert pipe.data() == sent


async def test_held_open_it_stops_at_the_deadline(
    pipe: Pipe, autojump_clock: trio.abc.Clock
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pipe.relay.run)
        await pipe.writer.send_all(b"last words")
        pipe.relay.stop_at(trio.current_time() + 5)
    assert pipe.data() == b"last words"


async def test_what_the_pipe_holds_is_read_however_late(
    pipe: Pipe, autojump_clock: trio.abc.Clock
) -> None:
    pipe.room = trio.Event()
    await pipe.writer.send_all(b"last words")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pipe.relay.run)
        pipe.relay.stop_at(trio.current_time() + 5)
        await trio.sleep(60)  # virtual: the journal was under pressure for a minute
        assert pipe.events == []
        pipe.room.set()
    assert pipe.data() == b"last words"
