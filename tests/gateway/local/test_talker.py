"""A program is read all the time, whoever listens."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.events import OutputProduced, Stream
from fleetgate.gateway.local.launch import Launch
from fleetgate.gateway.local.process import spawn
from fleetgate.gateway.local.talker import Talker, wait_any


class Ear:
    """A listener that remembers."""

    def __init__(self, full_after: int = 0) -> None:
        self.full_after = full_after
        self.heard: list[OutputProduced] = []
        self.room = trio.Event()
        self.room.set()
        self._news = trio.Event()

    def hear(self, event: OutputProduced) -> None:
        self.heard.append(event)
        if len(self.heard) == self.full_after:
            self.room = trio.Event()
        self._news.set()
        self._news = trio.Event()

    async def wait_room(self) -> None:
        await trio.lowlevel.checkpoint()
        await self.room.wait()

    async def until(self, wanted: bytes) -> None:
        while wanted not in self.data():
            await self._news.wait()

    def data(self, stream: Stream = Stream.STDOUT) -> bytes:
        return b"".join(event.data for event in self.heard if event.stream is stream)


Talking = Callable[[str], AbstractAsyncContextManager[Talker]]


@pytest.fixture
def talking(tmp_path: Path) -> Talking:
    @asynccontextmanager
    async def open_talker(script: str) -> AsyncIterator[Talker]:
        argv = ("sh", "-c", script)
        talker = Talker(await spawn(Launch(argv, str(tmp_path), os.environ, True, False)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talker.run)
            yield talker
            nursery.cancel_scope.cancel()
        assert talker.ended.is_set()

    return open_talker


async def test_it_is_heard_to_its_end(talking: Talking) -> None:
    async with talking("echo out; echo err >&2; exit 3") as talker:
        ear = talker.listener = Ear()
        await talker.ended.wait()
        assert talker.code == 3
        assert (ear.data(), ear.data(Stream.STDERR)) == (b"out\n", b"err\n")


async def test_what_nobody_listens_to_is_dropped_and_holds_up_nothing(
    talking: Talking, bell
) -> None:
    script = "head -c 1000000 /dev/zero; echo > bell; read line; echo heard $line"
    async with talking(script) as talker:
        await bell.rung()
        ear = talker.listener = Ear()
        assert await talker.write(b"me\n")
        await talker.ended.wait()
    assert ear.data() == b"heard me\n"


async def test_a_listener_without_room_stops_the_reading(talking: Talking) -> None:
    async with talking("read go; yes | head -c 1000000; echo end") as talker:
        ear = talker.listener = Ear(full_after=1)
        await talker.write(b"\n")
        await ear.until(b"y")
        await wait_all_tasks_blocked()
        assert len(ear.data()) <= 64 * 1024
        ear.room.set()
        await talker.ended.wait()
        assert len(ear.data()) == 1_000_004


async def test_silence_is_counted_from_the_last_word(
    talking: Talking, mock_clock: MockClock
) -> None:
    async with talking("read a; echo $a; read a") as talker, trio.open_nursery() as nursery:
        ear = talker.listener = Ear()
        silent = trio.Event()

        async def wait() -> None:
            await talker.wait_silent(10)
            silent.set()

        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        mock_clock.jump(9)
        await talker.write(b"word\n")
        await ear.until(b"word\n")
        await wait_all_tasks_blocked()
        mock_clock.jump(9)
        await wait_all_tasks_blocked()
        assert not silent.is_set()
        mock_clock.jump(1)
        await silent.wait()


async def test_the_end_is_silence(talking: Talking) -> None:
    async with talking("exit 0") as talker:
        await talker.wait_silent(1e9)
        assert talker.ended.is_set()


async def test_writing_to_one_that_reads_no_more(talking: Talking) -> None:
    async with talking("exec <&-; echo closed; sleep 1000") as talker:
        ear = talker.listener = Ear()
        await ear.until(b"closed")
        assert not await talker.write(b"x")


async def test_the_first_wait_ends_them_all() -> None:
    one, other = trio.Event(), trio.Event()
    one.set()
    await wait_any(one.wait, other.wait)
