"""Following a run to its end, over a restart of the gateway if need be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from fleetgate.gateway.admin.client import AdminClient, Unreachable, path_of
from fleetgate.gateway.commands.printing import Sink
from fleetgate.gateway.render import Line

PATIENCE: Final = 60.0
"""Seconds that a gateway may be away before a follower gives up: a restart takes a few."""

RETRY: Final = 0.5
"""Seconds between two tries at a socket of this machine."""


async def follow(
    client: AdminClient,
    run: str,
    sink: Sink,
    *,
    after: int = 0,
    lost: Callable[[str], None] = lambda reason: None,
) -> Line:
    """Give the run's events with a number above `after` to `sink`, until it has ended; answers
    its outcome. A gateway that goes away in between is waited for, and `lost` is told.

    Raises: `AdminError`; `Unreachable` where none answers at first, or for too long.
    """
    since: float | None = None
    seen = _Seen(after)
    while True:
        try:
            outcome = await _follow_once(client, run, sink, seen)
            if outcome is not None:
                return outcome
            return await _outcome(client, run)
        except Unreachable as error:
            if seen.reached:
                seen.reached = False
                since = trio.current_time()
                lost(f"{error}; waiting for it, {PATIENCE:g} s at most")
            if since is None or trio.current_time() - since > PATIENCE:
                raise
            await trio.sleep(RETRY)


class _Seen:
    def __init__(self, after: int) -> None:
        self.after = after
        self.reached = False


async def _follow_once(client: AdminClient, run: str, sink: Sink, seen: _Seen) -> Line | None:
    path = path_of("runs", run, "events", after=seen.after, follow=1)
    async with client.stream(path) as lines:
        seen.reached = True
        async for line in lines:
            sink.event(line)
            seen.after = line["seq"]
            if line["type"] == "RunFinished":
                outcome: Line = line["outcome"]
                return outcome
    return None


async def _outcome(client: AdminClient, run: str) -> Line:
    """Of a run that had ended before `after`."""
    outcome: Line = (await client.get(path_of("runs", run)))["run"]["outcome"]
    return outcome


async def show_recorded(client: AdminClient, run: str, sink: Sink, after: int) -> None:
    """Give what is recorded by now to `sink`.

    Raises: `AdminError`, `Unreachable`.
    """
    async with client.stream(path_of("runs", run, "events", after=after)) as lines:
        async for line in lines:
            sink.event(line)
