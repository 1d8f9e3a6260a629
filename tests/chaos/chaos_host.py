"""A worker of the kill loop, a process of its own: a hub behind one protocol, on a real socket,
with a worker that plays what the oracle says.

    python -P chaos_host.py ROOT PROTOCOL LIFE

It goes on until it is killed, and keeps book in ROOT. A host of rvbox has its journal there as
well; the other protocols' workers keep nothing, so theirs is in memory.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))  # -P leaves it out

import attrs
import trio
from chaos_allowance import takes_input
from chaos_book import TASKS, Book, Tasks
from chaos_life import MARK
from chaos_oracle import brisk
from chaos_promise import numbers_inputs
from chaos_site import EAGER, Site, load_site
from chaos_worker import PlayingPort

from fleetgate.core.hub_testing import HandWorker, worker_info
from fleetgate.core.ids import WorkerId
from fleetgate.core.journal.api import Journal
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.worker import InputKind
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fidelity.bridge import LOCAL
from fleetgate.gateway.fidelity.member import Member
from fleetgate.gateway.testing import SeenEntry, SeenHouse, SeenLink
from fleetgate.transports.api import Link
from fleetgate.transports.faults import FaultyLink

KEEPING = frozenset({"rvbox"})
"""Protocols whose worker knows after a restart what it had been given."""
HEAR_WITHIN = 6.0
"""Seconds that a worker waits for an input which was sent at most once, and may never come. For
others it waits to the end: lives of a second each get no input to it in minutes."""


class SayingLink(FaultyLink):
    """A link without faults, that tells of each marked line before it goes out."""

    def __init__(self, link: Link, say: Callable[[str], None]) -> None:
        super().__init__(link)
        self._say = say

    async def send_some(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            for id, number in sorted(set(MARK.findall(frame))):
                self._say(f"{id.decode()}.{number.decode()}")
        await super().send_some(frames)


@attrs.define
class BookedLink(SeenLink):
    """Writes down what our own code raises."""

    book: Book | None = None

    def fault(self, error: BaseException) -> None:
        """A fault."""
        assert self.book is not None
        self.book.write("fault", repr(error))


@attrs.define
class BookedEntry(SeenEntry):
    """Writes down when its links come and go."""

    book: Book | None = None

    def up(self, peer: str) -> SeenLink:
        """A link is up."""
        assert self.book is not None
        self.book.write("up")
        return BookedLink(book=self.book)

    def down(self, peer: str, reason: str) -> None:
        """A link has ended."""
        assert self.book is not None
        self.book.write("down", reason)


@attrs.define
class BookedHouse(SeenHouse):
    """Makes such entries."""

    book: Book | None = None

    def entry(self, entry: Entry) -> SeenEntry:
        """The observer of one entry."""
        return self.entries.setdefault(entry.name, BookedEntry(book=self.book))


def hears(tasks: Tasks, id: str) -> float:
    """For how long a worker waits for the inputs of a task."""
    pair = tasks.pair(id)
    if not takes_input(pair):
        return 0.0
    return math.inf if numbers_inputs(pair) else HEAR_WITHIN


async def play(site: Site, protocol: str, life: int) -> None:
    """Be that worker."""
    root = site.stage.root
    book, tasks = Book(root / f"{protocol}.book", life), Tasks(root / TASKS)
    journal: Callable[[], AbstractAsyncContextManager[Journal]] = open_memory_journal
    if protocol in KEEPING:
        journal = partial(open_sqlite_journal, root / f"{protocol}.db")

    def wrap(entry: Entry, link: Link) -> Link:
        return SayingLink(link, partial(book.write, "said"))

    host = Member(
        site.hosts()[protocol],
        journal,
        {LOCAL: frozenset(InputKind)},
        seen=BookedHouse(book=book),
        wrap=wrap,
        clock=Clock,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(host.run)
        port = PlayingPort(
            nursery=nursery, hears=partial(hears, tasks), plays=brisk, book=book.write
        )
        info = worker_info(numbered_input=True, enforces_timeout=True)
        info = attrs.evolve(info, id=WorkerId(f"{LOCAL}/w"), pool=LOCAL)
        await port.join(HandWorker(host.hub, info))
        await trio.sleep_forever()


def main(argv: list[str]) -> int:
    """Be a worker until the end."""
    root, protocol, life = argv
    # Who dials does it eagerly: nothing here is about how long it waits.
    with mock.patch("random.random", return_value=EAGER):
        trio.run(play, load_site(Path(root)), protocol, int(life))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
