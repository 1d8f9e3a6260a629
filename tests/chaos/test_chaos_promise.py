"""Which ends the kill loop's judge wants: `lost` where the promises say so, and only there."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from chaos_lives import Blow
from chaos_oracle import Task, derive
from chaos_promise import Course, Promise, again, course_of, struck

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, Recorded, RunState
from fleetgate.core.ids import Epoch, RunId, Seq, WorkerId

PLAIN = attrs.evolve(derive("t1-0000000000"), cancel=None)
CANCELED = attrs.evolve(PLAIN, cancel=1.0)
KILL = (Blow(100, 110, "random"),)
ACROSS = Course(10, 20, 200, "succeeded")
AFTER = Course(120, 130, 200, "succeeded")
WAITING = Course(10, 120, 200, "succeeded")
"""Accepted before the kill, given out behind it."""


@pytest.mark.parametrize(
    ("began", "ended", "answer"),
    [
        (20, 200, True),
        (20, 0, True),
        (120, 200, False),
        (20, 90, False),
        (0, 200, False),
        (105, 200, None),
        (20, 105, None),
        (20, 100, None),
        (110, 200, None),
    ],
)
def test_a_kill_came_between_or_did_not_or_nobody_knows(
    began: int, ended: int, answer: bool | None
) -> None:
    assert struck(KILL, began, ended) is answer


@pytest.mark.parametrize(
    ("pair", "course", "executed", "ends"),
    [
        ("agency-agency", ACROSS, 1, "succeeded"),
        ("agency-rvbox", ACROSS, 1, "succeeded"),
        ("agency-kodelet", ACROSS, 1, "lost"),
        ("agency-kodelet", ACROSS, 0, "lost"),
        ("agency-kodelet", WAITING, 1, "succeeded"),
        ("agency-kodelet", AFTER, 1, "succeeded"),
        ("agency-kodelet", Course(10, 105, 200, "lost"), 1, "lost succeeded"),
        ("agency-iop", ACROSS, 1, "succeeded"),
        ("agency-iop", ACROSS, 0, "lost"),
        ("kodelet-agency", ACROSS, 1, "canceled succeeded"),
        ("kodelet-agency", AFTER, 1, "succeeded"),
        ("kodelet-kodelet", ACROSS, 1, "canceled lost"),
    ],
)
def test_a_run_at_the_gateway_is_lost_where_it_must_and_only_there(
    pair: str, course: Course, executed: int, ends: str
) -> None:
    assert Promise(pair, KILL).at_gateway(PLAIN, course, executed) == set(ends.split())


GONE = Course(15, 25, 205, "lost")


@pytest.mark.parametrize(
    ("pair", "course", "gateway", "ends"),
    [
        ("agency-agency", ACROSS, ACROSS, "succeeded"),
        ("rvbox-kodelet", ACROSS, GONE, "failed lost"),
        ("agency-agency", ACROSS, None, "succeeded"),
        ("iop-agency", ACROSS, None, "lost"),
        ("iop-agency", AFTER, None, "succeeded"),
        ("kodelet-agency", ACROSS, None, "lost"),
        ("kodelet-agency", ACROSS, ACROSS, "lost"),
        ("kodelet-agency", ACROSS, Course(15, 25, 95, "succeeded"), "lost succeeded"),
        ("kodelet-agency", AFTER, AFTER, "succeeded"),
    ],
)
def test_a_controllers_run_ends_as_at_the_gateway_or_with_its_link(
    pair: str, course: Course, gateway: Course | None, ends: str
) -> None:
    executed = 0 if gateway is None else 1
    found = Promise(pair, KILL).at_controller(PLAIN, course, gateway, executed)
    assert found == set(ends.split())


def test_a_control_plane_that_cancels_may_do_so_while_the_end_is_on_its_way() -> None:
    for north, ends in (("kodelet", {"succeeded", "canceled"}), ("agency", {"succeeded"})):
        promise = Promise(f"{north}-agency", ())
        assert promise.at_controller(CANCELED, AFTER, AFTER, 1) == ends
        assert promise.at_controller(PLAIN, AFTER, AFTER, 1) == {"succeeded"}


def test_a_run_that_is_told_to_stop_may_be_canceled() -> None:
    promise = Promise("agency-kodelet", KILL)
    assert promise.at_gateway(CANCELED, AFTER, 1) == {"succeeded", "canceled"}
    assert promise.at_gateway(CANCELED, ACROSS, 1) == {"lost", "canceled"}
    assert promise.at_controller(CANCELED, ACROSS, None, 0) == {"canceled"}


def test_iop_gives_up_a_peer_that_it_has_missed() -> None:
    promise = Promise("iop-iop", KILL, lambda now: now == 200)
    assert promise.at_gateway(PLAIN, ACROSS, 1) == {"succeeded", "lost"}
    assert promise.at_gateway(PLAIN, attrs.evolve(ACROSS, ended=201), 1) == {"succeeded"}
    assert promise.at_controller(PLAIN, ACROSS, ACROSS, 1) == {"succeeded", "lost"}
    assert promise.at_gateway(PLAIN, GONE, 1, disowned=True) == {"succeeded", "canceled"}


@pytest.mark.parametrize("south", ["agency", "iop", "kodelet", "rvbox"])
def test_a_run_that_its_worker_was_killed_at_is_lost_and_others_are_not(south: str) -> None:
    promise = Promise(f"agency-{south}", (), falls=KILL)
    assert promise.at_gateway(PLAIN, ACROSS, 1, cut=True) == {"lost"}
    assert promise.at_gateway(CANCELED, ACROSS, 1, cut=True) == {"lost", "canceled"}
    # It had ended there, or had not begun: what its worker knew of it is gone or not.
    assert promise.at_gateway(PLAIN, ACROSS, 1) == {"lost", "succeeded"}
    assert promise.at_gateway(PLAIN, ACROSS, 0) == {"lost", "succeeded"}
    assert promise.at_gateway(PLAIN, AFTER, 1) == {"succeeded"}
    assert promise.at_gateway(PLAIN, Course(10, 20, 90, "succeeded"), 1) == {"succeeded"}
    assert promise.at_gateway(PLAIN, WAITING, 1) == {"succeeded"}
    # It was given out after the kill, and before anybody had noticed.
    unnoticed = Promise(f"agency-{south}", (), falls=(Blow(100, 125, "worker"),))
    assert unnoticed.at_gateway(PLAIN, WAITING, 0) == {"lost", "succeeded"}
    assert Promise(f"agency-{south}", ()).at_gateway(PLAIN, ACROSS, 1) == {"succeeded"}


@pytest.mark.parametrize(
    ("pair", "began", "started", "may"),
    [
        ("rvbox-agency", ((0, 5), (1, 9)), 0, True),
        ("rvbox-agency", ((0, 5), (1, 9)), 10, True),
        ("rvbox-agency", ((0, 5), (1, 9)), 6, False),
        ("rvbox-agency", ((0, 5), (1, 9), (2, 20)), 10, False),
        ("rvbox-iop", ((0, 5), (1, 9)), 0, False),
        ("agency-rvbox", ((0, 5), (1, 9)), 0, False),
    ],
)
def test_only_a_daemon_that_never_answered_may_be_given_a_run_again(
    pair: str, began: tuple[tuple[int, int], ...], started: int, may: bool
) -> None:
    assert again(pair, began, started) is may


def test_inputs_may_be_missing_where_they_have_no_numbers_and_a_kill_came() -> None:
    assert Promise("agency-rvbox", KILL).uncertain_input(ACROSS)
    assert not Promise("agency-rvbox", KILL).uncertain_input(AFTER)
    assert Promise("agency-rvbox", KILL).uncertain_input(AFTER, ACROSS)
    assert not Promise("rvbox-rvbox", KILL).uncertain_input(ACROSS)
    assert Promise("agency-rvbox", (), falls=KILL).uncertain_input(ACROSS)
    assert not Promise("agency-rvbox", (), falls=KILL).uncertain_input(AFTER)


def test_a_course_is_read_from_events() -> None:
    lost = e.RunFinished(Outcome(RunState.LOST, Reason.LOST, "nobody knows"))
    assigned = e.RunAssigned(WorkerId("w"), Epoch(1))
    events: Sequence[e.Event] = (assigned, e.RunStarted(), lost)  # at 10, 20 and 30
    recorded = [Recorded(RunId("r"), Seq(at), at * 10, event) for at, event in enumerate(events, 1)]
    course = course_of(5, recorded)
    assert course == Course(5, 10, 30, "lost", 20)
    assert course.words == "nobody knows"
    assert course_of(5, ()) == Course(5)


def test_the_oracle_gives_the_same_task_for_the_same_id() -> None:
    again: Task = derive("t1-0000000000")
    assert attrs.evolve(again, cancel=None) == PLAIN
