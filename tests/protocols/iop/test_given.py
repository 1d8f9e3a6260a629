"""The runs that a node has of us. What a link makes of them is in test_southbound."""

from __future__ import annotations

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import Record
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.given import GivenRuns
from fleetgate.protocols.iop.names import BODY, KIND, SEQ
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


def test_what_is_no_news_is_still_numbered() -> None:
    """Else the number would be missing after a restart, and a gap be found that is none."""
    runs = GivenRuns(EdgeSettings(), Deadlines())
    run = RunId("a/1")
    runs.give(run, w.RunRequest("a/1", session_id="s"), c.RunSpec(c.Prompt("x")))
    begun = w.RunEvent("a/1", "start", session_id="s", metadata={SEQ: "2"})
    (record,) = runs.heard(begun, 5)
    assert record == Record(run, (e.RunStarted(), e.SessionOpened("s")), 2)
    again = {SEQ: "3", KIND: "session", BODY: '{"native_session":"s"}'}
    assert runs.heard(w.RunEvent("a/1", "delta", metadata=again), 5) == [Record(run, (), 3)]
    assert runs.heard(w.RunEvent("a/1", "delta", metadata=again), 5) == []
