"""Points at which the gateway of the kill loop ends itself: the nth of its phase, and no other."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chaos_points import Book, Points, read_book, set_points

from fleetgate.core.crew import Crew
from fleetgate.core.journal import tables
from fleetgate.core.worker import Liveness
from fleetgate.gateway.connection import Driver


@pytest.fixture
def deaths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: found.append(number))
    return found


def test_the_nth_point_of_the_phase_is_the_end(tmp_path: Path, deaths: list[int]) -> None:
    points = Points(Book(tmp_path / "book"), "replay", 2)
    assert read_book(tmp_path / "book") == ("", 0)
    points.pass_("commit", "before it")
    points.pass_("replay", "before a delivery")
    assert deaths == []
    points.pass_("replay", "behind a delivery")
    assert deaths == [signal.SIGKILL]
    where, at = read_book(tmp_path / "book")
    assert where == "replay, behind a delivery"
    assert at > 0
    points.pass_("replay", "before a delivery")
    assert len(deaths) == 1


@pytest.mark.parametrize(
    ("nth", "where"),
    [(1, "before it"), (2, "inside it, nothing is written"), (4, "behind it")],
)
def test_a_commit_has_points_on_both_sides_and_inside(
    tmp_path: Path, deaths: list[int], nth: int, where: str
) -> None:
    points = Points(Book(tmp_path / "book"), "commit", nth)
    done: list[str] = []
    write = points.around_writes(lambda rows: done.append("written") or {})

    def commit(rows: object) -> str:
        write(rows)
        done.append("committed")
        return "answer"

    assert points.around_commit(commit)([]) == "answer"
    assert done == ["written", "committed"]
    assert deaths == [signal.SIGKILL]
    assert read_book(tmp_path / "book")[0] == f"commit, {where}"


def test_the_point_inside_a_commit_strikes_beside_it_and_says_whether_it_was_in_time(
    tmp_path: Path, deaths: list[int]
) -> None:
    points = Points(Book(tmp_path / "book"), "commit", 3)
    write = points.around_writes(lambda rows: {})

    def commit(rows: object) -> None:
        before = set(threading.enumerate())
        write(rows)
        for thread in set(threading.enumerate()) - before:
            thread.join()

    points.around_commit(commit)([])
    assert deaths == [signal.SIGKILL]
    assert read_book(tmp_path / "book")[0] == "commit, inside it"


def test_a_call_has_a_point_on_both_sides(tmp_path: Path, deaths: list[int]) -> None:
    points = Points(Book(tmp_path / "book"), "reconcile", 2)
    call = points.around("reconcile", "readiness", lambda left, *, right: left + right)
    assert call(1, right=2) == 3
    assert deaths == [signal.SIGKILL]
    assert read_book(tmp_path / "book")[0] == "reconcile, behind readiness"


def test_points_in_the_program_change_nothing_of_what_it_answers(
    tmp_path: Path, deaths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery whose count was swallowed ended each link of the kill loop's gateway."""
    for place, name in ((tables, "commit"), (tables, "_write_groups")):
        monkeypatch.setattr(place, name, lambda *given: given)
    for name in ("_enqueue_admission", "ready"):
        monkeypatch.setattr(Crew, name, lambda *given: given)
    for name in ("_make", "_deliver"):
        monkeypatch.setattr(Driver, name, lambda *given: given)
    set_points(Points(Book(tmp_path / "book"), "replay", 100))
    returning = SimpleNamespace(liveness=Liveness.CONNECTING)
    hub = SimpleNamespace(_roster=SimpleNamespace(workers={"w": returning}))
    driver: Any = SimpleNamespace(_hub=hub, worker="w")
    batch: Any = (SimpleNamespace(time=0),)
    assert Driver._deliver(driver, batch) == (driver, batch)
    assert Driver._make(driver, "call", 1) == (driver, "call", 1)
    assert Crew.ready(driver, 1, 2) == (driver, 1, 2)
    assert deaths == []
