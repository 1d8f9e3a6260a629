"""A hub that only remembers, and the promise that no test leaves a process behind."""

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core.answers import Admission, Held
from fleetgate.core.commands import (
    CloseInput,
    Command,
    Order,
    Origin,
    RunSpec,
    SendInput,
    ShellCommand,
    StartRun,
)
from fleetgate.core.errors import Fenced, Refusal
from fleetgate.core.events import Event, OutputProduced, RunFinished, Stream, TextProduced
from fleetgate.core.ids import Epoch, OrderNumber, RunId, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.roster import Port, Worker
from fleetgate.core.run import Run
from fleetgate.core.slots import Slot
from fleetgate.core.worker import Reports, WorkerInfo

WORKER = WorkerId("local/here")
RUN = RunId("gui/run-1")


class MemoryHub:
    """The hub as a local worker sees it: what it was told, in order."""

    def __init__(self) -> None:
        self.events: dict[RunId, list[Event]] = {}
        self.settled: dict[tuple[RunId, int], Refusal | None] = {}
        self.notes: list[tuple[RunId, str, Json]] = []
        self.responses: list[Reports | Refusal] = []
        self.free: list[int | None] = []
        self.withdrawn: list[tuple[str, bool]] = []
        self.held: tuple[Held, ...] = ()
        self.slots: dict[RunId, Slot] = {}
        self.port: Port | None = None
        self.info: WorkerInfo | None = None
        self.journal_error: Exception | None = None
        self.room = trio.Event()
        self.room.set()
        self._news = trio.Event()
        self._orders = 0
        self._inputs = 0

    # --- what the worker calls

    async def admit(self, info: WorkerInfo, port: Port) -> Admission:
        self.info, self.port = info, port
        return Admission(Epoch(1), self.held)

    def worker(self, id: WorkerId) -> Worker:
        assert self.info is not None
        worker = Worker(self.info, Epoch(1), 0)
        worker.runs = dict(self.slots)
        return worker

    def ready(self, worker: WorkerId, epoch: Epoch, free: int | None) -> None:
        self._check(worker, epoch)
        self.free.append(free)
        self._tell()

    def report_capacity(self, worker: WorkerId, epoch: Epoch, free: int | None) -> None:
        self._check(worker, epoch)
        self.free.append(free)
        self._tell()

    def record(
        self,
        worker: WorkerId,
        epoch: Epoch,
        run: RunId,
        events: tuple[Event, ...],
        native_seq: int | None = None,
    ) -> bool:
        self._check(worker, epoch)
        assert native_seq is None
        seen = self.events.setdefault(run, [])
        assert not any(isinstance(event, RunFinished) for event in seen), "event after the end"
        seen.extend(events)
        for event in events:
            if run in self.slots and isinstance(event, RunFinished):
                slot = self.slots[run]
                slot.run = attrs.evolve(slot.run, state=event.outcome.state)
        self._tell()
        return True

    def settle(
        self,
        worker: WorkerId,
        epoch: Epoch,
        run: RunId,
        number: OrderNumber,
        error: Refusal | None = None,
    ) -> None:
        self._check(worker, epoch)
        assert (run, number) not in self.settled
        self.settled[run, number] = error
        self._tell()

    def respond(self, question_id: int, reports: Reports | Refusal) -> None:
        self.responses.append(reports)

    async def annotate(self, run: RunId, name: str, value: Json) -> None:
        await trio.lowlevel.checkpoint()
        if self.journal_error is not None:
            self.notes.append((run, "failed", None))
            self._tell()
            raise self.journal_error
        self.notes.append((run, name, value))

    def withdraw(self, worker: WorkerId, epoch: Epoch, reason: str, gone: bool = False) -> None:
        self._check(worker, epoch)
        self.withdrawn.append((reason, gone))

    async def wait_room(self) -> None:
        await self.room.wait()
        await trio.lowlevel.checkpoint()

    def _check(self, worker: WorkerId, epoch: Epoch) -> None:
        if (worker, epoch) != (WORKER, 1):
            raise Fenced("not the current epoch")

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    # --- what tests call

    def start(self, run: RunId, spec: RunSpec) -> None:
        """Give the worker a run, and its `stdin` as the hub does."""
        assert self.port is not None
        start = StartRun(run, spec, Origin("gui", run))
        self.bind(run, spec)
        self.port.perform(Order(run, OrderNumber(0), start))
        given = spec.input
        if isinstance(given, ShellCommand) and given.stdin is not None:
            self.give(SendInput(run, given.stdin))
            if not spec.interactive:
                self.give(CloseInput(run))

    def bind(self, run: RunId, spec: RunSpec) -> None:
        """Give the worker a run whose start order is still on its way."""
        self.slots[run] = Slot(Run(run, spec, Origin("gui", run), created=1))

    def give(self, command: Command) -> int:
        """Give an order; its number."""
        assert self.port is not None
        self._orders += 1
        takes_input = isinstance(command, SendInput | CloseInput)
        self._inputs += takes_input
        number = OrderNumber(self._orders)
        place = self._inputs if takes_input else 0
        self.port.perform(Order(command.run, number, command, place))  # type: ignore[union-attr, arg-type]
        return number

    async def until(self, run: RunId, kind: type[Event]) -> Event:
        """The run's first event of this kind, once it is there."""
        while True:
            for event in self.events.get(run, ()):
                if isinstance(event, kind):
                    return event
            await self._news.wait()

    async def until_output(self, run: RunId, wanted: bytes) -> None:
        """Wait until the run's standard output holds `wanted`."""
        while wanted not in self.output(run):
            await self._news.wait()

    async def until_settled(self, run: RunId, number: int) -> Refusal | None:
        """How an order was settled, once it is."""
        while (run, number) not in self.settled:
            await self._news.wait()
        return self.settled[run, number]

    async def until_free(self, count: int) -> None:
        """Wait until the worker has said `count` times how many runs it takes."""
        while len(self.free) < count:
            await self._news.wait()

    async def until_notes(self, count: int) -> None:
        """Wait for `count` tries to annotate."""
        while len(self.notes) < count:
            await self._news.wait()

    def output(self, run: RunId, stream: Stream = Stream.STDOUT) -> bytes:
        """What the run has written so far; its offsets are checked on the way."""
        data = b""
        for event in self.events.get(run, ()):
            if isinstance(event, OutputProduced) and event.stream is stream:
                assert event.offset == len(data)
                assert 0 < len(event.data) <= 64 * 1024
                data += event.data
        return data

    def outcome(self, run: RunId):
        """How the run ended, which it has."""
        last = self.events[run][-1]
        assert isinstance(last, RunFinished)
        return last.outcome


@pytest.fixture
def hub() -> MemoryHub:
    return MemoryHub()


@pytest.fixture(autouse=True)
def no_process_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    with pytest.raises(ChildProcessError):  # this process has no children at all
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)


class Told:
    """A reporter that remembers: what one task tells, and how its orders were settled."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.settled: dict[int, Refusal | None] = {}
        self.notes: list[Json] = []
        self._news = trio.Event()

    def record(self, run: RunId, event: Event) -> None:
        assert not any(isinstance(each, RunFinished) for each in self.events)
        self.events.append(event)
        self._tell()

    def settle(self, run: RunId, number: OrderNumber, error: Refusal | None = None) -> None:
        assert number not in self.settled
        self.settled[number] = error
        self._tell()

    async def annotate(self, run: RunId, value: Json) -> None:
        await trio.lowlevel.checkpoint()
        self.notes.append(value)

    async def wait_room(self) -> None:
        await trio.lowlevel.checkpoint()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def until(self, kind: type[Event], count: int = 1) -> None:
        """Wait until so many events of this kind were told."""
        while len(self.of(kind)) < count:
            await self._news.wait()

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(event.text for event in self.events if isinstance(event, TextProduced))

    @property
    def outcome(self):
        """How it ended, which it has."""
        last = self.events[-1]
        assert isinstance(last, RunFinished)
        return last.outcome


@pytest.fixture
def told() -> Told:
    return Told()


class Bell:
    """How a program tells a test, by no output of its own, that it has come so far: it writes to
    the named pipe `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    async def rung(self) -> None:
        """Wait until it has, and until all that was written before was taken in."""
        await trio.to_thread.run_sync(self.path.read_bytes, abandon_on_cancel=True)
        await wait_all_tasks_blocked()


@pytest.fixture
def bell(tmp_path: Path) -> Bell:
    return Bell(tmp_path / "bell")


@attrs.frozen
class Asked:
    """A request as it came to a model server."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ModelServer:
    """An HTTP server on loopback that answers every request as a test says: `send` the pieces of
    an answer one by one, and `then` close, or hold the connection open."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[Asked] = []
        self.status = 200
        self.pieces: list[bytes] = []
        self.cut = False
        """End without the mark that says that the answer is whole."""
        self.holds = False
        self.gone = trio.Event()
        """The client has closed its connection."""

    async def serve(self, stream: trio.SocketStream) -> None:
        try:
            async with stream:
                self.asked.append(await self._read(stream))
                await self._answer(stream)
        except trio.BrokenResourceError:  # it has gone in the middle of our words
            self.gone.set()

    async def _answer(self, stream: trio.SocketStream) -> None:
        head = f"HTTP/1.1 {self.status} Said\r\ntransfer-encoding: chunked\r\n\r\n"
        await stream.send_all(head.encode())
        for piece in self.pieces:
            await stream.send_all(b"%x\r\n%b\r\n" % (len(piece), piece))
        if self.holds:
            assert await stream.receive_some() == b""
            self.gone.set()
        elif not self.cut:
            await stream.send_all(b"0\r\n\r\n")

    async def _read(self, stream: trio.SocketStream) -> Asked:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await stream.receive_some()
        head, _, body = data.partition(b"\r\n\r\n")
        request, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        while len(body) < int(headers["content-length"]):
            body += await stream.receive_some()
        return Asked(request.split()[1], headers, json.loads(body))


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        model = ModelServer(listeners[0].socket.getsockname()[1])
        nursery.start_soon(trio.serve_listeners, model.serve, listeners)
        yield model
        nursery.cancel_scope.cancel()
