"""Was anything lost, or done twice? Judged from what the client printed and the host did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from fleetgate.gateway.demo.cases import Case

Line: TypeAlias = Mapping[str, Any]
"""One event as the client's front end prints it."""


@attrs.frozen(slots=True)
class Judgement:
    """What is wrong with one run: events that are missing or came twice, and in words."""

    case: Case
    events: int
    lost: int = 0
    duplicated: int = 0
    problems: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def judge(case: Case, lines: Sequence[Line], executed: int) -> Judgement:
    """Judge one run. `lines` are its events in the order in which the client printed them,
    `executed` how often the host executed its command."""
    native = [line["native_seq"] for line in lines if line.get("native_seq") is not None]
    last = max(native, default=0)
    lost = last - len(set(native))
    duplicated = len(native) - len(set(native))
    problems = [
        *_sequence(lines, native, lost, duplicated),
        *_text(case, lines),
        *_ending(case, lines),
    ]
    if executed != 1:
        problems.append(f"the host executed the command {executed} times")
    return Judgement(case, len(lines), lost, duplicated + max(0, executed - 1), tuple(problems))


def _sequence(
    lines: Sequence[Line], native: Sequence[int], lost: int, duplicated: int
) -> list[str]:
    problems: list[str] = []
    if not native:
        problems.append("the gateway's sequence was not seen at all")
    if lost:
        problems.append(f"{lost} number(s) of the gateway's sequence are missing")
    if duplicated:
        problems.append(f"{duplicated} number(s) of the gateway's sequence came twice")
    if list(native) != sorted(native):
        problems.append("the gateway's sequence came out of order")
    if [line["seq"] for line in lines] != list(range(1, len(lines) + 1)):
        problems.append("the client's own sequence is not 1, 2, 3…")
    return problems


def _text(case: Case, lines: Sequence[Line]) -> list[str]:
    text = "".join(line["text"] for line in lines if line["type"] == "TextProduced")
    if text == case.text:
        return []
    return [f"its output has {len(text)} characters and is not the {len(case.text)} expected"]


def _ending(case: Case, lines: Sequence[Line]) -> list[str]:
    ends = [line["outcome"]["state"] for line in lines if line["type"] == "RunFinished"]
    if ends == [case.state]:
        return []
    return [f"it must end once, {case.state}; it ended {', '.join(ends) or 'not at all'}"]
