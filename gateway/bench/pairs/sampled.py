"""A bridge of a pair that says where its time went: `python -m
fleetgate.gateway.bench.pairs.sampled NORTH SOUTH UPPER LOWER JOURNAL`.

It is the subject of the part `pairs`, and says `ready` as that does. Told `begin` it begins to look
at itself, and says `begun`; told `end` it says what it found on a line of JSON.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import attrs
import trio

from fleetgate.gateway.bench.pairs.subject import bridge, say
from fleetgate.gateway.bench.sampler import Sampler, Spot

BEGIN: Final = "begin"
BEGUN: Final = "begun"
END: Final = "end"


async def sample(lines: Iterator[str]) -> None:
    """Look as long as the lines say, once."""
    sampler = Sampler()
    # To no other thread: SQLite's is to be interrupted by nothing that it would not be without us.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    while (line := await trio.to_thread.run_sync(next, lines, None)) is not None:
        if line.strip() == BEGIN:
            sampler.begin()
            say(BEGUN)
        else:
            say(json.dumps([attrs.astuple(spot) for spot in sampler.end()]))


def read_spots(line: str) -> list[Spot] | None:
    """What such a bridge found; None for any other line."""
    if not line.startswith('[["'):
        return None
    return [Spot(*each) for each in json.loads(line)]


def main(args: Sequence[str]) -> None:
    """Run such a bridge."""
    north, south, upper, lower, journal = args
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    trio.run(bridge, north, south, (upper, lower), journal, partial(sample, iter(sys.stdin)))


if __name__ == "__main__":
    main(sys.argv[1:])
