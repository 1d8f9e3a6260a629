"""Runs that a node does not have of us. What a link makes of them is in test_southbound."""

from __future__ import annotations

from fleetgate.core import commands as c
from fleetgate.core.errors import Unavailable
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.protocols.api import Report, Submit
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.foreign import Asked, Foreign


def test_each_run_is_asked_about_once() -> None:
    foreign = Foreign()
    run = RunId("a/1")
    question = (Submit(c.DescribeRun(run), Asked(run, True)),)
    assert foreign.heard(w.RunEvent("a/1", "error")) == question
    assert foreign.heard(w.RunEvent("a/1", "error")) == ()


def test_nobody_is_asked_about_a_run_that_has_ended_on_this_link() -> None:
    foreign = Foreign()
    foreign.remember("a/1")
    assert foreign.heard(w.RunEvent("a/1", "complete")) == ()


def test_an_id_that_no_run_can_have_is_not_looked_up() -> None:
    report = Report("iop_foreign_event", "of a run that this node does not have")
    assert Foreign().heard(w.RunEvent("é" * 200, "complete")) == (report,)


def test_where_the_journal_does_not_answer_the_event_is_a_foreign_one() -> None:
    (report,) = Foreign().described(
        Asked(RunId("a/1"), True), Unavailable("not now"), WorkerId("nodes/n1")
    )
    assert report == Report("iop_foreign_event", "of a run that this node does not have")
