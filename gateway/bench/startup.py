"""`gateway bench startup`: how long a short command takes, beside an interpreter that does
nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

import attrs

from fleetgate.gateway.bench.figures import percentile
from fleetgate.gateway.bench.starting import Program, compiled, listening, start

_US: Final = ("-P", "-m", "fleetgate")


def _fake(name: str, *words: str, dials: str | None = None) -> Program:
    beyond = None if dials is None else _fake_ready(dials)
    return Program((*_US, "fake", name, *words), goes_on=True, dials=beyond)


def _fake_ready(name: str) -> str:
    return f"gateway fake {name} … ready"


_FAKES: Final = {
    "agency-client": _fake("agency-client", "--socket", "{peer}", dials="agency-daemon"),
    "agency-daemon": _fake("agency-daemon", "--socket", "{0}/d"),
    "iop-edge": _fake("iop-edge", "--listen", "grpc://127.0.0.1:0", "--token", "t"),
    "iop-node": _fake("iop-node", "--connect", "{peer}", "--token", "t", dials="iop-edge"),
    "kodelet-control-plane": _fake("kodelet-control-plane", "--listen", "127.0.0.1:0"),
    "kodelet-runner": _fake(
        *("kodelet-runner", "--server", "{peer}", "--workspace", "{0}", "--state", "{0}/k"),
        dials="kodelet-control-plane",
    ),
    "rvbox-client": _fake(
        *("rvbox-client", "--connect", "{peer}", "--client-id", "c", "--state", "{0}/r"),
        dials="rvbox-server",
    ),
    "rvbox-server": _fake("rvbox-server", "--listen", "ws://127.0.0.1:0/agent"),
}

NOTHING_DONE: Final = "python, nothing"
"""The measure of the others."""

PROGRAMS: Final[Mapping[str, Program]] = {
    NOTHING_DONE: Program(("-P", "-c", "pass")),
    "gateway version": Program((*_US, "version")),
    "gateway --help": Program((*_US, "--help")),
    **{_fake_ready(name): program for name, program in _FAKES.items()},
    "gateway serve … ready": Program((*_US, "serve", "--config", "{0}/gateway.toml"), goes_on=True),
}
"""What is started, by name. A fake that dials is ready when its peer is, so there is one for all of
its starts, and it is there before the first."""


@attrs.frozen(slots=True)
class StartupPlan:
    """Every command `rounds` times; they take turns. The first round, which finds the files not
    yet in memory, does not count. Then the imports of each, in `imports` starts of its own."""

    rounds: int = 20
    imports: int = 5


PLAN: Final = StartupPlan()

QUICK: Final = StartupPlan(rounds=2, imports=1)


@attrs.frozen(slots=True)
class StartupSample:
    """Nanoseconds from before a process was made until it had ended, or was ready."""

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


def measure(plan: StartupPlan, programs: Mapping[str, Program] = PROGRAMS) -> list[StartupSample]:
    """Run them.

    Raises: `BenchFailed`, `OSError`.
    """
    with compiled() as environment, listening(programs, environment) as peers:
        rounds = [
            [
                StartupSample(name, start(name, program, environment, peers).taken)
                for name, program in programs.items()
            ]
            for _ in range(1 + plan.rounds)
        ]
    return [sample for each in rounds[1:] for sample in each]


def sum_up(samples: Iterable[StartupSample]) -> list[StartupFigure]:
    """What the samples come to, a figure for each command."""
    groups: dict[str, list[int]] = {}
    for sample in samples:
        groups.setdefault(sample.command, []).append(sample.taken)
    base = median(groups[NOTHING_DONE])
    return [
        StartupFigure(
            command=name,
            p50=median(taken) / 1e6,
            p90=percentile(taken, 90) / 1e6,
            least=min(taken) / 1e6,
            ratio=median(taken) / base,
        )
        for name, taken in groups.items()
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
