"""What every journal must do, as a check to run against one.

`check_journal` proves an implementation by what it shows through `Journal`; `check_failing`
proves what it does while it cannot commit. What they need and the checks themselves lie beside:
`samples.py`, `checks_kept.py`, `checks_line.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from fleetgate.core.journal import checks_kept as kept
from fleetgate.core.journal import checks_line as line
from fleetgate.core.journal.checks_line import Fail, check_failing
from fleetgate.core.journal.samples import OpenJournal

__all__ = ("CHECKS", "Check", "Fail", "OpenJournal", "check_failing", "check_journal")

Check: TypeAlias = Callable[[OpenJournal], Awaitable[None]]

CHECKS: Final[Sequence[Check]] = (
    line.check_answers,
    kept.check_reading,
    kept.check_one_sequence,
    kept.check_refused_values,
    kept.check_runs,
    kept.check_filters,
    kept.check_orders,
    kept.check_keys,
    kept.check_notes,
    kept.check_forgetting,
    line.check_room,
    line.check_leaving,
    line.check_closed,
)
"""What every journal passes, one by one: for a test that shows which one failed."""


async def check_journal(open_journal: OpenJournal, *, durable: bool = True) -> None:
    """Prove a journal. `durable`: opened again, it holds what it held.

    Raises: `AssertionError`, with what was expected and what came.
    """
    for check in CHECKS:
        await check(open_journal)
    await (kept.check_reopened if durable else kept.check_forgotten)(open_journal)
