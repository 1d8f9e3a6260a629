"""The kill loop with real processes: that it holds, and that it can fail (`just chaos`: more)."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from chaos_loop import play_round


@pytest.mark.slow
def test_what_was_promised_holds_over_some_kills() -> None:
    said: list[str] = []
    played = trio.run(play_round, "4", 4, said.append)
    assert played.problems == []
    assert played.tally.kills.total() == 6
    assert sum(count for kind, count in played.tally.kills.items() if "worker" in kind) == 2
    assert played.tally.runs > 20
    assert played.tally.suppressed
    assert played.tally.ends["lost"]
    assert len(said) == 6


@pytest.mark.slow
def test_a_gateway_that_knows_no_repeats_is_found_out() -> None:
    mutant = Path(__file__).with_name("chaos_mutant.py")
    played = trio.run(play_round, "5", 6, lambda text: None, mutant)
    assert any("it said" in problem for problem in played.problems), played.problems
