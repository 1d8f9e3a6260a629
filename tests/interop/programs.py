"""Child processes that speak lines, and files that only one process at a time may build."""

import fcntl
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

PATIENCE = 150.0
"""Seconds for any one thing that a program is waited for. Only what hangs takes that long: some of
what is waited for takes 40 s where there is nothing else to do."""

LOOK_EVERY = 0.02
"""Seconds between looks at what is not told."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else is in here: tests run in two processes, and each asks for the builds."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str | Path], **options: Any) -> str:
    """Run to the end; answers stdout. A failure shows what was said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Program:
    """A child that reads and writes lines; leaving the context ends it, by the end of its input
    or, where it does not listen to that, by SIGTERM.

    Lines are taken in order by `line`. With JSON lines, `ask` sends one that has an `id` and
    waits for the answer; lines without that `id` are kept, in order, for `event`.
    """

    def __init__(
        self, command: Sequence[str | Path], *, listens: bool = True, **options: Any
    ) -> None:
        self._command = command
        self._listens = listens
        self._options = options
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._events: list[dict[str, Any]] = []
        self._answers: dict[str, dict[str, Any]] = {}
        self._asked = 0

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, text=True, bufsize=1, **self._options
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.child.poll() is None:
            if not self._listens:
                self.child.terminate()
            self.close()
            try:
                self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.child.kill()
        self.child.wait()
        self.close()
        self._reader.join(30)
        if self.child.stdout is not None:
            self.child.stdout.close()

    def until_true(self, true: Callable[[], bool], what: str) -> None:
        """Wait until it is true, for what the program does without a word."""
        limit = time.monotonic() + PATIENCE
        while not true():
            assert self.child.poll() is None, f"{self._command[0]} ended, and not: {what}"
            assert time.monotonic() < limit, f"not within {PATIENCE} s: {what}"
            time.sleep(LOOK_EVERY)

    def wait(self) -> int:
        """Its exit code, once it ends by itself."""
        return self.child.wait(PATIENCE)

    def close(self) -> None:
        """End the child's input."""
        if self.child.stdin is not None and not self.child.stdin.closed:
            with suppress(BrokenPipeError):
                self.child.stdin.close()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def say(self, line: str) -> None:
        """Write a line."""
        assert self.child.stdin is not None
        self.child.stdin.write(line + "\n")

    def line(self) -> str:
        """The next line."""
        try:
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"{self._command} says no more than {self._events}") from None
        assert line is not None, f"{self._command[0]} ended with {self.child.wait(PATIENCE)}"
        return line

    def send(self, **asked: Any) -> str:
        """Ask, and wait for nothing; answers the `id`."""
        self._asked += 1
        self.say(json.dumps({"id": str(self._asked), **asked}))
        return str(self._asked)

    def answer(self, id: str) -> dict[str, Any]:
        """The answer to what was sent under this `id`."""
        while id not in self._answers:
            self._take()
        return self._answers.pop(id)

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        return self.answer(self.send(**asked))

    def event(self, fits: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any]:
        """The next event that fits; those before it that do not are kept."""
        at = 0
        while True:
            while at == len(self._events):
                self._take()
            if fits(self._events[at]):
                return self._events.pop(at)
            at += 1

    def _take(self) -> None:
        said = json.loads(self.line())
        if said.get("id") is None:
            self._events.append(said)
        else:
            self._answers[str(said["id"])] = said
