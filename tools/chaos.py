"""The kill loop: a gateway that is a real process, killed with SIGKILL again and again.

    python tools/chaos.py [--kills N] [--seed S] [--round N] [--json]

One gateway has all sixteen bridges and an SQLite journal. It is killed inside commits, while it
reconciles with workers, while it replays to controllers, and at random. Beside every other of
those KILLS one of its four workers is killed, each a process of its own, which begins anew.
Controllers are in this process, on real sockets, and outlive them all. Behind every ROUND kills one
judge looks at every run.
The seed is of what is drawn: runs, kinds and points of kills. What the machine does in between is
its own, so a seed that did not hold is worth playing again, and need not fail again. Exit code 1
where something was wrong, or where all of it proves nothing.
"""

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "chaos"))

from chaos_hosts import PROTOCOLS
from chaos_judge import Demands, Tally
from chaos_lives import KINDS
from chaos_loop import play_round

from fleetgate.gateway.demo.every.speakers import PAIRS

WORKERS = tuple(f"worker {protocol}" for protocol in PROTOCOLS)
KILLS = 20
ROUND = 50
LEAST = 16
"""Kills that can have seen everything; fewer are judged, and prove little."""


def demands(kills: int) -> Demands:
    """What so many kills must have seen, or they prove nothing."""
    return Demands(
        runs=kills * 4,
        events=kills * 40,
        suppressed=kills * 2,
        phases=frozenset({*KINDS, *WORKERS}),
        fallen=frozenset(PROTOCOLS),
    )


def uncrossed(crossed: Counter[str]) -> list[str]:
    """The pairs that no kill has met at work."""
    names = (pair.name for pair in PAIRS)
    return [f"vacuous: no kill met a run of {name}" for name in names if not crossed[name]]


def summary(total: Tally, problems: int) -> str:
    """The last line."""
    kills = ", ".join(f"{name} {total.kills[name]}" for name in (*KINDS, *WORKERS))
    fallen = ", ".join(f"{name} {total.fallen[name]}" for name in PROTOCOLS)
    ends = ", ".join(f"{name} {count}" for name, count in sorted(total.ends.items()))
    return (
        f"kills {total.kills.total()} ({kills}); runs {total.runs} ({ends}); at workers that were "
        f"killed {total.fallen.total()} ({fallen}); events {total.events}; duplicates suppressed "
        f"{total.suppressed}; problems {problems}"
    )


def main(argv: Sequence[str]) -> int:
    """Play what is asked for."""
    parser = argparse.ArgumentParser(prog="chaos.py")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--round", type=int, default=ROUND, metavar="KILLS")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    # Links that a killed gateway cuts in mid-handshake are what is wanted here, and no news.
    logging.getLogger().addHandler(logging.NullHandler())
    total, crossed, problems = Tally(), Counter[str](), list[str]()
    left, number = given.kills, 0
    while left > 0:
        seed = given.seed if not number else f"{given.seed}+{number}"
        played = trio.run(play_round, seed, min(left, given.round), _say)
        total.add(played.tally)
        crossed += played.crossed
        found = [f"seed {seed}: {problem}" for problem in played.problems]
        problems += found
        _say("\n".join(found))
        left, number = left - given.round, number + 1
        _say(summary(total, len(problems)))
    if given.kills >= LEAST:
        unmet = demands(given.kills).unmet(total) + uncrossed(crossed)
        problems += unmet
        _say("\n".join(unmet))
    again = f"just chaos --kills {given.kills} --seed {given.seed}"
    if problems:
        _say(f"again, as far as it goes: {again}")
    last = {"kills": dict(total.kills), "runs": total.runs, "ends": dict(total.ends)}
    last |= {"events": total.events, "suppressed": total.suppressed, "crossed": dict(crossed)}
    last |= {"fallen": dict(total.fallen)}
    last |= {"seed": given.seed, "problems": problems}
    sys.stdout.write((json.dumps(last) if given.json else summary(total, len(problems))) + "\n")
    return 1 if problems else 0


def _say(text: str) -> None:
    if text:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
