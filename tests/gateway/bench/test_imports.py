"""The modules of a start: how Python tells of them, and what they come to. Never how fast."""

from __future__ import annotations

from fleetgate.gateway.bench import imports
from fleetgate.gateway.bench.imports import ImportFigure, ImportSample
from fleetgate.gateway.bench.starting import Start
from fleetgate.gateway.bench.startup import PROGRAMS
from fleetgate.gateway.fakes.cli import FAKES

SAID = b"""\
import time: self [us] | cumulative | imported package
import time:       900 |        900 |   attrs
import time:       100 |       1000 | fleetgate.core
{"event":"ready","address":"unix:/d"}
"""


def test_the_modules_of_a_real_program_are_told() -> None:
    (figure,) = imports.measure(1, {"gateway version": PROGRAMS["gateway version"]})
    assert figure.command == "gateway version"
    assert figure.modules > len(figure.by_own) == len(figure.by_cumulated) == imports.KEPT
    assert "fleetgate.gateway.cli" in {each.module for each in figure.by_cumulated}


def test_every_program_of_the_bench_is_looked_at() -> None:
    fakes = {f"gateway fake {name} … ready" for name in FAKES}
    assert set(imports.LOOKED_AT) == {"gateway version", "gateway serve … ready", *fakes}


def test_what_else_a_program_says_is_no_import() -> None:
    times = imports.times_of(Start(1, SAID.splitlines(keepends=True)))
    assert times == {"attrs": (900, 900), "fleetgate.core": (100, 1000)}


def test_the_least_of_several_starts_counts_and_the_heaviest_stand_first() -> None:
    figure = imports.sum_up(
        "p", [{"a": (5000, 9000), "b": (3000, 3000)}, {"a": (2000, 8000)} | {"b": (4000, 4000)}]
    )
    a, b = ImportSample("a", 2, 8), ImportSample("b", 3, 3)
    assert figure == ImportFigure("p", 2, 5, [b, a], [a, b])
    assert imports.row(figure) == ("p", "2", "5", "b 3, a 2", "a 8, b 3")
    assert len(imports.HEAD) == len(imports.row(figure))
