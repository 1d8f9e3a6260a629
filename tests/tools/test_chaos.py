"""`just chaos`: how kills are parted into rounds, what it says, and when it is not content."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from tool_loading import load_tool

chaos = load_tool("chaos")
NAMES = [pair.name for pair in chaos.PAIRS]
KINDS = ("inside a commit", "commit", "reconcile", "replay", "random")
WORKERS = ("worker agency", "worker iop", "worker kodelet", "worker rvbox")


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The rounds that are asked for. Each is all right, but for what is in `problems`."""
    seen: list[tuple[str, int]] = []

    async def play_round(seed: str, kills: int, say: Callable[[str], None]) -> object:
        seen.append((seed, kills))
        share = dict.fromkeys(KINDS, kills // 5) | dict.fromkeys(WORKERS, kills // 10)
        tally = chaos.Tally(kills * 9, kills * 90, kills * 5, Counter(share))
        tally.ends["succeeded"] = kills * 9
        tally.fallen.update(agency=1, iop=2, kodelet=3, rvbox=4)
        crossed = Counter(dict.fromkeys(NAMES, 1))
        return Played(tally, crossed, problems.pop(seed, []))

    monkeypatch.setattr(chaos, "play_round", play_round)
    return seen


problems: dict[str, list[str]] = {}


class Played:
    def __init__(self, tally: object, crossed: Counter[str], problems: list[str]) -> None:
        self.tally, self.crossed, self.problems = tally, crossed, problems


def test_kills_are_parted_into_rounds_and_added_up(
    rounds: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert chaos.main(["--kills", "100", "--seed", "s", "--round", "40"]) == 0
    assert rounds == [("s", 40), ("s+1", 40), ("s+2", 20)]
    assert capsys.readouterr().out == (
        "kills 140 (inside a commit 20, commit 20, reconcile 20, replay 20, random 20, "
        "worker agency 10, worker iop 10, worker kodelet 10, worker rvbox 10); "
        "runs 900 (succeeded 900); at workers that were killed 30 (agency 3, iop 6, kodelet 9, "
        "rvbox 12); events 9000; duplicates suppressed 500; problems 0\n"
    )


def test_the_default_is_twenty_in_one_round(rounds: list[tuple[str, int]]) -> None:
    assert chaos.main([]) == 0
    assert rounds == [("0", 20)]


def test_what_did_not_hold_is_said_with_the_command_that_plays_it_again(
    rounds: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    problems["7"] = ["t1: it was executed 2 times"]
    assert chaos.main(["--seed", "7", "--json"]) == 1
    out, err = capsys.readouterr()
    assert "seed 7: t1: it was executed 2 times\n" in err
    assert "just chaos --kills 20 --seed 7\n" in err
    told = json.loads(out)
    assert told["problems"] == ["seed 7: t1: it was executed 2 times"]
    assert told["kills"] == dict.fromkeys(KINDS, 4) | dict.fromkeys(WORKERS, 2)
    assert told["fallen"] == {"agency": 1, "iop": 2, "kodelet": 3, "rvbox": 4}
    assert (told["seed"], told["runs"], told["suppressed"]) == ("7", 180, 100)


@pytest.mark.usefixtures("rounds")
def test_what_proves_nothing_is_not_content(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chaos, "PAIRS", (*chaos.PAIRS, Pair("a-b")))
    demands = chaos.demands(20)
    monkeypatch.setattr(chaos, "demands", lambda kills: demands)
    assert chaos.main([]) == 1
    assert "vacuous: no kill met a run of a-b" in capsys.readouterr().err
    few = chaos.Tally(1, 1, 0, Counter(commit=20))
    assert [word.split(",")[0] for word in demands.unmet(few)][:3] == [
        "vacuous: 1 runs",
        "vacuous: 1 events",
        "vacuous: 0 duplicates suppressed",
    ]
    assert len(demands.unmet(few)) == 15
    assert chaos.main(["--kills", "4"]) == 0  # too few to have seen it all, and it says no more


class Pair:
    def __init__(self, name: str) -> None:
        self.name = name
