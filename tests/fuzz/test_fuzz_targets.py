"""Each target, over its seeds and some mutations: that it runs, and that its inputs get somewhere.
`just fuzz` runs many more."""

from __future__ import annotations

import pytest
from fuzz_engine import play
from fuzz_registry import TARGETS, chosen

QUICK = 40
SEEDS = 16
SLOW = 6
"""Of those whose every input is a whole conversation."""
TRIALS = 2
"""Of whole gateways. None of these is the first input, which is watched for memory: that takes ten
times as long."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_over_its_seeds_and_some_mutations(name: str) -> None:
    target = TARGETS[name]
    first = len(target.seeds)
    numbers = [*range(min(first, SEEDS)), *range(first, first + QUICK)]
    if target.scale < 1:
        numbers = numbers[1 : 1 + TRIALS]
    elif target.share < 0.1:
        numbers = numbers[1 : 1 + SLOW]
    tally = play(target, "tests", numbers)
    assert [finding.what for finding in tally.findings] == []
    assert tally.taken


def test_targets_are_chosen_by_name_and_by_group() -> None:
    assert chosen([]) == [*TARGETS.values()]
    assert [each.name for each in chosen(["rvbox.envelope"])] == ["rvbox.envelope"]
    assert {each.group for each in chosen(["iop", "rvbox"])} == {"iop", "rvbox"}
    with pytest.raises(KeyError, match="nobody"):
        chosen(["nobody"])


@pytest.mark.parametrize("group", ["agency", "iop", "kodelet", "rvbox"])
def test_each_protocol_has_codecs_framings_explainers_and_whole_adapters(group: str) -> None:
    names = {each.name.partition(".")[2].partition("-")[0] for each in chosen([group])}
    assert {"explain", "talk"} <= names
