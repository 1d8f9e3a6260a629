"""What Python's collector of reference cycles is told of this program."""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 10_000
"""Objects made and not yet gone at which the youngest are looked at; Python's own figure is 700.
An event is a handful of objects, which live until they are committed and delivered and then go
without the collector. At 700 each read of a socket caused a look at what was still on its way: a
twelfth of all processor time. Cycles that nobody needs may now take some megabytes."""

OLDER: Final = 20
"""Looks at the youngest before one at those that outlived one, and so on; Python's own is 10."""


def settle() -> None:
    """Keep the collector away from what is there now, modules and config, which will stay; and
    let it look less often. For the process as a whole: only who owns it may call this."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDER)
