"""The gateway's own program, and a point at which it kills itself: for the kill loop.

    python -P chaos_points.py BOOK PHASE NTH WORDS...

WORDS are those of `gateway`. At the NTH time that the program comes to a point of PHASE it ends by
SIGKILL, in that instant, and has written into BOOK what it was at.
Nothing of the product is changed: what it calls is called, a point stands before or behind it.

The points of a phase:

commit     before a transaction begins; inside it, before COMMIT and while SQLite writes and syncs;
           behind it, before anybody has heard of it
reconcile  around the admission of a worker that was known, around its readiness, and around each
           call into its connection between link and readiness
replay     before and behind each delivery of events to a controller that an earlier life recorded
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

PHASES: Final = ("commit", "reconcile", "replay")
INSIDE_WITHIN: Final = 0.0005
"""Seconds within which a point inside a commit strikes: as long as a commit takes here."""


def read_book(book: Path) -> tuple[str, int]:
    """Where and when (Unix nanoseconds) a life ended by itself: empty and 0 where it did not."""
    where, _, at = book.read_bytes().rstrip(b"\0").decode().partition("@")
    return where, int(at or 0)


class Book:
    """What outlives this process: a page of a file."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def die(self, where: str) -> None:
        """End here and now."""
        last = f"{where}@{time.time_ns()}".encode()
        self._page[: len(last)] = last
        os.kill(os.getpid(), signal.SIGKILL)


class Points:
    """Counts how often the program comes to a point of its phase."""

    def __init__(self, book: Book, phase: str, nth: int) -> None:
        self._book = book
        self._phase = phase
        self._left = nth
        self._committing = False
        self._lock = threading.Lock()

    def at(self, phase: str) -> bool:
        """The program is at a point; whether it is the one."""
        if phase != self._phase:
            return False
        with self._lock:
            self._left -= 1
            return self._left == 0

    def pass_(self, phase: str, where: str) -> None:
        """The same, and end there if it is."""
        if self.at(phase):
            self._book.die(f"{phase}, {where}")

    # --- a commit

    def around_commit(self, commit: Callable[..., Any]) -> Callable[..., Any]:
        """For what makes one transaction of what it is given."""

        @wraps(commit)
        def committed(*given: Any) -> Any:
            self.pass_("commit", "before it")
            self._committing = True
            try:
                answer = commit(*given)
            finally:
                self._committing = False
            self.pass_("commit", "behind it")
            return answer

        return committed

    def around_writes(self, write: Callable[..., Any]) -> Callable[..., Any]:
        """For what puts all rows into a transaction that is committed next."""

        @wraps(write)
        def written(*given: Any) -> Any:
            found = write(*given)
            self.pass_("commit", "inside it, nothing is written")
            if self.at("commit"):
                threading.Thread(target=self._strike_inside, daemon=True).start()
            return found

        return written

    def _strike_inside(self) -> None:
        # SQLite gives the interpreter lock up while it writes and syncs.
        time.sleep(time.time_ns() % 1000 / 1000 * INSIDE_WITHIN)
        self._book.die("commit, " + ("inside it" if self._committing else "behind it"))

    # --- a worker that returns

    def around(self, phase: str, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """For a call whose both sides are points."""

        @wraps(call)
        def made(*given: Any, **named: Any) -> Any:
            self.pass_(phase, f"before {name}")
            answer = call(*given, **named)
            self.pass_(phase, f"behind {name}")
            return answer

        return made


def set_points(points: Points) -> None:
    """Put them into the program."""
    from fleetgate.core.crew import Crew
    from fleetgate.core.journal import tables
    from fleetgate.core.worker import Liveness
    from fleetgate.gateway.connection import Driver

    set_: Any = setattr
    set_(tables, "_write_groups", points.around_writes(tables._write_groups))
    set_(tables, "commit", points.around_commit(tables.commit))
    for name, word in (("_enqueue_admission", "admission"), ("ready", "readiness")):
        set_(Crew, name, points.around("reconcile", word, getattr(Crew, name)))
    make, deliver = Driver._make, Driver._deliver
    began = time.time_ns()

    def made(self: Any, call: Any, *given: Any) -> Any:
        worker = self._hub._roster.workers.get(self.worker) if self.worker else None
        returns = worker is not None and worker.liveness is Liveness.CONNECTING
        if returns:
            points.pass_("reconcile", "before a frame")
        answer = make(self, call, *given)
        if returns:
            points.pass_("reconcile", "behind a frame")
        return answer

    def delivered(self: Any, batch: Any) -> Any:
        old = batch[0].time < began
        if old:
            points.pass_("replay", "before a delivery")
        answer = deliver(self, batch)
        if old:
            points.pass_("replay", "behind a delivery")
        return answer

    set_(Driver, "_make", made)
    set_(Driver, "_deliver", delivered)


def main(argv: list[str]) -> int:
    """Be the gateway, until the point."""
    book, phase, nth, *words = argv
    set_points(Points(Book(Path(book)), phase, int(nth)))
    from fleetgate.gateway.cli import main as gateway

    return gateway(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
