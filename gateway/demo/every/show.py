"""What the audience sees of all pairs: a matrix that changes, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from fleetgate.gateway.demo.every.judge import Verdict
from fleetgate.gateway.demo.every.scenes import Scene
from fleetgate.gateway.demo.every.speakers import PAIRS, SPEAKERS, Pair


def summary_of(verdicts: Sequence[Verdict], restarts: int) -> dict[str, Any]:
    """The last object of `--json`."""
    return {
        "event": "summary",
        "ok": bool(verdicts) and all(each.good for each in verdicts),
        "runs": len(verdicts),
        "events": sum(each.events for each in verdicts),
        "lost": sum(each.lost for each in verdicts),
        "duplicated": sum(each.duplicated for each in verdicts),
        "restarts": restarts,
        "bridges": len({each.pair.name for each in verdicts}),
    }


class EveryJsonShow:
    """One object a line."""

    def live(self) -> AbstractContextManager[object]:
        """Nothing to set up."""
        return nullcontext()

    def say(self, text: str) -> None:
        """A line of the show."""
        self._write({"event": "demo", "text": text})

    def event(self, pair: Pair, scene: Scene, line: dict[str, Any]) -> None:
        """An event, as the pair's controller printed it."""
        self._write({**line, "bridge": pair.name})

    def end(self, verdicts: Sequence[Verdict], restarts: int) -> None:
        """What was judged, and the summary."""
        for each in verdicts:
            self._write(
                {
                    "event": "judged",
                    "bridge": each.pair.name,
                    "run": each.scene.word,
                    "ok": each.good,
                    "events": each.events,
                    "problems": list(each.problems),
                }
            )
        self._write(summary_of(verdicts, restarts))

    def _write(self, line: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        sys.stdout.flush()


class EveryTextShow:
    """For people: on a terminal a matrix that changes, elsewhere a line for what matters."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(soft_wrap=True)
        self._cells = {pair.name: {"now": "", "events": 0} for pair in PAIRS}
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)

    def live(self) -> AbstractContextManager[object]:
        """The matrix, while the block lasts."""
        return self._live if self._console.is_terminal else nullcontext()

    def say(self, text: str) -> None:
        """A line above the matrix."""
        self._console.print(f"· {text}", markup=False, highlight=False)

    def event(self, pair: Pair, scene: Scene, line: dict[str, Any]) -> None:
        """Count it; show what its bridge is at."""
        cell: dict[str, Any] = self._cells[pair.name]
        cell["events"] += 1
        cell["now"] = scene.word
        if line["type"] == "RunFinished":
            cell["now"] = f"{scene.word} {line['outcome']['state']}"
        if self._console.is_terminal:
            self._live.update(self.matrix())

    def matrix(self) -> Table:
        """Controllers down, workers across."""
        table = Table("", *(speaker.protocol for speaker in SPEAKERS), box=None)
        for north in SPEAKERS:
            cells = [self._cells[Pair(north, south).name] for south in SPEAKERS]
            table.add_row(north.protocol, *(f"{each['events']} {each['now']}" for each in cells))
        return table

    def end(self, verdicts: Sequence[Verdict], restarts: int) -> None:
        """The matrix of what was judged."""
        table = Table("controllers of", *(f"workers of {each.protocol}" for each in SPEAKERS))
        for north in SPEAKERS:
            table.add_row(north.protocol, *(_cell(verdicts, north.protocol, s) for s in SPEAKERS))
        self._console.print(table)
        total = summary_of(verdicts, restarts)
        self._console.print(
            f"{total['bridges']} bridges, {total['runs']} runs, {total['events']} events, "
            f"{total['lost']} lost, {total['duplicated']} duplicated, {restarts} restart(s): "
            f"{'all held' if total['ok'] else 'SOMETHING DID NOT HOLD'}",
            highlight=False,
        )


def _cell(verdicts: Sequence[Verdict], north: str, south: Any) -> str:
    mine = [each for each in verdicts if each.pair.name == f"{north}-{south.protocol}"]
    wrong = [f"{each.scene.word}: {'; '.join(each.problems)}" for each in mine if not each.good]
    return "\n".join(wrong) or f"ok, {sum(each.events for each in mine)} events"
