"""`gateway bench startup`: how long a short command takes, beside an interpreter that does
nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import attrs

from fleetgate.gateway.bench.figures import percentile
from fleetgate.gateway.bench.subjects import config_text
from fleetgate.gateway.bench.task import BenchFailed

COMMANDS: Final = {
    "python, nothing": ("-P", "-c", "pass"),
    "gateway version": ("-P", "-m", "fleetgate", "version"),
    "gateway --help": ("-P", "-m", "fleetgate", "--help"),
}
"""The commands by name, as words for the interpreter that runs us. The first is the measure of
the others."""

_FAKE: Final = ("-P", "-m", "fleetgate", "fake")

SERVICES: Final = {
    "gateway fake agency-daemon … ready": (*_FAKE, "agency-daemon", "--socket", "{}/d"),
    "gateway fake iop-edge … ready": (
        *(*_FAKE, "iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", "t"),
    ),
    "gateway fake kodelet-control-plane … ready": (
        *(*_FAKE, "kodelet-control-plane", "--listen", "127.0.0.1:0"),
    ),
    "gateway fake rvbox-server … ready": (
        *(*_FAKE, "rvbox-server", "--listen", "ws://127.0.0.1:0/agent"),
    ),
    "gateway serve … ready": ("-P", "-m", "fleetgate", "serve", "--config", "{}/gateway.toml"),
}
"""Commands that go on. They are timed until they have said that they are ready, and `{}` is a new
directory with a config in it. Fakes that dial are ready when their peer is: they are not here."""

_READY: Final = (b'"ready"', b'"gateway_ready"')

END_WITHIN: Final = 60.0
"""Seconds that one of them may take."""


@attrs.frozen(slots=True)
class StartupPlan:
    """Every command `rounds` times; they take turns. The first round, which finds the files not
    yet in memory, does not count."""

    rounds: int = 20


@attrs.frozen(slots=True)
class StartupSample:
    """Nanoseconds from before a process was made until it had ended."""

    command: str
    taken: int


@attrs.frozen(slots=True)
class StartupFigure:
    """Milliseconds. `ratio` is the median over that of the interpreter that does nothing."""

    command: str
    p50: float
    p90: float
    least: float
    ratio: float


def measure(plan: StartupPlan) -> list[StartupSample]:
    """Run them.

    Raises: `BenchFailed`, `OSError`.
    """
    rounds = [_round() for _ in range(1 + plan.rounds)]
    return [sample for each in rounds[1:] for sample in each]


def _round() -> list[StartupSample]:
    commands = [StartupSample(name, _time(name, words)) for name, words in COMMANDS.items()]
    return [
        *commands,
        *(StartupSample(name, _until_ready(name, w)) for name, w in SERVICES.items()),
    ]


def _until_ready(name: str, words: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        place = Path(directory)
        (place / "gateway.toml").write_text(config_text(place, place))
        begun = time.monotonic_ns()
        with subprocess.Popen(
            (sys.executable, *(word.format(directory) for word in words)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            late = threading.Timer(END_WITHIN, process.kill)
            late.start()
            try:
                taken = _ready_after(process, begun)
            finally:
                late.cancel()
                process.kill()
    if taken is None:
        raise BenchFailed(f"{name}: it never said that it was ready")
    return taken


def _ready_after(process: subprocess.Popen[bytes], begun: int) -> int | None:
    assert process.stdout is not None
    for line in process.stdout:
        if any(word in line for word in _READY):
            return time.monotonic_ns() - begun
    return None


def _time(name: str, words: Sequence[str]) -> int:
    begun = time.monotonic_ns()
    try:
        ended = subprocess.run(
            (sys.executable, *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=END_WITHIN,
        )
    except subprocess.TimeoutExpired:
        raise BenchFailed(f"{name} took more than {END_WITHIN:.0f} s") from None
    taken = time.monotonic_ns() - begun
    if ended.returncode != 0:
        said = ended.stderr.decode("utf-8", "replace").strip()[-500:]
        raise BenchFailed(f"{name} ended with exit code {ended.returncode}: {said}")
    return taken


def sum_up(samples: Iterable[StartupSample]) -> list[StartupFigure]:
    """What the samples come to, a figure for each command."""
    groups: dict[str, list[int]] = {name: [] for name in (*COMMANDS, *SERVICES)}
    for sample in samples:
        groups[sample.command].append(sample.taken)
    base = median(next(iter(groups.values())))
    return [
        StartupFigure(
            command=name,
            p50=median(taken) / 1e6,
            p90=percentile(taken, 90) / 1e6,
            least=min(taken) / 1e6,
            ratio=median(taken) / base,
        )
        for name, taken in groups.items()
        if taken
    ]


HEAD: Final = ("command", "p50, ms", "p90, ms", "least, ms", "over doing nothing")


def row(figure: StartupFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        figure.command,
        f"{figure.p50:.0f}",
        f"{figure.p90:.0f}",
        f"{figure.least:.0f}",
        f"{figure.ratio:.1f}",
    )
