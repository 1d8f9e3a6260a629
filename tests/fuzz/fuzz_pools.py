"""Values of the core to work with: drawn once, the same ones in every process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core import testing as drawn
from fleetgate.core.worker import InputKind, kind_of


@cache
def pool(make: Callable[[], SearchStrategy[Any]], count: int = 100) -> tuple[Any, ...]:
    """Values of a strategy, the same ones in every process."""
    found: list[Any] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(make())
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return tuple(found)


@cache
def specs_for(inputs: frozenset[InputKind]) -> tuple[c.RunSpec, ...]:
    """What a worker that takes these inputs may be given."""
    return tuple(spec for spec in pool(drawn.specs, 80) if kind_of(spec.input) in inputs)


def plain() -> SearchStrategy[Any]:
    """What a busy worker says most."""
    return drawn.events(e.TextProduced, e.OutputProduced)


def ends() -> SearchStrategy[Any]:
    """Ends of runs."""
    return drawn.events(e.RunFinished)
