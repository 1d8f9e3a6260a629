"""What every fake does around its peer: ready, link events, signals, exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from functools import partial
from typing import Any, Final, TypeAlias

import attrs
import trio

from fleetgate.core.journal.api import JournalError
from fleetgate.core.worker import InputKind, Liveness, WorkerStatus
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.frontend import FrontEnd
from fleetgate.gateway.fakes.lines import LineReader, LineWriter, OutputLost, Writer
from fleetgate.gateway.fakes.links import FakeLinks
from fleetgate.gateway.fakes.named import short_name
from fleetgate.gateway.fakes.performing import Performer
from fleetgate.gateway.fakes.small import LOCAL, Small, Told, bare_journal, open_small
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.heap import release
from fleetgate.gateway.logs import Log, Said
from fleetgate.gateway.observe import (
    Counters,
    EntryObserver,
    GatewayObserver,
    LinkObserver,
    bridged_logging,
)
from fleetgate.gateway.printable import printable
from fleetgate.gateway.recording.backlog import Backlog
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.gateway.recording.recorder import CannotRecord, open_recorder
from fleetgate.gateway.registry import builtin_adapter
from fleetgate.gateway.render import Line, encode
from fleetgate.gateway.settings import LogLevel
from fleetgate.protocols.api import Adapter, Connection
from fleetgate.transports.api import AddressError, LinkError

ASKED: Final = 0
CANNOT_START: Final = 1
PEER_ENDED_IT: Final = 3
"""Exit codes, beside that of a command line that makes no sense: docs/reference/fakes.md."""

MAX_LINES: Final = 4096
MAX_BYTES: Final = 64 << 20
"""Events that wait for whoever reads our output: a link that flaps every second fills them in an
hour, and some frames of the largest kind have room. More are left out, which a line says."""

Emit: TypeAlias = Callable[[Line], None]


class Ending:
    """Why a fake ends: the first reason counts, and cancels `work`."""

    def __init__(self) -> None:
        self.work = trio.CancelScope()
        self.code = ASKED
        self.reason = ""

    def come(self, code: int, reason: str) -> None:
        """Something ends it."""
        if not self.reason:
            self.code, self.reason = code, reason
            self.work.cancel()


class FakeEntryObserver(EntryObserver):
    """Logs as any entry does, and tells the front end of `ready` and of its links.

    Ready is a listener that is bound, a worker whose first link is up, and a controller that dials
    once it knows the worker beyond: whoever reads `ready` may ask for `workers` at once. Where a
    link ends before that, its lines come without one."""

    def __init__(self, log: Log, entry: Entry, emit: Emit, ending: Ending) -> None:
        super().__init__(log, Counters(), entry)
        self._emit = emit
        self._ending = ending
        self._address = entry.address
        self._listens = entry.listens
        self._asks = entry.facing == "south" and not entry.listens
        self._ready = False
        self._held: list[Line] = []

    def _say_ready(self, address: str) -> None:
        if not self._ready:
            self._ready = True
            self._emit({"event": "ready", "address": address})
            self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for line in held:
            self._emit(line)

    def listening(self, address: str) -> None:
        """It is bound."""
        super().listening(address)
        self._say_ready(address)

    def up(self, peer: str) -> LinkObserver:
        """A link is up."""
        self._held.append({"event": "link", "state": "up", "reason": ""})
        if self._ready:
            self._let_go()
        elif not self._asks:
            self._say_ready(self._address)
        return super().up(peer)

    def known(self) -> None:
        """A worker has come, and is among those that the core lists."""
        self._say_ready(self._address)

    def down(self, peer: str, reason: str) -> None:
        """A link has ended."""
        super().down(peer, reason)
        self._let_go()
        self._emit({"event": "link", "state": "down", "reason": reason})

    def gave_up(self, reason: str) -> None:
        """The peer refused for good. The line about the end says it."""
        self._ending.come(PEER_ENDED_IT, f"its peer refused it for good: {reason}")


class FakeObserver(GatewayObserver):
    """A fake's observer."""

    def __init__(self, log: Log, emit: Emit, ending: Ending) -> None:
        super().__init__(log, Counters())
        self._emit = emit
        self._ending = ending
        self._entry: FakeEntryObserver | None = None

    def entry(self, entry: Entry) -> FakeEntryObserver:
        """The observer of the one entry."""
        self._entry = FakeEntryObserver(self.log, entry, self._emit, self._ending)
        return self._entry

    def known(self) -> None:
        """A worker has come through the entry."""
        if self._entry is not None:
            self._entry.known()


@attrs.frozen(slots=True)
class Around:
    """What a fake is made of. `inputs` are the kinds that its local workers take; `frames`: whether
    each frame has a line; `record` is a file for them; `connect` makes the entry's connections, in
    place of the protocol's own; `advice`: see `open_small`."""

    name: str
    entry: Entry
    journal: str
    log: Log
    inputs: frozenset[InputKind] = frozenset()
    links: FakeLinks = attrs.field(factory=FakeLinks)
    frames: bool = False
    record: str | None = None
    connect: Callable[[Any], Connection] | None = None
    advice: str = ""

    @property
    def taken(self) -> frozenset[InputKind]:
        """The kinds of input that workers of its protocol take."""
        return builtin_adapter(self.entry.protocol).southbound.inputs


@attrs.frozen(slots=True)
class Peer:
    """A fake, ready to run. `known` are its operations; `open` is what it does beside its entry,
    as long as the block lasts: it yields what carries them out."""

    around: Around
    known: Mapping[str, type[Any]]
    open: Callable[[Small, Writer], AbstractAsyncContextManager[Performer]]


LOCAL_CAUSES: Final = (JournalError, LinkError, AddressError, OSError, CannotRecord)
"""Why a fake cannot start: all of it is ours to mend."""


def run_peer(peer: Peer) -> int:
    """Run a fake, steered by lines, to its end; answers its exit code."""
    try:
        with bridged_logging(peer.around.log, Counters()):
            return trio.run(_run, peer)
    except (*LOCAL_CAUSES, BaseExceptionGroup) as group:
        error = unwrapped(group)
        if not isinstance(error, LOCAL_CAUSES):
            raise
        sys.stderr.write(printable(f"gateway fake {peer.around.name}: {error}\n"))
        return CANNOT_START


async def _run(peer: Peer) -> int:
    around, writer, ending = peer.around, LineWriter(), Ending()
    backlog = Backlog(_lost, MAX_LINES, MAX_BYTES)

    def emit(line: Line) -> None:
        backlog.put(encode(line))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(_write_all, writer, backlog)
        nursery.start_soon(_end_on_signal, ending)
        async with at_work(around, emit, ending) as small:
            release()
            with ending.work:
                async with peer.open(small, writer) as performer:
                    end = FrontEnd(LineReader(), writer, peer.known, performer)
                    ending.come(ASKED, await end.serve())
        nursery.cancel_scope.cancel()
    level: LogLevel = "warning" if ending.code == ASKED else "error"
    around.log.say(Said.FAKE_ENDED, level=level, fake=around.name, reason=ending.reason)
    return ending.code


@asynccontextmanager
async def at_work(
    around: Around, emit: Emit, ending: Ending, told: Told = bare_journal
) -> AsyncGenerator[Small, None]:
    """A fake's entry at work, as long as the block lasts. `emit` is given its events, `told` what
    it journals.

    Raises: what is in `LOCAL_CAUSES`, perhaps in groups of one.
    """
    known = {around.entry.protocol: builtin_adapter(around.entry.protocol)}
    observer = FakeObserver(around.log, emit, ending)

    def tell(worker: WorkerStatus) -> None:
        if worker.info.pool != LOCAL:
            state = worker.liveness.value
            if worker.liveness is Liveness.READY:
                observer.known()
            emit({"event": "worker", "worker": short_name(worker.info.id), "state": state})

    async with AsyncExitStack() as stack:
        around.links.onlookers = await _onlookers(around, known, emit, stack)
        small = await stack.enter_async_context(
            open_small(
                around.entry,
                around.name,
                around.journal,
                observer,
                around.inputs,
                tell,
                partial(around.links.wrap, known),
                connect=around.connect,
                told=told,
                advice=around.advice,
            )
        )
        small.nursery.start_soon(_end_when_stopped, small, around.entry.name, ending)
        yield small
        await around.links.release()


async def _onlookers(
    around: Around, known: Mapping[str, Adapter], emit: Emit, stack: AsyncExitStack
) -> Onlookers | None:
    """Who looks on, if anybody does; a recording ends with the stack."""
    clock, sinks = Clock(), list[Emit]()

    def emit_frame(line: Line) -> None:
        if line["event"] == "frame":
            emit(line)

    def failed(reason: str) -> None:
        around.log.say(Said.RECORDING_FAILED, reason=reason)

    if around.frames:
        sinks.append(emit_frame)
    if around.record is not None:
        protocol = around.entry.protocol
        versions = {protocol: known[protocol].showing.version}
        opened = open_recorder(around.record, clock, versions, failed)
        sinks.append((await stack.enter_async_context(opened)).put)
    return Onlookers(known, clock, *sinks) if sinks else None


def _lost(lines: int) -> bytes:
    return encode({"event": "lost", "lines": lines})


async def _write_all(writer: LineWriter, backlog: Backlog) -> None:
    try:
        while data := await backlog.take():
            await writer.write_encoded(data)
    except OutputLost as lost:
        if not lost.unread:  # else the end of our input says so, too
            raise


async def _end_on_signal(ending: Ending) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            ending.come(ASKED, f"it received {signal.Signals(number).name}")


async def _end_when_stopped(small: Small, entry: str, ending: Ending) -> None:
    """A client may stop the daemon that it talks to. Its entry then gives those who watch runs
    their ends, and goes: to drain it meanwhile would cut them off before."""
    await small.hub.wait_stopped(entry)
    await small.house.wait_gone(entry)
    ending.come(PEER_ENDED_IT, "its peer told it to stop")
