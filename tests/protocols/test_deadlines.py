"""Deadlines by name over one wake."""

from fleetgate.protocols.api import Wake
from fleetgate.protocols.deadlines import Deadlines


def test_the_driver_is_told_of_the_earliest_time_once() -> None:
    deadlines = Deadlines()
    assert deadlines.wake() == ()
    deadlines.set("b", 20)
    assert deadlines.wake() == (Wake(20),)
    deadlines.set("c", 30)
    assert deadlines.wake() == ()
    deadlines.set("a", 10)
    assert deadlines.wake() == (Wake(10),)
    deadlines.clear("a")
    assert deadlines.wake() == (Wake(20),)


def test_what_is_due_is_forgotten_and_the_rest_is_asked_for_anew() -> None:
    deadlines = Deadlines()
    for name, at in (("late", 30), ("second", 20), ("first", 10)):
        deadlines.set(name, at)
    deadlines.wake()
    assert deadlines.due(25) == ["first", "second"]
    assert "first" not in deadlines
    assert "late" in deadlines
    assert deadlines.wake() == (Wake(30),)


def test_a_wake_for_what_was_cleared_finds_nothing_due() -> None:
    deadlines = Deadlines()
    deadlines.set("gone", 10)
    deadlines.wake()
    deadlines.clear("gone")
    deadlines.clear("gone")
    assert deadlines.due(10) == []
    assert deadlines.wake() == ()


def test_the_earliest_is_asked_for_once() -> None:
    deadlines = Deadlines()
    assert deadlines.wake() == ()
    deadlines.set("a", 5)
    deadlines.set("b", 3)
    assert deadlines.wake() == (Wake(3),)
    assert deadlines.wake() == ()
    deadlines.clear("a")
    assert deadlines.wake() == ()
    assert "b" in deadlines
    assert "a" not in deadlines


def test_what_is_due_is_forgotten_earliest_first() -> None:
    deadlines = Deadlines()
    for name, at in (("late", 9), ("two", 2), ("one", 1)):
        deadlines.set(name, at)
    assert deadlines.due(2) == ["one", "two"]
    assert deadlines.wake() == (Wake(9),)
