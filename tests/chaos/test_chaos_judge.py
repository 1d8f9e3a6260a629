"""The judge finds every kind of forgery, and nothing in a history that is sound."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest
from chaos_judge import Demands, Evidence, Seen, Tally, judge, tally_of

VIEW = (
    Seen(1, "RunAssigned"),
    Seen(2, "TextProduced", b"one\n"),
    Seen(3, "OutputProduced", b"two\n"),
    Seen(4, "RunFinished", state="succeeded", reason="exited"),
)
SOUND = Evidence(
    "r", True, b"one\ntwo\n", {"a": VIEW, "b": VIEW}, inputs=(b"x", b"y"), got=(b"x", b"y")
)


def end(state: str, reason: str) -> tuple[Seen, ...]:
    return (*VIEW[:3], Seen(4, "RunFinished", state=state, reason=reason))


def both(view: tuple[Seen, ...], **changes: object) -> Evidence:
    return attrs.evolve(SOUND, views={"a": view, "b": view}, **changes)


def test_a_sound_history_passes() -> None:
    assert judge([SOUND]) == []
    assert judge([both(end("lost", "lost"), ends=frozenset({"lost"}))]) == []
    assert judge([both((), acknowledged=False, executed=0, got=())]) == []


FORGED = {
    "no end": (both(VIEW[:3]), "0 ends"),
    "two ends": (both((*VIEW, attrs.evolve(VIEW[3], seq=5))), "2 ends"),
    "behind the end": (both((*VIEW, Seen(5, "TextProduced"))), "behind its end"),
    "a gap": (
        both((*VIEW[:2], attrs.evolve(VIEW[2], seq=4), attrs.evolve(VIEW[3], seq=5))),
        "not 1 to n",
    ),
    "a repeat": (both((*VIEW[:2], VIEW[1], *VIEW[2:])), "not 1 to n"),
    "not from 1": (
        both(tuple(attrs.evolve(each, seq=each.seq + 1) for each in VIEW)),
        "not 1 to n",
    ),
    "another watcher": (
        attrs.evolve(
            SOUND,
            views={
                "a": VIEW,
                "b": (VIEW[0], VIEW[1], attrs.evolve(VIEW[2], kind="TextProduced"), VIEW[3]),
            },
        ),
        "other events",
    ),
    "a watcher without the end": (attrs.evolve(SOUND, views={"a": VIEW, "b": VIEW[:3]}), "0 ends"),
    "a byte": (both((VIEW[0], attrs.evolve(VIEW[1], data=b"One\n"), *VIEW[2:])), "from byte 0"),
    "a line said twice": (
        both((VIEW[0], attrs.evolve(VIEW[1], data=b"one\none\n"), *VIEW[2:])),
        "12 bytes",
    ),
    "a line lost": (both((VIEW[0], attrs.evolve(VIEW[1], data=b""), *VIEW[2:])), "4 bytes"),
    "a hole before it was lost": (
        both(
            (
                VIEW[0],
                attrs.evolve(VIEW[1], data=b""),
                VIEW[2],
                Seen(4, "RunFinished", state="lost", reason="lost"),
            ),
            ends=frozenset({"lost"}),
        ),
        "none of it",
    ),
    "executed twice": (attrs.evolve(SOUND, executed=2), "2 times"),
    "never executed": (attrs.evolve(SOUND, executed=0), "never executed"),
    "lost without a cause": (both(end("lost", "lost")), "may be succeeded"),
    "not lost with a cause": (attrs.evolve(SOUND, ends=frozenset({"lost"})), "may be lost"),
    "lost for another reason": (both(end("lost", "error"), ends=frozenset({"lost"})), "reason"),
    "input twice": (attrs.evolve(SOUND, got=(b"x", b"x", b"y")), "arrived as"),
    "input in another order": (attrs.evolve(SOUND, got=(b"y", b"x")), "arrived as"),
    "input lost": (attrs.evolve(SOUND, got=(b"x",)), "only"),
    "input twice where it is uncertain": (
        attrs.evolve(SOUND, got=(b"y", b"y"), uncertain=True),
        "arrived as",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_history_fails(name: str) -> None:
    evidence, words = FORGED[name]
    problems = judge([SOUND, evidence])
    assert any(words in problem for problem in problems), problems


def test_input_that_may_be_missing_may_be_missing() -> None:
    assert judge([attrs.evolve(SOUND, got=(b"y",), uncertain=True)]) == []


def test_input_that_is_doubted_may_come_late_and_once() -> None:
    late = attrs.evolve(SOUND, got=(b"y", b"x"), doubted=frozenset({b"x"}))
    assert judge([late]) == ["r: of inputs [b'x', b'y'] only [b'y', b'x'] arrived"]
    assert judge([attrs.evolve(late, uncertain=True)]) == []
    for got in ((b"y", b"x", b"x"), (b"z", b"y")):
        assert judge([attrs.evolve(late, got=got, uncertain=True)]) != []


def test_too_little_is_vacuous() -> None:
    demands = Demands(
        2, 9, 1, frozenset({"commit", "replay"}), frozenset({"cut"}), frozenset({"iop"})
    )
    tally = tally_of([SOUND])
    assert (tally.runs, tally.events, tally.ends) == (1, 4, Counter(succeeded=1))
    assert len(demands.unmet(tally)) == 7
    assert demands.unmet(tally)[-1] == "vacuous: no kill of a worker of iop met a run"
    enough = Tally(2, 9, 1, Counter(commit=1, replay=1), Counter(cut=1))
    enough.add(Tally(fallen=Counter(iop=1)))
    assert demands.unmet(enough) == []
    enough.add(tally)
    assert (enough.runs, enough.events) == (3, 13)
