"""Trials in virtual time: seeds across all pairs of protocols, each judged.

    python tools/chaos_seeds.py [COUNT] [--from N] [--pair NORTH-SOUTH] [--seed S] [--twisted]
                                [--within SECONDS]

COUNT trials (160 if it is not said) go round the sixteen pairs, of every ten one `twisted`, with
links that change what they carry. `--seed S` plays one seed alone. A trial that does not hold is
shown with the command that plays it again, frame by frame; so is one that comes to no end, with
where it was. `--within` ends the round early, and says how far it came. Exit code 1 where one did
not hold, or where all of it proves nothing.
"""

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "chaos"))

from chaos_allowance import POWERS
from chaos_judge import Demands, Tally
from chaos_plan import HONEST, PHASES
from chaos_world import try_seed

PAIRS = [f"{north}-{south}" for north in POWERS for south in POWERS]
TWISTED_EVERY = 10
ENOUGH = Demands(
    runs=1000,
    events=10_000,
    suppressed=100,
    phases=frozenset(PHASES),
    faults=frozenset(HONEST),
)
"""What 160 trials must have seen, or they prove nothing."""
LEAST = 160
ENDLESS = 60.0
"""Seconds of a processor behind which a trial, which takes one or two, has no end: tasks that wake
each other in one instant of virtual time."""

Asked = tuple[str, str, bool]


def trials(first: int) -> Iterator[Asked]:
    """Pair, seed, twisted: without end."""
    number = first * len(PAIRS)
    while True:
        seed = number // len(PAIRS)
        yield PAIRS[number % len(PAIRS)], str(seed), seed % TWISTED_EVERY == TWISTED_EVERY - 1
        number += 1


class Endless(BaseException):
    """A trial comes to no end. What catches every `Exception` must not keep this one."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raises: `Endless`, wherever the body is after so many seconds of the processor."""

    def end(*_: object) -> None:
        raise Endless(f"not over after {seconds:g} s of a processor")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def play(asked: Asked, endless: float = ENDLESS) -> tuple[Tally, str]:
    """One trial; what there was, and what was wrong with it."""
    pair, seed, twisted = asked
    try:
        with bounded(endless):
            trial = try_seed(pair, seed, twisted=twisted)
    except (Exception, BaseExceptionGroup, Endless) as error:
        # Whatever it is, the round goes on, and this one did not hold.
        again = f"just chaos-seeds --pair {pair} --seed {seed}{' --twisted' if twisted else ''}"
        return Tally(), f"{''.join(traceback.format_exception(error))}{again}"
    return trial.tally, trial.report() if trial.problems else ""


def play_round(asked: Sequence[Asked], jobs: int, within: float) -> int:
    """All of them. 0 where they held."""
    total, bad, done = Tally(), 0, 0
    until = time.monotonic() + within
    with ProcessPoolExecutor(jobs) as pool:
        for tally, report in pool.map(play, asked, chunksize=4):
            total.add(tally)
            done += 1
            if report:
                bad += 1
                sys.stdout.write(f"{report}\n\n")
                sys.stdout.flush()
            if time.monotonic() > until:
                pool.shutdown(cancel_futures=True)
                break
    unmet = ENOUGH.unmet(total) if done >= LEAST else []
    said = "".join(f"{line}\n" for line in unmet)
    sys.stdout.write(f"{said}{done} of {len(asked)} trials, {bad} did not hold; {total}\n")
    return 1 if bad or unmet else 0


def main(argv: Sequence[str]) -> int:
    """Play what is asked for."""
    parser = argparse.ArgumentParser(prog="chaos_seeds.py")
    parser.add_argument("count", nargs="?", type=int, default=LEAST)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="N")
    parser.add_argument("--pair", choices=PAIRS)
    parser.add_argument("--seed")
    parser.add_argument("--twisted", action="store_true")
    parser.add_argument("--within", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(argv)
    if given.seed is not None:
        pairs = [given.pair] if given.pair else PAIRS
        asked = [(pair, given.seed, given.twisted) for pair in pairs]
    else:
        every = (each for each in trials(given.first) if given.pair in (None, each[0]))
        asked = list(islice(every, given.count))
    return play_round(asked, given.jobs, given.within)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
