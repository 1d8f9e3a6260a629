"""What each pair plays, and the script that its workers play it by."""

from __future__ import annotations

import json
from typing import Final

import attrs

from fleetgate.gateway.demo.every.speakers import Pair

LINES: Final = 100
TICKS: Final = 40
PAUSE_MS: Final = 250


@attrs.frozen(slots=True)
class Scene:
    """One run of a pair. `cut`: the gateway is killed while it is at work."""

    word: str
    lines: int
    pause_ms: int = 0
    cut: bool = False

    @property
    def text(self) -> str:
        """All that it says."""
        return "".join(self._line(number) for number in range(self.lines))

    def _line(self, number: int) -> str:
        return f"{self.word} {number}\n"

    def lasts(self, pair: Pair) -> bool:
        """Whether it is to come to its own end."""
        return pair.resumes or not self.cut

    def rule(self) -> str:
        """The rule of the workers' script that says it."""
        pause = f", {{ sleep_ms = {self.pause_ms} }}" if self.pause_ms else ""
        steps = (f"{{ text = {json.dumps(self._line(at))} }}{pause}" for at in range(self.lines))
        return f'[[when]]\nmatch = "{self.word}"\ndo = [{", ".join(steps)}]\n'


QUICK: Final = Scene("quick", LINES)
TICKER: Final = Scene("ticker", TICKS, PAUSE_MS, cut=True)
AFTER: Final = Scene("after", LINES)
SCENES: Final = (QUICK, TICKER, AFTER)


def script() -> str:
    """The script of all workers."""
    return "\n".join(scene.rule() for scene in SCENES)
