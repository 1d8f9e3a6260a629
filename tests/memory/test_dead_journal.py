"""What waits in memory while the journal cannot be written."""

from __future__ import annotations

import resource
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from memory_gateway import FULL, MIB, Served, journal_size, kept, open_gateway, say, until
from memory_peers import hold, open_peers
from test_watcher import LONG_RUN

from fleetgate.core.events import MAX_BODY
from fleetgate.core.journal.queued import QUEUE_SIZE
from fleetgate.gateway.asking import MAX_ASKED_SIZE
from fleetgate.gateway.bench.client import LoadClient
from fleetgate.gateway.bench.host import LoadHost
from fleetgate.gateway.bench.task import Task
from fleetgate.protocols.agency import wire as a
from fleetgate.protocols.agency.codec import decode_server
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.agency.wire import MAX_FRAME
from fleetgate.transports.api import Link, LinkBroken

ENDLESS = Task(MAX_BODY, seconds=3_600)
LINKS = 8 if FULL else 4
STARTS = 64 if FULL else 32
LINK = 2 * (MAX_ASKED_SIZE + MAX_FRAME)
"""What is asked on a link is there as its frame and as what was read of it."""

PROMPT = "x" * (MAX_FRAME - 4096)


@pytest.fixture
def hung(tmp_path: Path) -> Path:
    return tmp_path / "hung"


async def _queued(served: Served) -> dict[str, Any]:
    journal: dict[str, Any] = (await served.status())["journal"]
    return journal


async def _full(served: Served) -> None:
    """Until so much waits that links are not read any more, and then a while."""
    while (await _queued(served))["bytes"] < QUEUE_SIZE:  # noqa: ASYNC110
        await trio.sleep(0.1)
    await trio.sleep(5)


async def _moves(served: Served) -> None:
    """Until commits succeed again: half of what waited is more than is written otherwise. It is
    there before the commit that writes it has ended."""
    size = journal_size(served.root)
    await until(lambda: journal_size(served.root) >= size + QUEUE_SIZE // 2)
    while (await _queued(served))["failing"]:  # noqa: ASYNC110
        await trio.sleep(0.1)


async def _refused(starts: list[Starts], many: int) -> None:
    """Until so many starts of each link are refused."""
    for each in starts:
        await until(partial(_answered, each, 1 + many))
        assert isinstance(each.answers[0], a.HelloAnswer)
        for answer in each.answers[1:]:
            assert isinstance(answer, a.Error), answer
            assert "journal" in answer.message, answer


def _answered(starts: Starts, many: int) -> bool:
    return len(starts.answers) >= many


@attrs.define
class Starts:
    """What came of starts that were asked for on one link."""

    number: int
    link: Link
    answers: list[a.ServerResponse] = attrs.field(factory=list)

    async def ask(self) -> None:
        """Ask for many large ones at once."""
        await self._say(1, a.Hello("starter", a.ProtocolVersion(0, 3)))
        for each in range(STARTS):
            request = a.RunRequest("claude", "", PROMPT, "edit", False, False, ())
            name = f"{self.number}-{each}"
            await self._say(2 + each, a.StartRun(name, request, f"{name}:start"))

    async def _say(self, id: int, message: a.ClientMessage) -> None:
        await self.link.send(encode_client(a.ClientFrame(id, message)))

    async def hear(self) -> None:
        """Take in the answers."""
        while True:
            for frame in await self.link.receive_some():
                answer = decode_server(frame)
                if isinstance(answer, a.Response):
                    self.answers.append(answer.response)


async def _try(served: Served, nursery: trio.Nursery) -> list[Starts]:
    dialer = await nursery.start(_dialer, served)
    made = [Starts(number, await dialer.dial()) for number in range(LINKS)]
    for each in made:
        nursery.start_soon(hold, each.link)
        nursery.start_soon(each.hear)
        nursery.start_soon(each.ask)
    return made


async def _dialer(served: Served, *, task_status: trio.TaskStatus[Any]) -> None:
    async with open_peers(served, "agency") as dialer:
        task_status.started(dialer)
        await trio.sleep_forever()


async def _die(served: Served, nursery: trio.Nursery) -> None:
    """A worker says what it can, and a watcher asks for it."""
    hosts = await nursery.start(_host, served)
    gui = await nursery.start(_dialer, served)
    nursery.start_soon(_emit, hosts)
    nursery.start_soon(_watch, gui)
    await until(lambda: journal_size(served.root) >= 8 * MIB)


async def _emit(host: LoadHost) -> None:
    try:
        await host.run()
    except* LinkBroken:
        pass  # it was not heard for a minute, as long as a dead disk lasts: what it said is there


async def _watch(dialer: Any) -> None:
    async with await dialer.dial() as link:
        await LoadClient(link, ENDLESS).attach()
        await trio.sleep_forever()


async def _host(served: Served, *, task_status: trio.TaskStatus[Any]) -> None:
    async with open_peers(served, "rvbox") as dialer:
        task_status.started(LoadHost(await dialer.dial(), plain=False))
        await trio.sleep_forever()


@pytest.mark.slow
async def test_i9_a_disk_that_takes_nothing(served: Served) -> None:
    async with trio.open_nursery() as nursery:
        before = served.rss
        await _die(served, nursery)
        served.limit(resource.RLIMIT_FSIZE, 1)
        await _full(served)
        assert (await _queued(served))["failing"]
        starts = await _try(served, nursery)
        await _refused(starts, STARTS)
        grown = served.peak - before
        say(f"a disk that takes nothing: {grown / MIB:.0f} MiB")
        assert grown < kept(LONG_RUN) + LINKS * LINK
        served.limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
        await _moves(served)
        nursery.cancel_scope.cancel()


@pytest.mark.slow
async def test_i9_a_disk_that_does_not_answer(tmp_path: Path, hung: Path) -> None:
    script = ("-P", str(Path(__file__).parent / "memory_hung.py"))
    async with (
        open_gateway(tmp_path, script, HUNG=str(hung)) as served,
        trio.open_nursery() as nursery,
    ):
        before = served.rss
        await _die(served, nursery)
        await trio.Path(hung).touch()
        await _full(served)
        starts = await _try(served, nursery)
        await _refused(starts, 1)
        grown = served.peak - before
        say(f"a disk that does not answer: {grown / MIB:.0f} MiB")
        assert grown < kept(LONG_RUN) + LINKS * LINK
        await trio.Path(hung).unlink()
        await _moves(served)
        nursery.cancel_scope.cancel()
