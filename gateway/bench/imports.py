"""What a start is made of: the modules that a program imports until it is ready, and their times.

Python measures that itself (`-X importtime`), and is some tenth slower meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from fleetgate.gateway.bench.starting import Program, Start, compiled, listening, start
from fleetgate.gateway.bench.startup import NOTHING_DONE, PROGRAMS

LOOKED_AT: Final = {
    name: program
    for name, program in PROGRAMS.items()
    if name not in (NOTHING_DONE, "gateway --help")
}
"""Programs of the bench whose imports are told: the help has those of the version."""

KEPT: Final = 15
"""Modules of one program that a result names, those with the largest times of each kind."""

SHOWN: Final = 4
"""Of these, those that the table shows."""

_LINE: Final = re.compile(rb"import time: +(\d+) \| +(\d+) \| +(\S+)\s*$")


@attrs.frozen(slots=True)
class ImportSample:
    """Milliseconds that a module took: `own`, and `cumulated` with what it was the first to import.
    The least of several starts."""

    module: str
    own: float
    cumulated: float


@attrs.frozen(slots=True)
class ImportFigure:
    """A program's imports: how many modules, how many milliseconds in all, and the heaviest."""

    command: str
    modules: int
    total: float
    by_own: Sequence[ImportSample]
    by_cumulated: Sequence[ImportSample]


def measure(rounds: int, programs: Mapping[str, Program] = LOOKED_AT) -> list[ImportFigure]:
    """Start each program `rounds` times, and once before, which compiles what is not yet.

    Raises: `BenchFailed`, `OSError`.
    """
    with compiled() as environment, listening(programs, environment) as peers:
        return [
            sum_up(
                name,
                [
                    times_of(start(name, _told(program), environment, peers))
                    for _ in range(1 + rounds)
                ][1:],
            )
            for name, program in programs.items()
        ]


def _told(program: Program) -> Program:
    return attrs.evolve(program, words=("-X", "importtime", *program.words))


def times_of(started: Start) -> dict[str, tuple[int, int]]:
    """Of each module that Python tells of, its own microseconds and the cumulated ones."""
    found = (_LINE.match(line) for line in started.lines)
    return {each[3].decode(): (int(each[1]), int(each[2])) for each in found if each is not None}


def sum_up(name: str, starts: Sequence[Mapping[str, tuple[int, int]]]) -> ImportFigure:
    """What the starts of a program come to; its modules are those of the last one."""
    samples = [
        ImportSample(module, *(min(each) / 1000 for each in zip(*times, strict=True)))
        for module in starts[-1]
        if (times := [each[module] for each in starts if module in each])
    ]
    return ImportFigure(
        command=name,
        modules=len(samples),
        total=sum(each.own for each in samples),
        by_own=sorted(samples, key=lambda each: -each.own)[:KEPT],
        by_cumulated=sorted(samples, key=lambda each: -each.cumulated)[:KEPT],
    )


HEAD: Final = ("imports of", "modules", "all, ms", "largest by themselves, ms", "with theirs, ms")


def row(figure: ImportFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        figure.command,
        str(figure.modules),
        f"{figure.total:.0f}",
        _words((each.module, each.own) for each in figure.by_own[:SHOWN]),
        _words((each.module, each.cumulated) for each in figure.by_cumulated[:SHOWN]),
    )


def _words(times: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{module} {taken:.0f}" for module, taken in times)
