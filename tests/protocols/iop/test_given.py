"""The runs that a node has of us. What a link makes of them is in test_southbound."""

from __future__ import annotations

from fleetgate.core import commands as c
from fleetgate.core.ids import RunId
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.given import GivenRuns, time_of
from fleetgate.protocols.iop.heard import Tracked
from fleetgate.protocols.iop.settings import EdgeSettings


def test_a_deadline_of_a_run_that_has_gone_is_nobodys() -> None:
    runs = GivenRuns(EdgeSettings(), Deadlines())
    runs.give(RunId("a/1"), w.RunRequest("a/1"), c.RunSpec(c.Prompt("x")))
    assert len(runs) == 1
    assert runs.overdue("over a/2") == ()
    assert runs.overdue("word a/2") == ()
    assert runs.overdue("a/1") == ()
    assert len(runs) == 1


def test_a_run_whose_id_begins_like_a_deadline_is_not_mistaken() -> None:
    runs = GivenRuns(EdgeSettings(), Deadlines())
    runs.give(RunId("word a"), w.RunRequest("word a"), c.RunSpec(c.Prompt("x")))
    assert runs.overdue("over over a") == ()
    assert len(runs.overdue("over word a")) == 2
    assert len(runs) == 0


def test_a_late_word_of_a_run_that_was_given_up_is_passed_over() -> None:
    runs = GivenRuns(EdgeSettings(), Deadlines())
    runs.give(RunId("a/1"), w.RunRequest("a/1"), c.RunSpec(c.Prompt("x")))
    runs.overdue("over a/1")
    assert runs.heard(w.RunEvent("a/1", "delta", "x"), 5) == ()
    assert runs.cancel(RunId("a/1")) is None


def test_a_node_s_time_is_clamped_upward_and_none_is_now() -> None:
    tracked = Tracked(RunId("r1"))
    given = (5, 3, 0, -7, 9)
    times = [time_of(tracked, w.RunEvent("r1", "delta", timestamp=each)) for each in given]
    assert times == [5, 5, None, None, 9]
