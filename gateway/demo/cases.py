"""The runs of the show. Each is a real command; its prompt is a line for the host's shell."""

from __future__ import annotations

from typing import Final

import attrs

MARKS: Final = "FLEETGATE_DEMO_MARKS"
"""The environment variable of the host that names the directory of marks."""

LINES: Final = 3000
TICKS: Final = 50
KILL_AT: Final = "tick 12"
"""The output at which the gateway is killed."""


@attrs.frozen(slots=True)
class Case:
    """One run. `model` is what a route tells runs apart by; `text` is all that it must produce;
    `state` is how the client must see it end."""

    name: str
    title: str
    command: str
    text: str
    state: str
    model: str = ""

    @property
    def prompt(self) -> str:
        """The command, with a mark left behind each time that it is executed."""
        return f'echo x >> "${MARKS}/{self.name}"; {self.command}'


def _count(word: str, upto: int, pause: str = "") -> str:
    step = f"{pause}; i=$((i+1))" if pause else "i=$((i+1))"
    return f'i=0; while [ $i -lt {upto} ]; do echo "{word} $i"; {step}; done'


def _lines(word: str, upto: int) -> str:
    return "".join(f"{word} {number}\n" for number in range(upto))


LONG: Final = Case(
    "long", f"{LINES} lines of output", _count("line", LINES), _lines("line", LINES), "succeeded"
)
STDIN: Final = Case(
    "stdin",
    "answers from standard input, one before the kill and one after",
    'echo name?; read -r a; echo colour?; read -r b; echo "$a likes $b"',
    "name?\ncolour?\nada likes green\n",
    "succeeded",
)
EXIT: Final = Case(
    "exit-3", "a non-zero exit", "echo about to fail >&2; exit 3", "about to fail\n", "failed"
)
CANCEL: Final = Case(
    "cancel", "canceled by the client", "echo waiting; exec sleep 600", "waiting\n", "canceled"
)
TIMEOUT: Final = Case(
    "timeout",
    "ended by its timeout of 2 s",
    "echo slow; exec sleep 600",
    "slow\n",
    "failed",
    model="short",
)
TICKER: Final = Case(
    "ticker",
    "output while the gateway is killed and started again",
    _count("tick", TICKS, "sleep 0.1"),
    _lines("tick", TICKS),
    "succeeded",
)
AFTER: Final = Case(
    "after", "started after the restart", "echo still here", "still here\n", "succeeded"
)

BEFORE_THE_KILL: Final = (LONG, STDIN, EXIT, CANCEL, TIMEOUT, TICKER)
CASES: Final = (*BEFORE_THE_KILL, AFTER)
