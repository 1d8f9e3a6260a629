import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.reconcile import (
    ENDED,
    Belief,
    Comparison,
    Ended,
    Repeated,
    Round,
    compare,
)
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle

NOW = 1_000
OURS, THEIRS = b"o" * 32, b"t" * 32
BELIEF = Belief("u", OURS, 5, accepted=True, expires=None, canceling=False, ended=False)
NEVER = attrs.evolve(BELIEF, asked=0, accepted=False)
STATE = w.ReconcileCommandState("u", Lifecycle.RUNNING, 8, 1, False, OURS)
NOTHING = Comparison((), (), (), (), (), (), (), ())


def judged(
    belief: Belief | None, state: w.ReconcileCommandState | None, **ended: int
) -> Comparison:
    snapshot = w.ReconcileSnapshot(() if state is None else (state,))
    known = {uuid: Ended(last, OURS) for uuid, last in ended.items()}
    return compare([] if belief is None else [belief], snapshot, known, NOW)


def but(**members: object) -> Comparison:
    return attrs.evolve(NOTHING, **members)


GONE = (("u", "its host does not know it any more"),)


@pytest.mark.parametrize("belief", [BELIEF, NEVER])
@pytest.mark.parametrize("last", [5, 8])
def test_what_both_know_goes_on(belief: Belief, last: int) -> None:
    state = attrs.evolve(STATE, last_client_event_seq=last)
    assert judged(belief, state) == but(kept=(state,))


def test_a_missing_command_that_was_accepted_is_lost() -> None:
    assert judged(BELIEF, None) == but(lost=GONE)
    assert judged(attrs.evolve(BELIEF, expires=NOW + 1), None) == but(lost=GONE)


def test_a_missing_command_that_was_never_accepted_is_dispatched_again() -> None:
    assert judged(NEVER, None) == but(again=("u",))
    assert judged(attrs.evolve(NEVER, expires=NOW + 1), None) == but(again=("u",))


def test_a_missing_command_whose_expiry_has_passed_has_expired() -> None:
    assert judged(attrs.evolve(NEVER, expires=NOW), None) == but(expired=("u",))


def test_a_missing_command_that_was_canceled_is_canceled() -> None:
    assert judged(attrs.evolve(NEVER, canceling=True), None) == but(canceled=("u",))


def test_a_missing_command_whose_exit_is_here_needs_nothing() -> None:
    assert judged(attrs.evolve(BELIEF, ended=True), None) == NOTHING


@pytest.mark.parametrize("belief", [BELIEF, NEVER])
def test_a_tombstone_is_lost_and_not_dispatched_again(belief: Belief) -> None:
    (lost,) = judged(belief, attrs.evolve(STATE, tombstoned=True)).lost
    assert lost[0] == "u"


def test_a_tombstone_of_another_request_counts_as_missing() -> None:
    state = attrs.evolve(STATE, tombstoned=True, immutable_request_sha256=THEIRS)
    assert judged(NEVER, state) == but(again=("u",))
    assert judged(BELIEF, state) == but(lost=GONE)


def test_another_request_under_the_same_uuid_is_terminated() -> None:
    state = attrs.evolve(STATE, immutable_request_sha256=THEIRS)
    assert judged(BELIEF, state) == but(lost=GONE, terminate=("u",))
    assert judged(NEVER, state) == but(again=("u",), terminate=("u",))


def test_a_target_beyond_the_clients_last_event_is_lost() -> None:
    comparison = judged(BELIEF, attrs.evolve(STATE, last_client_event_seq=4))
    assert comparison.terminate == ("u",)
    assert [uuid for uuid, _ in comparison.lost] == ["u"]


def test_what_only_the_client_knows_is_terminated_while_it_runs() -> None:
    assert judged(None, STATE) == but(terminate=("u",))


def test_what_ended_there_and_is_journaled_here_is_discarded() -> None:
    state = attrs.evolve(STATE, lifecycle=Lifecycle.EXITED)
    assert judged(None, state, u=8) == but(discard=("u",))


def test_what_ended_there_and_was_given_up_here_is_terminated() -> None:
    state = attrs.evolve(STATE, lifecycle=Lifecycle.EXITED)
    assert judged(None, state, u=7) == but(terminate=("u",))
    assert judged(None, STATE, u=8) == but(terminate=("u",))


def test_another_request_that_ended_there_under_an_ended_uuid_is_terminated() -> None:
    state = attrs.evolve(STATE, lifecycle=Lifecycle.EXITED, immutable_request_sha256=THEIRS)
    assert judged(None, state, u=8) == but(terminate=("u",))


@pytest.mark.parametrize("lifecycle", sorted(ENDED))
def test_what_ended_there_and_is_unknown_on_this_link_is_unclear(lifecycle: int) -> None:
    state = attrs.evolve(STATE, lifecycle=lifecycle)
    assert judged(None, state) == but(unclear=(state,))


def test_a_tombstone_that_nobody_asked_for_needs_nothing() -> None:
    assert judged(None, attrs.evolve(STATE, tombstoned=True)) == NOTHING


def test_a_snapshot_names_a_command_once() -> None:
    with pytest.raises(Repeated):
        compare([], w.ReconcileSnapshot((STATE, STATE)), {}, NOW)


UUIDS = st.sampled_from("abcdef")
DIGESTS = st.sampled_from([OURS, THEIRS])


@given(
    st.lists(
        st.builds(
            Belief,
            UUIDS,
            DIGESTS,
            st.integers(0, 9),
            st.booleans(),
            st.none() | st.integers(NOW - 1, NOW + 1),
            st.booleans(),
            st.booleans(),
        ),
        unique_by=lambda belief: belief.uuid,
    ),
    st.lists(
        st.builds(
            w.ReconcileCommandState,
            UUIDS,
            st.integers(0, 10),
            st.integers(0, 9),
            st.integers(0, 3),
            st.booleans(),
            DIGESTS,
        ),
        unique_by=lambda state: state.issue_uuid,
    ),
    st.dictionaries(UUIDS, st.builds(Ended, st.integers(0, 9), DIGESTS)),
)
def test_every_target_has_one_fate_and_every_stranger_one_answer(
    beliefs: list[Belief], states: list[w.ReconcileCommandState], ended: dict[str, Ended]
) -> None:
    seen = compare(beliefs, w.ReconcileSnapshot(tuple(states)), ended, NOW)
    fates = [state.issue_uuid for state in seen.kept]
    fates += [uuid for uuid, _ in seen.lost]
    fates += [*seen.expired, *seen.canceled, *seen.again]
    assert len(set(fates)) == len(fates)
    open_ones = {belief.uuid for belief in beliefs if not belief.ended}
    assert open_ones <= set(fates)
    answers = [*seen.terminate, *seen.discard, *(state.issue_uuid for state in seen.unclear)]
    assert len(set(answers)) == len(answers)
    believed = {belief.uuid for belief in beliefs}
    strangers = {s.issue_uuid for s in states if not s.tombstoned} - believed
    assert set(answers) - believed == strangers


def test_a_round_is_complete_when_nothing_is_pending() -> None:
    round = Round.of(but(terminate=("a",), discard=("b",)))
    assert (round.terminate, round.discard) == (["a"], ["b"])
    round.pending |= {"r1", ("u", 3)}
    assert [round.settle(what) for what in ("r2", "r1", "r1", ("u", 3))] == [
        False,
        False,
        False,
        True,
    ]
