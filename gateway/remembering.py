"""What a link wants the entry's later links to know, durable before it is spoken of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import trio

from fleetgate.core.journal.api import Done
from fleetgate.gateway.outbox import Outbox

Remember: TypeAlias = Callable[[str, Done], None]
"""Keeps a text for the entry's later links; `Done` hears once it is durable, or of the failure."""


def forget(text: str, done: Done) -> None:
    """Keep nothing."""
    done(None)


def keep(text: str, remember: Remember, outbox: Outbox, broken: Callable[[str], None]) -> None:
    """Have a text remembered. What is put into the outbox from now on leaves once it is durable; if
    it cannot be kept, `broken` hears of it and nothing of that ever leaves."""
    kept = trio.Event()
    outbox.bar(kept)

    def done(error: Exception | None) -> None:
        if error is None:
            kept.set()
        else:
            broken(f"what is to be remembered was not kept: {error}")

    remember(text, done)
