"""Sessions: bound to one worker at a time, and a native id never outlives its worker."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fleetgate.core.ids import SessionId, WorkerId
from fleetgate.core.session import Session, bind, opened
from fleetgate.core.testing import session_ids, texts, worker_ids


@given(session_ids(), worker_ids())
def test_a_new_session_is_in_its_first_generation(id: SessionId, worker: WorkerId) -> None:
    assert bind(None, id, worker) == Session(id, worker, None, 1)


@given(session_ids(), worker_ids(), texts())
def test_a_run_at_the_same_worker_changes_nothing(
    id: SessionId, worker: WorkerId, native: str
) -> None:
    session = opened(bind(None, id, worker), native)
    assert bind(session, id, worker) is session


@given(session_ids(), worker_ids(), worker_ids(), texts())
def test_another_worker_never_sees_the_native_id_of_the_first(
    id: SessionId, one: WorkerId, other: WorkerId, native: str
) -> None:
    moved = bind(opened(bind(None, id, one), native), id, other)
    assert moved.worker == other
    assert moved.native_session == (native if one == other else None)
    assert moved.generation == (1 if one == other else 2)


class Moves(RuleBasedStateMachine):
    """A session that is bound and named at random, beside a list of who had it."""

    @initialize(worker=st.sampled_from("abc"))
    def first(self, worker: str) -> None:
        self.session = bind(None, SessionId("s"), WorkerId(worker))
        self.stays = [worker]
        self.named: str | None = None

    @rule(worker=st.sampled_from("abc"))
    def run_at(self, worker: str) -> None:
        self.session = bind(self.session, SessionId("s"), WorkerId(worker))
        if self.stays[-1] != worker:
            self.stays.append(worker)
            self.named = None

    @rule(native=st.sampled_from(["n1", "n2"]))
    def name(self, native: str) -> None:
        self.session = opened(self.session, native)
        self.named = native

    @invariant()
    def the_generation_counts_the_stays(self) -> None:
        assert self.session.generation == len(self.stays)
        assert self.session.worker == self.stays[-1]
        assert self.session.native_session == self.named


TestMoves = Moves.TestCase
