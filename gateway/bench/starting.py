"""One start of a program in a process of its own, until it has ended or is ready."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import attrs

from fleetgate.core.json import NOTHING
from fleetgate.gateway.bench.subjects import config_text
from fleetgate.gateway.bench.task import BenchFailed

_READY: Final = (b'"ready"', b'"gateway_ready"')

END_WITHIN: Final = 60.0
"""Seconds that a start may take."""


@attrs.frozen(slots=True)
class Program:
    """What is started: words for the interpreter that runs us. In them `{0}` is a new directory
    with a config in it, and `{peer}` where the program that it `dials` listens. `goes_on`: it is
    timed until it has said that it is ready, and otherwise until it has ended."""

    words: Sequence[str]
    goes_on: bool = False
    dials: str | None = None


@attrs.frozen(slots=True)
class Start:
    """Nanoseconds from before a process was made until it had ended or was ready, and the lines
    that it had said by then."""

    taken: int
    lines: Sequence[bytes]


@contextmanager
def compiled() -> Generator[Mapping[str, str]]:
    """An environment in which Python keeps what it compiles, in a new directory: whoever installs a
    wheel has that, and a checkout that may write, whatever is set where the bench runs."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": directory}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        yield environment


@contextmanager
def listening(
    programs: Mapping[str, Program], environment: Mapping[str, str]
) -> Generator[Mapping[str, str]]:
    """Those of the programs that others of them dial, running, and where each listens.

    Raises: `BenchFailed`, `OSError`.
    """
    with ExitStack() as stack:
        yield {
            name: _address(stack.enter_context(started(name, programs[name], environment)))
            for name in dict.fromkeys(each.dials for each in programs.values())
            if name is not None
        }


def start(
    name: str,
    program: Program,
    environment: Mapping[str, str],
    peers: Mapping[str, str] = NOTHING,
) -> Start:
    """Start a program, wait until it has ended or is ready, and end it. `peers` are where those
    listen that it may dial.

    Raises: `BenchFailed`, `OSError`.
    """
    with started(name, program, environment, peers) as begun:
        return begun


@contextmanager
def started(
    name: str,
    program: Program,
    environment: Mapping[str, str],
    peers: Mapping[str, str] = NOTHING,
) -> Generator[Start]:
    """The same, and it runs as long as the block lasts. What it goes on to say nobody reads.

    Raises: `BenchFailed`, `OSError`.
    """
    peer = "" if program.dials is None else peers[program.dials]
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        place = Path(directory)
        (place / "gateway.toml").write_text(config_text(place, place))
        begun = time.monotonic_ns()
        with subprocess.Popen(
            (sys.executable, *(word.format(directory, peer=peer) for word in program.words)),
            stdin=subprocess.PIPE if program.goes_on else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
        ) as process:
            try:
                made = _watched(name, program, process, begun)
                with _drained(process):
                    yield made
            finally:
                process.kill()


def _watched(name: str, program: Program, process: subprocess.Popen[bytes], begun: int) -> Start:
    late = threading.Timer(END_WITHIN, process.kill)
    late.start()
    try:
        return _started(name, program, process, begun)
    finally:
        late.cancel()


def _started(name: str, program: Program, process: subprocess.Popen[bytes], begun: int) -> Start:
    assert process.stdout is not None
    lines: list[bytes] = []
    for line in process.stdout:
        lines.append(line)
        if program.goes_on and any(word in line for word in _READY):
            return Start(time.monotonic_ns() - begun, lines)
    code = process.wait()
    taken = time.monotonic_ns() - begun
    if taken >= END_WITHIN * 1e9:
        raise BenchFailed(f"{name} took more than {END_WITHIN:.0f} s")
    if code != 0:
        said = b"".join(lines).decode("utf-8", "replace").strip()[-500:]
        raise BenchFailed(f"{name} ended with exit code {code}: {said}")
    if program.goes_on:
        raise BenchFailed(f"{name}: it never said that it was ready")
    return Start(taken, lines)


@contextmanager
def _drained(process: subprocess.Popen[bytes]) -> Generator[None]:
    """Read on, for a full pipe would stop it in the middle of a line. It is killed in the end."""
    assert process.stdout is not None
    reader = threading.Thread(target=deque, args=(process.stdout, 0), daemon=True)
    reader.start()
    try:
        yield
    finally:
        process.kill()
        reader.join()  # its file must not be closed under it


def _address(start: Start) -> str:
    """Where a fake listens, as the options of another take it."""
    address: str = json.loads(start.lines[-1])["address"]
    return address.removeprefix("unix:")
