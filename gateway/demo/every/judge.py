"""Was anything lost, or said twice? Judged from what each pair's controller printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from fleetgate.gateway.demo.every.scenes import Scene
from fleetgate.gateway.demo.every.speakers import Pair

_SAYING: Final = ("TextProduced", "OutputProduced")
_GONE: Final = ("lost", "failed")
"""How a run ends that its protocol cannot take up again."""


@attrs.frozen(slots=True)
class Verdict:
    """What is wrong with one run of a pair, in lines and in words."""

    pair: Pair
    scene: Scene
    events: int
    lost: int
    duplicated: int
    problems: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def said_in(lines: Sequence[Mapping[str, Any]]) -> str:
    """All that a run said and wrote."""
    return "".join(line.get("text", "") for line in lines if line["type"] in _SAYING)


def end_of(lines: Sequence[Mapping[str, Any]]) -> str | None:
    """How a run ended, if it has."""
    ends = [line["outcome"]["state"] for line in lines if line["type"] == "RunFinished"]
    return ends[0] if ends else None


def judge(pair: Pair, scene: Scene, lines: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judge one run. A run that cannot outlive the gateway's end must say so, and say nothing
    twice; any other must say all of it, and nothing twice."""
    said = Counter(said_in(lines).splitlines())
    wanted = Counter(scene.text.splitlines())
    whole = scene.lasts(pair)
    lost = (wanted - said).total() if whole else 0
    duplicated = (said - wanted).total()
    ends = [line["outcome"]["state"] for line in lines if line["type"] == "RunFinished"]
    problems: list[str] = []
    if lost:
        problems.append(f"{lost} line(s) are missing")
    if duplicated:
        problems.append(f"{duplicated} line(s) came twice, or are none of it")
    if whole and said_in(lines) != scene.text:
        problems.append("what it said is not what was to be said")
    wished = ("succeeded",) if whole else _GONE
    if len(ends) != 1 or ends[0] not in wished:
        problems.append(f"it must end once, {' or '.join(wished)}; it ended {ends or 'not at all'}")
    if [line["seq"] for line in lines] != list(range(1, len(lines) + 1)):
        problems.append("its controller's sequence is not 1, 2, 3…")
    return Verdict(pair, scene, len(lines), lost, duplicated, tuple(problems))
