"""The judge: from what was promised and what was seen, what is wrong.

It knows no gateway and no protocol: a world collects `Evidence` of each run, and says which ends
the table of promises allows it. One judge for runs in virtual time and for real processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

NATURAL = frozenset({"succeeded"})
REASONS: Mapping[str, frozenset[str]] = {
    "succeeded": frozenset({"exited"}),
    "lost": frozenset({"lost"}),
    "canceled": frozenset({"canceled"}),
}
"""The reasons that go with an end; of a failure, any but these."""


@attrs.frozen
class Seen:
    """One event as a watcher saw it. `data`: what the run said in it; `state` and `reason`: of
    the end, else empty."""

    seq: int
    kind: str
    data: bytes = b""
    state: str = ""
    reason: str = ""


@attrs.frozen
class Evidence:
    """One run. Only one that was `acknowledged` is an obligation; of the others nothing is
    wanted but that what is seen of them makes sense.

    `views` are those of watchers of the one sequence. `ends` are those that the promises allow.
    `wanted` is all that it must have said; None where a link turned bits and nobody could tell.
    `executed`: how often a worker began it. `inputs` were accepted, in this order, and `got` is
    what arrived; `uncertain`: the promise for inputs is at most once, or a link was lost under
    them, so that some may be missing. `doubted` are those of which the run itself says that they
    may or may not have arrived: such a one may come behind later ones.
    """

    run: str
    acknowledged: bool
    wanted: bytes | None
    views: Mapping[str, Sequence[Seen]]
    ends: frozenset[str] = NATURAL
    executed: int = 1
    inputs: Sequence[bytes] = ()
    got: Sequence[bytes] = ()
    uncertain: bool = False
    doubted: frozenset[bytes] = frozenset()


@attrs.define
class Tally:
    """What was seen in all: enough, or nothing is proven. `kills` are counted by the phase that
    they struck in; `suppressed` are lines that came to the gateway again, `faults` those of links,
    by name; `fallen` are runs that were under way as their worker was killed, by its protocol."""

    runs: int = 0
    events: int = 0
    suppressed: int = 0
    kills: Counter[str] = attrs.field(factory=Counter)
    faults: Counter[str] = attrs.field(factory=Counter)
    ends: Counter[str] = attrs.field(factory=Counter)
    fallen: Counter[str] = attrs.field(factory=Counter)

    def add(self, other: Tally) -> None:
        """Count another's as well."""
        self.runs += other.runs
        self.events += other.events
        self.suppressed += other.suppressed
        self.kills += other.kills
        self.faults += other.faults
        self.ends += other.ends
        self.fallen += other.fallen

    def __str__(self) -> str:
        kills = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        ends = ", ".join(f"{name} {count}" for name, count in sorted(self.ends.items()))
        faults = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        return (
            f"{self.runs} runs ({ends}), {self.events} events, {self.suppressed} duplicates "
            f"suppressed; kills {self.kills.total()} ({kills}); faults {self.faults.total()} "
            f"({faults})"
        )


@attrs.frozen
class Demands:
    """What a tally must reach, or the whole trial is vacuous."""

    runs: int
    events: int
    suppressed: int
    phases: frozenset[str]
    faults: frozenset[str] = frozenset()
    fallen: frozenset[str] = frozenset()

    def unmet(self, tally: Tally) -> list[str]:
        """What is missing, in words."""
        problems = [
            f"vacuous: {has} {name}, and at least {wants} are needed"
            for name, has, wants in (
                ("runs", tally.runs, self.runs),
                ("events", tally.events, self.events),
                ("duplicates suppressed", tally.suppressed, self.suppressed),
            )
            if has < wants
        ]
        problems += [f"vacuous: no kill in {phase}" for phase in self.phases - set(tally.kills)]
        problems += [f"vacuous: no {name}" for name in self.faults - set(tally.faults)]
        lost = self.fallen - set(tally.fallen)
        return problems + [f"vacuous: no kill of a worker of {name} met a run" for name in lost]


def judge(evidence: Iterable[Evidence]) -> list[str]:
    """What is wrong, one line each; nothing where all that was promised was kept."""
    return [f"{each.run}: {problem}" for each in evidence for problem in _wrong(each)]


def tally_of(evidence: Sequence[Evidence]) -> Tally:
    """What there was of runs and events."""
    tally = Tally()
    for each in evidence:
        tally.runs += each.acknowledged
        tally.events += max(map(len, each.views.values()), default=0)
        tally.ends.update(_ends(_longest(each))[:1])
    return tally


def _wrong(each: Evidence) -> Iterator[str]:
    if each.acknowledged:
        yield from _end_wrong(each)
    for name, view in each.views.items():
        yield from (f"{name}: {problem}" for problem in _sequence_wrong(view))
    yield from _views_differ(each)
    yield from _payload_wrong(each)
    yield from _work_wrong(each)


def _longest(each: Evidence) -> Sequence[Seen]:
    return max(each.views.values(), key=len, default=())


def _ends(view: Sequence[Seen]) -> list[str]:
    return [seen.state for seen in view if seen.state]


def _end_wrong(each: Evidence) -> Iterator[str]:
    for name, view in each.views.items():
        ends = [seen for seen in view if seen.state]
        if len(ends) != 1:
            yield f"{name}: it has {len(ends)} ends and must have one"
            continue
        (end,) = ends
        if end.state not in each.ends:
            yield f"{name}: it is {end.state} ({end.reason}), and may be {_listed(each.ends)}"
        elif end.reason not in REASONS.get(end.state, {end.reason}):
            yield f"{name}: it is {end.state} for the reason {end.reason}"


def _sequence_wrong(view: Sequence[Seen]) -> Iterator[str]:
    numbers = [seen.seq for seen in view]
    if numbers != list(range(1, len(numbers) + 1)):
        at = next(n for n, seq in enumerate([*numbers, 0], 1) if n != seq)
        yield f"its sequence is not 1 to n: {numbers[at - 1 : at + 3]} in the place of {at}"
    ended = [at for at, seen in enumerate(view, 1) if seen.state]
    if ended and ended[0] != len(view):
        yield f"{len(view) - ended[0]} event(s) behind its end"


def _views_differ(each: Evidence) -> Iterator[str]:
    (first, *others) = each.views.items() or [("nobody", ())]
    for name, view in others:
        if list(view) != list(first[1]):
            yield f"{name} saw other events than {first[0]}: {len(view)}, {len(first[1])}"


def _payload_wrong(each: Evidence) -> Iterator[str]:
    if each.wanted is None:
        return
    view = _longest(each)
    said = b"".join(seen.data for seen in view)
    if _ends(view) == ["succeeded"]:
        if said != each.wanted:
            yield _difference(said, each.wanted)
    elif not each.wanted.startswith(said):
        yield f"what it said before it was {_ends(view)} is none of it: " + _difference(
            said, each.wanted
        )


def _difference(said: bytes, wanted: bytes) -> str:
    at = next(
        (n for n, pair in enumerate(zip(said, wanted, strict=False)) if pair[0] != pair[1]),
        min(len(said), len(wanted)),
    )
    return (
        f"it said {len(said)} bytes and should {len(wanted)}; from byte {at} on "
        f"{said[at : at + 60]!r}, not {wanted[at : at + 60]!r}"
    )


def _work_wrong(each: Evidence) -> Iterator[str]:
    if each.executed > 1:
        yield f"it was executed {each.executed} times"
    if each.executed < 1 and _ends(_longest(each)) == ["succeeded"]:
        yield "it succeeded, and was never executed"
    left = iter(each.inputs)
    sure = [item for item in each.got if item not in each.doubted]
    known = set(each.got) <= set(each.inputs) and len(set(each.got)) == len(each.got)
    if not known or not all(any(item == given for given in left) for item in sure):
        yield f"inputs arrived as {list(each.got)}, and were sent as {list(each.inputs)}"
    whole = not each.uncertain and _ends(_longest(each)) == ["succeeded"]
    if whole and list(each.got) != list(each.inputs):
        yield f"of inputs {list(each.inputs)} only {list(each.got)} arrived"


def _listed(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))
