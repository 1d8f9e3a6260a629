"""What came to no figure, and why. One trial that fails is no reason to lose all the others."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeVar, cast

import attrs

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.bench.task import BenchFailed

_T = TypeVar("_T")

TRIES: Final = 2
"""How often a trial is begun: another process may have taken a port of it, or a processor."""


@attrs.define
class Losses:
    """Trials without a result, each as one line."""

    lines: list[str] = attrs.field(factory=list[str])

    async def attempt(self, name: str, trial: Callable[[], Awaitable[_T]]) -> _T | None:
        """The trial's result, of its second try where the first one failed; None, and a line, where
        both did."""
        why = ""
        for _ in range(TRIES):
            try:
                return await trial()
            except (BenchFailed, JournalError, OSError, ExceptionGroup) as error:
                why = _words(cast("Exception", error))
                sys.stderr.write(f"{name}: {why}\n")
        self.lines.append(f"{name}: {why.partition(chr(10))[0]}")
        return None


def _words(error: Exception) -> str:
    """What went wrong: of several things our own word for it, or the first."""
    found = list(_each(error))
    first = next((each for each in found if isinstance(each, BenchFailed)), found[0])
    return str(first) or repr(first)


def _each(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in cast("ExceptionGroup[Exception]", error).exceptions:
            yield from _each(inner)
    else:
        yield error
