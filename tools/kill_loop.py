"""Play `gateway demo` again and again, and add up what its kills cost.

    python tools/kill_loop.py [ROUNDS]    10 if it is not said

Each round is the whole demo: its gateway is killed with SIGKILL in the middle of runs and started
again. The last line is `kills N lost N duplicated N`; exit code 0 where every round held. A round
that could not be played to its end counts as one that did not hold, and its words are shown.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import attrs

ROUNDS = 10
WITHIN = 120
"""Seconds for one round; the demo gives up by itself after 45 s."""


@attrs.define
class Total:
    """What the rounds came to. `broken` did not hold, or were not played to their end."""

    kills: int = 0
    lost: int = 0
    duplicated: int = 0
    broken: int = 0

    def add(self, summary: dict[str, Any]) -> None:
        """Count a round's summary; an empty one is of a round without an end."""
        self.kills += summary.get("restarts", 0)
        self.lost += summary.get("lost", 0)
        self.duplicated += summary.get("duplicated", 0)
        self.broken += summary.get("ok") is not True

    def __str__(self) -> str:
        said = f"kills {self.kills} lost {self.lost} duplicated {self.duplicated}"
        return f"{said}; {self.broken} round(s) did not hold" if self.broken else said


def play() -> dict[str, Any]:
    """One round; answers its summary, empty where it has none."""
    command = [sys.executable, "-P", "-m", "fleetgate", "demo", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"a round took more than {WITHIN} s\n")
        return {}
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        bad = [f"{line['run']}: {line['problems']}" for line in lines if line.get("problems")]
        sys.stderr.write("\n".join([*bad, done.stderr]))
    summaries = [line for line in lines if line.get("event") == "summary"]
    return summaries[-1] if summaries else {}


def main(argv: Sequence[str]) -> int:
    """Play the rounds. 0 where all of them held, 1 if not, 2 for words that make no sense."""
    if len(argv) > 1 or not all(word.isdecimal() and int(word) for word in argv):
        sys.stderr.write("usage: kill_loop.py [ROUNDS], a number above 0\n")
        return 2
    total = Total()
    for _ in range(int(argv[0]) if argv else ROUNDS):
        total.add(play())
        sys.stderr.write(f"{total}\n")
    sys.stdout.write(f"{total}\n")
    return 1 if total.broken or total.lost or total.duplicated or not total.kills else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
