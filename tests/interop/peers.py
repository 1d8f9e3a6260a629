"""Programs spoken to by JSON lines: our fakes, and peers on the libraries of others.

Both have the same front end, so a scene does not care who plays in it.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeAlias

from programs import PATIENCE, Program

Line: TypeAlias = dict[str, Any]


class Peer(Program):
    """One program. What it says is kept in order: `until` takes what it looks for, and leaves the
    rest for those who look later. A time limit is one of the whole look: peers of a quiet link
    go on saying that they live."""

    def __init__(self, *words: str, logs: bool = False) -> None:
        """`logs`: what it says are the lines of its log, which go to stderr."""
        self.words = words
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        super().__init__(words, stderr=subprocess.STDOUT if logs else self._errors)
        self._by = 0.0

    def __exit__(self, *told: object) -> None:
        self.child.kill()
        super().__exit__(*told)
        self._errors.close()

    @property
    def errors(self) -> str:
        """What it has said on stderr."""
        self._errors.seek(0)
        return self._errors.read().decode()

    def tell(self, op: str, **members: Any) -> None:
        """Give it an order that has no answer."""
        self.say(json.dumps({"op": op, **members}))

    def ask(self, op: str = "", **members: Any) -> Line:
        """Give a fake an order, and wait for its answer."""
        self._by = time.monotonic() + PATIENCE
        return super().ask(op=op, **members)

    def until(self, **members: Any) -> Line:
        """The first line with these members, of those not taken yet."""
        try:
            return self.event(lambda line: members.items() <= line.items())
        except AssertionError as error:
            raise AssertionError(f"waited for {members}: {error}") from None

    def event(self, fits: Callable[[Mapping[str, Any]], bool]) -> Line:
        """The first line that fits, of those not taken yet."""
        self._by = time.monotonic() + PATIENCE
        return super().event(fits)

    def line(self) -> str:
        try:
            line = self._lines.get(timeout=max(0, self._by - time.monotonic()))
        except queue.Empty:
            line = None
        if line is None:
            said = "\n".join(str(each)[:300] for each in self._events[-30:])
            raise AssertionError(
                f"{self._command} says no more than\n{said}\n{self.errors[-3000:]}"
            )
        return line

    def said(self, **members: Any) -> list[Line]:
        """The lines with these members that have come and were not taken; they stay."""
        while not self._lines.empty():
            self._take()
        return [line for line in self._events if members.items() <= line.items()]

    def ask_until(self, true: Callable[[Line], bool], what: str, **order: Any) -> Line:
        """Give a fake an order again and again, until its answer is as it shall be."""
        answers: list[Line] = []

        def look() -> bool:
            answers.append(self.ask(**order))
            return true(answers[-1])

        self.until_true(look, what)
        return answers[-1]

    def end(self) -> int:
        """Close its input, and wait for its end; its exit code."""
        self.close()
        return self.wait()

    def kill(self) -> None:
        """End it at once."""
        self.child.kill()
        self.child.wait()


Start: TypeAlias = Callable[..., Peer]


@contextmanager
def starting(*before: str) -> Iterator[Start]:
    """Starts programs whose command lines begin like this, and ends those that are left."""
    with ExitStack() as stack:
        yield lambda *words: stack.enter_context(Peer(*before, *words))


def fakes() -> AbstractContextManager[Start]:
    """Starts fakes of ours."""
    return starting(sys.executable, "-P", "-m", "fleetgate", "fake")


def settings(**values: object) -> Sequence[str]:
    """`--set` for each."""
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
