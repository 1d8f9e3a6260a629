"""A worker's process writes down what happens, before anybody is told of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import trio
from chaos_book import Book, Tasks, read_book
from chaos_host import HEAR_WITHIN, BookedHouse, SayingLink, hears
from chaos_oracle import asked, brisk
from chaos_worker import PlayingPort
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core.events import RunFinished, RunState
from fleetgate.core.hub_testing import HandWorker, describe, hub_on, start_run, worker_info
from fleetgate.core.ids import RunId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.fidelity.bridge import make_entry
from fleetgate.transports.memory import memory_link_pair

ID = "t1-0123456789"


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "book", 3)


def written(tmp_path: Path) -> list[tuple[str, str]]:
    return [(line.what, line.of) for line in read_book(tmp_path / "book")]


async def test_what_goes_out_is_written_down(tmp_path: Path, book: Book) -> None:
    ours, peer = memory_link_pair(limit=1 << 10)
    link = SayingLink(ours, lambda line: book.write("said", line))
    await link.send_some([f'{{"{ID}.0. a"}}'.encode(), f"{ID}.1. b {ID}.1. b".encode()])
    await link.send(f"xx {ID}.1. b".encode())
    assert await peer.receive() == f'{{"{ID}.0. a"}}'.encode()
    assert written(tmp_path) == [("said", f"{ID}.{number}") for number in (0, 1, 1)]
    await link.close(None)
    await peer.close(None)


def test_links_and_faults_are_written_down(tmp_path: Path, book: Book) -> None:
    entry = BookedHouse(book=book).entry(make_entry("north", "x", "agency", "a", listens=True))
    entry.up("peer").fault(KeyError("ours"))
    entry.down("peer", "gone")
    assert written(tmp_path) == [("up", ""), ("fault", "KeyError('ours')"), ("down", "gone")]


@pytest.mark.parametrize(
    ("pair", "seconds"),
    [("rvbox-rvbox", math.inf), ("agency-rvbox", HEAR_WITHIN), ("agency-iop", 0.0)],
)
def test_a_worker_waits_for_input_as_far_as_it_may_come(
    tmp_path: Path, pair: str, seconds: float
) -> None:
    tasks = Tasks(tmp_path / "tasks")
    tasks.add(ID, pair)
    assert hears(tasks, ID) == seconds


async def test_a_run_is_written_down_before_its_events_and_is_lost_in_the_next_life(
    tmp_path: Path, book: Book, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        run = RunId("north/r")
        async with trio.open_nursery() as life:
            port = PlayingPort(nursery=life, plays=brisk, book=book.write)
            await port.join(HandWorker(hub, worker_info()))
            prompt = c.RunSpec(c.Prompt(asked(ID)), interactive=True)
            await hub.submit(start_run("r", prompt))
            await trio.testing.wait_all_tasks_blocked()
            await hub.submit(c.SendInput(run, b"an input\n"))
            await trio.testing.wait_all_tasks_blocked()
            life.cancel_scope.cancel()
        assert written(tmp_path) == [("began", ID), ("got", ID)]
        again = PlayingPort(nursery=nursery, plays=brisk, book=book.write)
        await again.join(HandWorker(hub, worker_info()))
        while (await describe(hub, run)).state is not RunState.LOST:
            await trio.testing.wait_all_tasks_blocked()
        assert written(tmp_path) == [("began", ID), ("got", ID)]
        assert again.executed[ID] == 0


async def test_an_end_is_written_down_before_it_is_said(
    tmp_path: Path, book: Book, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    said: list[list[tuple[str, str]]] = []
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        port = PlayingPort(nursery=nursery, plays=brisk, book=book.write)
        worker = HandWorker(hub, worker_info())
        await port.join(worker)
        record = worker.record

        def look(run: RunId, *events: object) -> bool:
            if isinstance(events[-1], RunFinished):
                said.append(written(tmp_path))
            return record(run, *events)  # type: ignore[arg-type]

        worker.record = look  # type: ignore[method-assign,assignment]
        await hub.submit(start_run("r", c.RunSpec(c.Prompt(asked(ID)), interactive=True)))
        await trio.testing.wait_all_tasks_blocked()
        await hub.submit(c.CancelRun(RunId("north/r")))
        await trio.testing.wait_all_tasks_blocked()
        assert said == [[("began", ID), ("over", ID)]]
        nursery.cancel_scope.cancel()
