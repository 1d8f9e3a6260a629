"""Deadlines by name over one wake."""

from fleetgate.protocols.api import Wake
from fleetgate.protocols.kodelet.deadlines import Deadlines


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
