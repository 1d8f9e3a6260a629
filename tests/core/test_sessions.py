"""The sessions that are known."""

from __future__ import annotations

import attrs

from fleetgate.core import commands as c
from fleetgate.core.hub_testing import POOL, start_run
from fleetgate.core.ids import SessionId, WorkerId
from fleetgate.core.run import Run, start
from fleetgate.core.sessions import KNOWN_SESSIONS, Sessions, note_of, session_of

ONE, OTHER = WorkerId("pool/one"), WorkerId("pool/other")


def make_run(pool: str = POOL, **spec: str) -> Run:
    asked = c.RunSpec(c.Prompt("x"), **spec)
    return attrs.evolve(start(start_run("r", asked), now=0).run, pool=pool)


def test_a_run_that_continues_a_session_finds_its_worker() -> None:
    sessions = Sessions()
    assert sessions.home(make_run(resume="s")) is None
    sessions.open(make_run(), "s", ONE)
    assert sessions.home(make_run(resume="s")) == ONE
    assert sessions.home(make_run()) is None
    assert sessions.home(make_run(pool="elsewhere", resume="s")) is None


def test_a_session_of_our_own_naming_is_found_by_that_name() -> None:
    sessions = Sessions()
    named = make_run(session="mine")
    session = sessions.open(named, "native", ONE)
    assert (session.id, session.native_session) == (SessionId(f"{POOL}/mine"), "native")
    assert sessions.home(make_run(session="mine")) == ONE
    assert sessions.home(make_run(resume="native")) is None
    assert session_of(named) == "mine"


def test_a_session_that_moves_is_in_its_next_generation() -> None:
    sessions = Sessions()
    sessions.open(make_run(), "s", ONE)
    moved = sessions.open(make_run(), "s", OTHER)
    assert (moved.worker, moved.generation) == (OTHER, 2)


def test_a_session_survives_a_restart_by_its_note() -> None:
    before, after = Sessions(), Sessions()
    session = before.open(make_run(session="mine"), "native", ONE)
    after.remember(session.id, note_of(session))
    assert after.home(make_run(session="mine")) == ONE
    assert after.open(make_run(session="mine"), "native", ONE) == session


def test_I9_sessions_used_longest_ago_are_forgotten_first() -> None:
    sessions = Sessions()
    for number in range(KNOWN_SESSIONS):
        sessions.open(make_run(), str(number), ONE)
    assert sessions.forget_oldest() is None
    sessions.open(make_run(), "0", ONE)
    sessions.open(make_run(), "new", ONE)
    assert sessions.forget_oldest() == f"{POOL}/1"


def test_a_name_is_forgotten_in_every_pool_but_what_was_opened_since() -> None:
    sessions = Sessions()
    sessions.open(make_run("a"), "s", ONE)
    sessions.open(make_run("b"), "s", ONE)
    sessions.open(make_run("b"), "other", ONE)
    known = sessions.named("s")
    assert list(known) == ["a/s", "b/s"]
    again = sessions.open(make_run("b"), "s", ONE)
    for id, session in known.items():
        sessions.forget(id, session)
    assert sessions.named("s") == {"b/s": again}
    assert sessions.home(make_run("b", resume="other")) == ONE
    assert sessions.forget_worker(ONE) == ["b/other", "b/s"]
    assert sessions.named("s") == {}


def test_a_run_that_continues_a_session_by_our_name_resumes_by_its_workers_own() -> None:
    sessions = Sessions()
    run = attrs.evolve(make_run(session="mine"), worker=ONE)
    assert sessions.resuming(run) == run.work
    sessions.open(run, "native", ONE)
    assert sessions.resuming(run) == attrs.evolve(run.work, resume="native")
    chosen = attrs.evolve(make_run(session="mine", resume="chosen"), worker=ONE)
    elsewhere = attrs.evolve(run, worker=OTHER)
    for other in (make_run(), chosen, elsewhere, attrs.evolve(run, pool="b")):
        assert sessions.resuming(other) == other.work
