"""What the audience sees: a live table on a terminal, lines elsewhere, JSON if asked."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from fleetgate.gateway.demo.cases import CASES, Case
from fleetgate.gateway.demo.judge import Judgement
from fleetgate.gateway.printable import printable


def summary_of(judgements: Sequence[Judgement], restarts: int) -> dict[str, Any]:
    """The last object of `--json`."""
    return {
        "event": "summary",
        "ok": bool(judgements) and all(each.good for each in judgements),
        "runs": len(judgements),
        "events": sum(each.events for each in judgements),
        "lost": sum(each.lost for each in judgements),
        "duplicated": sum(each.duplicated for each in judgements),
        "restarts": restarts,
    }


class JsonShow:
    """One object a line."""

    def live(self) -> AbstractContextManager[object]:
        """Nothing to set up."""
        return nullcontext()

    def say(self, text: str) -> None:
        """A line of the show."""
        self._write({"event": "demo", "text": text})

    def event(self, case: Case, line: dict[str, Any]) -> None:
        """An event, as the client printed it."""
        self._write(line)

    def end(self, judgements: Sequence[Judgement], restarts: int) -> None:
        """What was judged, and the summary."""
        for each in judgements:
            self._write(
                {
                    "event": "judged",
                    "run": each.case.name,
                    "ok": each.good,
                    "events": each.events,
                    "problems": list(each.problems),
                }
            )
        self._write(summary_of(judgements, restarts))

    def _write(self, line: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        sys.stdout.flush()


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Nobody watches any more: say so, where rich would end the process at once."""
        raise BrokenPipeError


class TextShow:
    """For people: on a terminal a table that changes, elsewhere a line for what matters."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or _Console(soft_wrap=True)
        self._counts: Counter[str] = Counter()
        self._last: dict[str, str] = {}
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)

    def live(self) -> AbstractContextManager[object]:
        """The table, while the block lasts."""
        return self._live if self._console.is_terminal else nullcontext()

    def say(self, text: str) -> None:
        """A line above the table."""
        self._console.print(f"· {text}", markup=False, highlight=False)

    def event(self, case: Case, line: dict[str, Any]) -> None:
        """Count it, and show the last output and the end."""
        self._counts[case.name] += 1
        if line["type"] == "TextProduced":
            self._last[case.name] = line["text"].strip().rpartition("\n")[2]
        elif line["type"] == "RunFinished":
            self._last[case.name] = f"ended: {line['outcome']['state']}"
            if not self._console.is_terminal:
                self.say(f"run {case.name} {self._last[case.name]}")
        if self._console.is_terminal:
            self._live.update(self._table())

    def _table(self) -> Table:
        table = Table("run", "what it is", "events", "last", box=None, pad_edge=False)
        for case in CASES:
            last = printable(self._last.get(case.name, ""), newlines=False)
            table.add_row(case.name, case.title, str(self._counts[case.name]), last[:40])
        return table

    def end(self, judgements: Sequence[Judgement], restarts: int) -> None:
        """The table of what was judged."""
        table = Table("run", "what it was", "ended", "events", "lost", "twice", "")
        for each in judgements:
            table.add_row(
                each.case.name,
                each.case.title,
                each.case.state,
                str(each.events),
                str(each.lost),
                str(each.duplicated),
                "ok" if each.good else "; ".join(each.problems),
            )
        self._console.print(table)
        total = summary_of(judgements, restarts)
        self._console.print(
            f"{total['runs']} runs, {total['events']} events, {total['lost']} lost, "
            f"{total['duplicated']} duplicated, {restarts} restart(s) of the gateway: "
            f"{'all held' if total['ok'] else 'SOMETHING DID NOT HOLD'}",
            highlight=False,
        )
