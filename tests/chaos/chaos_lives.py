"""The lives of a gateway that is a real process: each begins with `gateway serve`, and ends by
SIGKILL at a moment that was drawn beforehand."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import attrs
import trio
from chaos_points import PHASES, read_book
from chaos_site import Site

from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable, path_of

RANDOM = "random"
INSIDE = "inside a commit"
KINDS = (INSIDE, *PHASES, RANDOM)
"""Of kills: `commit` is just before or behind one."""
POINTS = {"commit": 160, "reconcile": 24, "replay": 16}
"""The highest number of a point that is drawn: some seconds of commits, a return of the four
workers with what they hold, deliveries of runs that were open."""
WAIT = {"commit": 60.0, "reconcile": 60.0, "replay": 15.0}
"""Seconds that a life may take to come to its point: then it is killed as it is. Drawn points are
reached in two or three on a machine with nothing else to do. On any machine there are commits and
workers that return, and a round without a kill at them proves nothing; but of what an earlier life
recorded there may be too little to be replayed."""
UP_WITHIN = 60.0
END_WITHIN = 30.0
LAST_LINES = 12


class Ended(Exception):
    """The gateway ended by itself, which nothing told it to."""


@attrs.frozen
class Blow:
    """A kill: the gateway was at work at `before`, and was no more at `after` (Unix nanoseconds).
    `phase` and `where` say what it was at; of a kill at random nobody knows."""

    before: int
    after: int
    phase: str
    where: str = ""

    @property
    def kind(self) -> str:
        """The kind of kill that it came to."""
        return INSIDE if self.where.startswith("inside") else self.phase


@attrs.define
class Lives:
    """Starts and ends them, one after the other. What is killed at random, and the last, is the
    plain program; `mutant` is one that stands for all."""

    site: Site
    draw: random.Random
    mutant: Path | None = None
    blows: list[Blow] = attrs.field(factory=list[Blow])
    _process: trio.Process | None = None

    @property
    def admin(self) -> AdminClient:
        """The operators' socket."""
        return AdminClient(f"unix:{self.site.stage.root / 'admin' / 'socket'}")

    async def live(self, kind: str) -> Blow:
        """A life, from its start to a kill of this kind, if it comes to that.

        Raises: `Ended`.
        """
        if kind == RANDOM:
            process = await self._start()
            if self.draw.random() < 0.7:
                await self.up()
            await self._unless_over(process, self.draw.random() * 2)
            blow = await self._kill(process)
        else:
            phase, nth = self._point(kind)
            process = await self._start(phase, nth)
            await self._unless_over(process, WAIT[phase])
            blow = self._own_end(process) or await self._kill(process)
        self.blows.append(blow)
        return blow

    def _point(self, kind: str) -> tuple[str, int]:
        if kind != INSIDE:
            return kind, self.draw.randint(1, POINTS[kind])
        # The second and the third of a commit's four.
        return "commit", 4 * self.draw.randrange(POINTS["commit"] // 4) + self.draw.choice((2, 3))

    async def last(self) -> None:
        """Begin the life that is not killed."""
        self._process = await self._start()
        await self.up()

    async def end(self) -> None:
        """End it in order.

        Raises: `Ended`, where it has ended already or ends in another way.
        """
        process = self._process
        assert process is not None
        self._look(process)
        process.terminate()
        with trio.move_on_after(END_WITHIN):
            await process.wait()
        if process.returncode != 0:
            raise Ended(f"told to end, the gateway came to {process.returncode}\n{self._log()}")

    async def up(self) -> None:
        """Wait until it answers.

        Raises: `Ended`.
        """
        with trio.fail_after(UP_WITHIN):
            while True:
                if self._process is not None:
                    self._look(self._process)
                try:
                    await self.admin.get(path_of("status"))
                except (Unreachable, AdminError):
                    await trio.sleep(0.05)
                else:
                    return

    def abandon(self) -> None:
        """Whatever is left of it goes."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    # --- one life

    async def _start(self, phase: str | None = None, nth: int = 0) -> trio.Process:
        program: tuple[str, ...] = ("-m", "fleetgate")
        if phase is not None or self.mutant is not None:
            points = self.mutant or Path(__file__).with_name("chaos_points.py")
            program = (str(points), str(self._book), phase or "none", str(nth))
        words = ("serve", "--config", str(self.site.stage.config))
        with self._logs.open("ab") as log:
            self._process = await trio.lowlevel.open_process(
                [sys.executable, "-P", *program, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.site.environment},
                start_new_session=True,
            )
        return self._process

    async def _unless_over(self, process: trio.Process, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await process.wait()

    def _own_end(self, process: trio.Process) -> Blow | None:
        if process.returncode is None:
            return None
        where, at = read_book(self._book)
        if process.returncode != -signal.SIGKILL or not where:
            raise self._ended(process)
        phase, _, rest = where.partition(", ")
        return Blow(at, time.time_ns(), phase, rest)

    async def _kill(self, process: trio.Process) -> Blow:
        self._look(process)
        before = time.time_ns()
        process.kill()
        await process.wait()
        return Blow(before, time.time_ns(), RANDOM)

    def _look(self, process: trio.Process) -> None:
        if process.returncode is not None:
            raise self._ended(process)

    def _ended(self, process: trio.Process) -> Ended:
        return Ended(f"the gateway ended by itself, with {process.returncode}\n{self._log()}")

    def _log(self) -> str:
        lines = self._logs.read_text(errors="replace").splitlines()
        return "\n".join(lines[-LAST_LINES:])

    @property
    def _book(self) -> Path:
        return self.site.stage.root / "book"

    @property
    def _logs(self) -> Path:
        return self.site.stage.root / "gateway.log"
