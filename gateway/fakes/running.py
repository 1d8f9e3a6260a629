"""What every fake does around its peer: ready, link events, signals, exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import attrs
import trio

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.commands.asking import unwrapped
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.lines import LineWriter
from fleetgate.gateway.fakes.small import Small, open_small
from fleetgate.gateway.logs import Log
from fleetgate.gateway.observe import Counters, EntryObserver, GatewayObserver, LinkObserver
from fleetgate.gateway.render import Line
from fleetgate.transports.api import AddressError, LinkError

ASKED: Final = 0
CANNOT_START: Final = 1
BAD_ARGUMENTS: Final = 2
MAX_LINES: Final = 1024
"""Link events that wait for whoever reads our output: a link that flaps every second fills
them in a quarter of an hour."""

PEER_ENDED_IT: Final = 3


class Body(Protocol):
    """What is particular to one fake. It ends when the fake is asked to."""

    async def __call__(self, small: Small, writer: LineWriter) -> None: ...


@attrs.define
class _Ending:
    """Set once the peer has refused for good."""

    event: trio.Event = attrs.field(factory=trio.Event)


class FakeEntryObserver(EntryObserver):
    """Logs as any entry does, and tells the front end of `ready` and of its links."""

    def __init__(
        self, log: Log, entry: Entry, emit: Callable[[Line], None], refused: trio.Event
    ) -> None:
        super().__init__(log, Counters(), entry)
        self._emit = emit
        self._refused = refused
        self._address = entry.address
        self._listens = entry.listens
        self._ready = False

    def _say_ready(self, address: str) -> None:
        if not self._ready:
            self._ready = True
            self._emit({"event": "ready", "address": address})

    def listening(self, address: str) -> None:
        """It is bound."""
        super().listening(address)
        self._say_ready(address)

    def up(self, peer: str) -> LinkObserver:
        """A link is up."""
        self._say_ready(self._address)
        self._emit({"event": "link", "state": "up", "reason": ""})
        return super().up(peer)

    def down(self, peer: str, reason: str) -> None:
        """A link has ended."""
        super().down(peer, reason)
        self._emit({"event": "link", "state": "down", "reason": reason})

    def gave_up(self, reason: str) -> None:
        """The peer refused for good."""
        super().gave_up(reason)
        self._refused.set()


class FakeObserver(GatewayObserver):
    """A fake's observer."""

    def __init__(self, log: Log, emit: Callable[[Line], None], refused: trio.Event) -> None:
        super().__init__(log, Counters())
        self._emit = emit
        self._refused = refused

    def entry(self, entry: Entry) -> FakeEntryObserver:
        """The observer of the one entry."""
        return FakeEntryObserver(self.log, entry, self._emit, self._refused)


def run_fake(entry: Entry, name: str, journal: str, log: Log, body: Body) -> int:
    """Run a fake to its end; answers its exit code."""
    try:
        return trio.run(_run, entry, name, journal, log, body)
    except (JournalError, LinkError, AddressError, OSError, BaseExceptionGroup) as group:
        error = unwrapped(group)
        if not isinstance(error, JournalError | LinkError | AddressError | OSError):
            raise
        sys.stderr.write(f"gateway fake: {error}\n")
        return CANNOT_START


async def _run(entry: Entry, name: str, journal: str, log: Log, body: Body) -> int:
    writer, refused = LineWriter(), trio.Event()
    code = ASKED
    async with trio.open_nursery() as nursery:
        lines, out = trio.open_memory_channel[Line](MAX_LINES)
        nursery.start_soon(_write_all, writer, out)

        def emit(line: Line) -> None:
            with suppress(trio.WouldBlock):  # nobody reads us: the newest link events are left out
                lines.send_nowait(line)

        async def end_when_refused() -> None:
            nonlocal code
            await refused.wait()
            code = PEER_ENDED_IT
            work.cancel()

        observer = FakeObserver(log, emit, refused)
        with trio.CancelScope() as work:
            nursery.start_soon(end_when_refused)
            nursery.start_soon(_end_on_signal, work)
            async with open_small(entry, name, journal, observer) as small:
                await body(small, writer)
        nursery.cancel_scope.cancel()
    return code


async def _write_all(writer: LineWriter, lines: trio.MemoryReceiveChannel[Line]) -> None:
    with suppress(OSError):  # nobody reads us any more: the end of our input says so, too
        async for line in lines:
            await writer.write(line)


async def _end_on_signal(scope: trio.CancelScope) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
