"""Lives of the kill loop: which point each kind of kill is drawn at, and what a kill came to."""

from __future__ import annotations

import random
from typing import Any

import pytest
from chaos_lives import INSIDE, KINDS, POINTS, WAIT, Blow, Lives

COMMIT = ("before it", "inside it, nothing is written", "inside it", "behind it")


def drawn(kind: str) -> set[tuple[str, int]]:
    site: Any = None  # no point needs it
    lives = Lives(site, random.Random(7))
    return {lives._point(kind) for _ in range(2000)}


def test_kills_inside_a_commit_are_drawn_at_the_points_that_lie_there() -> None:
    phases, numbers = zip(*drawn(INSIDE), strict=True)
    assert set(phases) == {"commit"}
    assert {COMMIT[(number - 1) % 4][:6] for number in numbers} == {"inside"}
    assert max(numbers) <= POINTS["commit"]


@pytest.mark.parametrize("kind", sorted(POINTS))
def test_others_are_drawn_at_every_point_of_their_phase(kind: str) -> None:
    assert drawn(kind) == {(kind, number) for number in range(1, POINTS[kind] + 1)}


def test_each_phase_has_its_time() -> None:
    assert WAIT.keys() == POINTS.keys()
    assert {phase for kind in (INSIDE, *POINTS) for phase, _ in drawn(kind)} == WAIT.keys()


def test_a_kill_is_of_the_kind_that_it_came_to() -> None:
    kinds = {Blow(1, 2, "commit", where).kind for where in COMMIT} | {Blow(1, 2, "random").kind}
    assert kinds == {INSIDE, "commit", "random"}
    assert kinds < set(KINDS)
    assert set(POINTS) < set(KINDS)
