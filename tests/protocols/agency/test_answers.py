"""Answers about many runs, providers or accounts."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.errors import RunNotFound, Unavailable
from fleetgate.core.events import RunState
from fleetgate.core.worker import AccountReport, ProviderReport
from fleetgate.protocols.agency import answers, wire
from fleetgate.protocols.agency.encode import encode_response, snapshot_size
from fleetgate.protocols.agency.testing import REQUEST, make_run
from fleetgate.protocols.agency.translate import to_snapshot, to_spec


def test_the_run_in_an_answer() -> None:
    run = make_run()
    assert answers.run_in(Accepted(run, run)) is run
    refusal = Unavailable("x")
    assert answers.run_in(refusal) is refusal
    assert isinstance(answers.run_in(Accepted()), RunNotFound)
    assert answers.unexpected(RunNotFound("x")).code is wire.ErrorCode.NOT_FOUND
    assert answers.unexpected(RunList(())).code is wire.ErrorCode.INTERNAL


@given(
    st.lists(
        st.tuples(
            st.sampled_from([RunState.RUNNING, RunState.FAILED]),
            st.integers(0, 400_000),
            st.integers(0, 9),
        ),
        max_size=8,
    )
)
def test_a_list_loses_what_ended_first_and_no_more_than_it_must(
    drawn: list[tuple[RunState, int, int]],
) -> None:
    runs = [
        make_run(
            f"run-{at}",
            spec=attrs.evolve(to_spec(REQUEST), metadata={"m": "x" * size}),
            state=state,
            ended=ended if state.terminal else 0,
        )
        for at, (state, size, ended) in enumerate(drawn)
    ]
    kept = answers.fitting(runs)
    gone = [run for run in runs if run not in kept]
    assert all(run.state.terminal for run in gone)
    latest = max((run.ended for run in gone), default=0)
    assert all(run.ended >= latest for run in kept if run.state.terminal)
    sizes = sum(len(run.spec.metadata["m"]) for run in runs)  # type: ignore[arg-type]
    if sizes < 1_000_000:
        assert not gone
    if not any(run.state.terminal for run in kept):
        return
    encode_response(1, wire.Runs(tuple(map(to_snapshot, kept))))


@pytest.mark.limit("protocols/agency/answers.MOST_LISTED")
def test_more_runs_than_are_asked_for_fit_into_no_list() -> None:
    smallest = make_run("", spec=attrs.evolve(to_spec(REQUEST), metadata={}))
    assert snapshot_size(to_snapshot(smallest)) >= answers.SMALLEST_SNAPSHOT
    assert answers.MOST_LISTED * answers.SMALLEST_SNAPSHOT >= wire.MAX_TEXT


def test_all_that_a_start_may_name_are_told_of_and_no_others() -> None:
    """A worker that does not say what it runs is reported on by its entry's name."""
    said = answers.providers(
        ["claude", "codex"], [ProviderReport("hosts", True), ProviderReport("codex", True)]
    )
    assert [(p.provider, p.installed) for p in said.providers] == [
        ("claude", False),
        ("codex", True),
    ]
    used = answers.accounts(
        ["claude", "codex"], [AccountReport("hosts", False), AccountReport("codex", True, {"a": 1})]
    )
    assert used == wire.AccountUsage(
        (
            wire.ProviderAccountUsage("claude", False),
            wire.ProviderAccountUsage("codex", True, {"a": 1}),
        )
    )


def test_a_run_s_session_is_the_one_it_opened_or_was_to_resume() -> None:
    message = wire.InterruptSession("claude", "s", "k")
    resuming = make_run(spec=attrs.evolve(to_spec(REQUEST), resume="s"))
    assert answers.in_session(make_run(native_session="s"), message)
    assert answers.in_session(resuming, message)
    assert not answers.in_session(make_run(native_session="t"), message)
    assert not answers.in_session(make_run(), attrs.evolve(message, provider="codex"))
