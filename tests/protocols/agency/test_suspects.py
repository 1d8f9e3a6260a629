"""Who is suspected, who is given up, and whose turn it is. Rules only."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.ids import RunId
from fleetgate.protocols.agency.settings import AgencySouthboundSettings
from fleetgate.protocols.agency.suspects import Standing, Suspects, notes_of, tried, tries_of
from fleetgate.protocols.agency.testing import REQUEST, make_run
from fleetgate.protocols.agency.tracking import Tracked
from fleetgate.protocols.testing import SECOND, START


def tracked(name: str = "a", last: int = 0, tries: int = 0) -> Tracked:
    return Tracked(RunId(name), REQUEST, last, tries=tries)


def make(**settings: Any) -> Suspects:
    return Suspects(AgencySouthboundSettings(**settings))


def run(note: object, native_seq: int = 5) -> Any:
    return make_run(native_seq=native_seq, notes={"agency": note})


def test_what_is_noted_counts_until_an_event_comes() -> None:
    one = tracked(last=5, tries=2)
    one.notes = {"other": 1}
    note = tried(one)
    assert note.value == {"other": 1, "attach": {"after": 5, "tries": 3}}
    assert tries_of(run(note.value)) == 3
    assert notes_of(run(note.value)) == note.value
    assert tries_of(run(note.value, native_seq=6)) == 0
    one.arrive(6)
    assert tried(one).value == {"other": 1, "attach": {"after": 6, "tries": 1}}


@pytest.mark.parametrize("note", [None, 7, {}, {"attach": 1}, {"attach": {"after": 5}}])
def test_other_notes_count_for_nothing(note: object) -> None:
    assert tries_of(run(note)) == 0
    assert tries_of(make_run()) == 0


@given(st.integers(0, 9), st.integers(1, 4), st.integers(1, 4))
def test_the_standing_of_a_run(tries: int, suspect_after: int, more: int) -> None:
    suspects = make(suspect_after=suspect_after, give_up_after=suspect_after + more)
    one = tracked(tries=tries)
    expected = Standing.TRUSTED
    if tries >= suspect_after:
        expected = Standing.SUSPECT if tries < suspect_after + more else Standing.GIVEN_UP
    assert suspects.judge(one, 3) is expected
    assert suspects.judge(one, 0) is Standing.TRUSTED, "where nothing is owed nothing can fail"


def test_suspects_come_one_at_a_time_and_behind_every_replay() -> None:
    suspects, first, second = make(), tracked("s1"), tracked("s2")
    suspects.replay(RunId("a"), 3)
    suspects.replay(RunId("b"), 2)
    suspects.replay(RunId("c"), 0)
    suspects.hold(first, 9, START)
    suspects.hold(second, 1, START)
    suspects.reached(RunId("a"), 2)
    suspects.reached(RunId("b"), 2)
    suspects.reached(RunId("unknown"), 2)
    assert suspects.turn() is None
    suspects.reached(RunId("a"), 4)
    assert suspects.turn() is first
    assert suspects.turn() is None
    suspects.reached(RunId("s1"), 8)
    assert suspects.turn() is None
    suspects.reached(RunId("s1"), 9)
    assert suspects.turn() is second
    suspects.replay(RunId("s2"), 0)
    assert suspects.turn() is None


def test_runs_that_are_forgotten_keep_nobody_waiting() -> None:
    suspects, one, other = make(), tracked("s1"), tracked("s2")
    suspects.replay(RunId("a"), 3)
    suspects.hold(one, 9, START)
    suspects.hold(other, 9, START)
    suspects.forget(RunId("a"))
    suspects.forget(one.run)
    assert suspects.turn() is other


def test_replays_that_get_nowhere_keep_nobody_waiting_for_ever() -> None:
    suspects, one = make(suspect_poll=20.0), tracked("s1")
    suspects.replay(RunId("a"), 3)
    assert suspects.next_at is None
    suspects.hold(one, 9, START)
    at = START + 20 * SECOND
    assert suspects.next_at == at
    assert not suspects.due(at - 1)
    assert suspects.turn() is None
    assert suspects.due(at)
    assert suspects.turn() is one


def test_the_last_attempt_is_made_on_a_link_that_has_stood_for_a_while() -> None:
    suspects, last, one = make(), tracked("s1", tries=4), tracked("s2", tries=3)
    suspects.hold(last, 9, START)
    suspects.hold(one, 9, START)
    assert suspects.turn() is one
    suspects.reached(one.run, 9)
    assert suspects.turn() is None
    assert suspects.due(START + 30 * SECOND)
    assert suspects.turn() is last


def test_what_was_given_up_is_looked_at_again_and_again() -> None:
    suspects, one = make(), tracked()
    assert not suspects.due(START)
    suspects.give_up(one, START)
    for round_ in range(1, 4):
        now = START + 30 * round_ * SECOND
        assert suspects.next_at == now
        assert suspects.due(now)
        assert suspects.given_up() == (one,)
    suspects.forget(one.run)
    assert suspects.due(START + 120 * SECOND)
    assert suspects.next_at is None
    assert suspects.given_up() == ()
