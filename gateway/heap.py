"""What Python's collector of reference cycles, and its lock, are told of this program."""

from __future__ import annotations

import gc
import sys
from typing import Final

YOUNG: Final = 10_000
"""Objects made and not yet gone at which the youngest are looked at; Python's own figure is 700.
An event is a handful of objects, which live until they are committed and delivered and then go
without the collector. At 700 each read of a socket caused a look at what was still on its way: a
twelfth of all processor time. Cycles that nobody needs may now take some megabytes."""

OLDER: Final = 20
"""Looks at the youngest before one at those that outlived one, and so on; Python's own is 10."""

SWITCH: Final = 0.0005
"""Seconds that the journal's thread waits at most until the event loop, where it is at work, lets
it have the interpreter. Python's own figure is 5 ms, and a commit waits for it some five times."""


def hold() -> None:
    """Let the collector rest until `release` or `settle`, while the program is loaded: what that
    makes stays, and to look through it again and again is a twentieth of a start. For the process
    as a whole: only who owns it may call this."""
    gc.disable()


def release() -> None:
    """The end of `hold`; where it was not called nothing happens. What is there stays."""
    if not gc.isenabled():
        # Not collected first: that takes as long as the import of trio, and frees a megabyte.
        gc.freeze()
        gc.enable()


def settle() -> None:
    """Keep the collector away from what is there now, modules and config, which will stay, and
    let it look less often; and let threads take turns more often. For the process as a whole: only
    who owns it may call this."""
    gc.disable()
    release()
    sys.setswitchinterval(SWITCH)
    gc.set_threshold(YOUNG, OLDER, OLDER)
