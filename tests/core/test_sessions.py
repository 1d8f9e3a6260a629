"""The sessions that are known."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core.hub_testing import POOL, start_run
from fleetgate.core.ids import SessionId, WorkerId
from fleetgate.core.run import Run, start
from fleetgate.core.session import Owner, Session
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


@pytest.mark.limit("core/sessions.KNOWN_SESSIONS")
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


@pytest.mark.limit("core/sessions.LONGEST_NAME")
@pytest.mark.parametrize(("name", "known"), [("é" * 512, True), ("é" * 512 + "x", False)])
def test_i9_a_name_that_is_too_long_is_not_remembered(name: str, known: bool) -> None:
    sessions = Sessions()
    assert (sessions.open(make_run(), name, ONE) is not None) is known
    assert (sessions.at(POOL, name) is not None) is known


def owned(run: Run, owner: Owner) -> Run:
    origin = attrs.evolve(run.origin, link=owner.link, controller=owner.controller)
    return attrs.evolve(run, origin=origin)


NAMES = st.sampled_from(("a", "b", "c", "d/e"))
ACTS = st.lists(
    st.tuples(
        st.sampled_from(("open", "open", "open", "resume", "restart", "forget", "worker")),
        st.sampled_from(("one", "two")),
        NAMES,
        NAMES,
        st.sampled_from((ONE, OTHER)),
        st.sampled_from((Owner("gui", "ann"), Owner("gui", "bob"))),
    ),
    max_size=20,
)


@given(ACTS)
def test_who_owns_what_a_name_leads_to_is_known_after_any_history(
    acts: list[tuple[str, str, str, str, WorkerId, Owner]],
) -> None:
    """As a look at each session that is known would say it."""
    sessions, known = Sessions(), dict[str, Session]()
    for act, pool, name, native, worker, owner in acts:
        match act:
            case "open" | "resume":
                run = make_run(pool, **{"session" if act == "open" else "resume": name})
                session = sessions.open(owned(run, owner), native, worker)
                assert session is not None
                known[session.id] = session
            case "restart":
                before, sessions = sessions, Sessions()
                for key, each in known.items():
                    sessions.remember(key, note_of(each))
                    sessions.remember(key, note_of(each))
                assert all(before.named(each) == sessions.named(each) for each in ("a", "d/e"))
            case "forget":
                for id, session in sessions.named(name).items():
                    sessions.forget(id, session)
                    del known[id]
            case _:
                for id in sessions.forget_worker(worker):
                    del known[id]
        for each in ("a", "b", "c", "d/e"):
            at = {key: found for key, found in known.items() if key.partition("/")[2] == each}
            assert sessions.named(each) == at
            led = {s.owner for s in known.values() if s.native_session == each}
            assert sessions.owners(each, ()) == led | {s.owner for s in at.values()}


class Watched(OrderedDict[str, Session]):
    """Counts the sessions that are looked at, and is never gone through."""

    looks = 0

    def __getitem__(self, key: str) -> Session:
        self.looks += 1
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all of them are gone through")


def test_no_question_for_a_name_looks_at_sessions_of_others() -> None:
    sessions = Sessions()
    for number in range(100):
        sessions.open(make_run(session=f"s{number}"), f"native{number}", ONE)
    sessions._known = Watched(sessions._known)
    assert sessions.owners("native7", ()) == {Owner()}
    assert list(sessions.named("s8")) == [f"{POOL}/s8"]
    assert sessions.owners("s100", ()) == set()
    assert sessions._known.looks == 2
