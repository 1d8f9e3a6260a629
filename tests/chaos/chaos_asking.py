"""How a producer asks a hub, in virtual time and beside real processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from fleetgate.core.errors import RunEnded, Unavailable


async def insist(ask: Callable[[], Awaitable[object]]) -> bool:
    """Ask until it is answered, again in the same words where it is not known what became of it.
    Whether it was accepted."""
    while True:
        try:
            await ask()
            return True
        except Unavailable:
            await trio.sleep(1)
        except RunEnded:
            return False
