"""A run at a daemon: where its events stand."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.ids import RunId
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.testing import REQUEST
from fleetgate.protocols.agency.tracking import Tracked


def tracked(**members: Any) -> Tracked:
    return Tracked(RunId("r"), members.pop("request", REQUEST), **members)


@given(st.lists(st.integers(0, 12), max_size=30))
def test_i4_i10_each_number_is_taken_once_and_no_gap_is_passed_over(numbers: list[int]) -> None:
    run, told = tracked(), set[int]()
    for sequence in numbers:
        news = run.is_news(sequence)
        assert news == (sequence > max(told, default=0))
        if news:
            missing = run.arrive(sequence)
            if missing is not None:
                told.update(range(missing[0], missing[1] + 1))
            told.add(sequence)
    assert told == set(range(1, run.last + 1))


def test_nothing_is_news_after_the_end() -> None:
    assert not tracked(last=3, ended=True).is_news(4)


def test_it_is_done_once_its_end_is_durable() -> None:
    assert not tracked(last=3, safe=3).done
    assert not tracked(last=3, safe=2, ended=True).done
    assert tracked(last=3, safe=3, ended=True).done


SNAPSHOT = wire.RunSnapshot("r", wire.RunState.RUNNING, "claude", "", 0, 0, ("/w",))


def test_a_run_is_known_by_what_was_asked_for() -> None:
    assert tracked().is_ours(SNAPSHOT)
    assert tracked().is_ours(attrs.evolve(SNAPSHOT, state=wire.RunState.FAILED, run_id="x"))
    request = attrs.evolve(REQUEST, metadata={"a": (1, 2.0, {"b": None}), "big": 2**70})
    echoed = attrs.evolve(SNAPSHOT, metadata={"big": float(2**70), "a": [1, 2.0, {"b": None}]})
    assert tracked(request=request).is_ours(echoed)


def test_metadata_that_was_too_deep_to_be_sent_is_known_by_what_went_out() -> None:
    deep: Any = None
    for _ in range(5_000):
        deep = [deep]
    request = attrs.evolve(REQUEST, metadata=deep)
    echoed = {"note": "nested too deeply", "truncated": True}
    assert tracked(request=request).is_ours(attrs.evolve(SNAPSHOT, metadata=echoed))
    assert not tracked(request=request).is_ours(SNAPSHOT)


@pytest.mark.parametrize(
    "changes",
    [{"provider": "x"}, {"model": "x"}, {"workspace_roots": ()}, {"metadata": {"a": 1}}],
)
def test_and_not_where_that_differs(changes: dict[str, Any]) -> None:
    assert not tracked().is_ours(attrs.evolve(SNAPSHOT, **changes))


@pytest.mark.parametrize(
    ("last", "latest", "acknowledged", "owed"),
    [
        (5, 9, 0, 9),
        (5, 9, 8, 9),
        (5, 9, 9, 0),
        (5, 5, 0, 0),
        (5, 3, 0, 0),
        (0, 2**64 - 1, 0, 2**63 - 1),
    ],
)
def test_what_a_daemon_still_owes(last: int, latest: int, acknowledged: int, owed: int) -> None:
    snapshot = attrs.evolve(SNAPSHOT, latest_sequence=latest, acknowledged_sequence=acknowledged)
    assert tracked(last=last).owed(snapshot) == owed


def test_a_run_that_gets_on_starts_with_a_clean_slate() -> None:
    run = tracked(last=5, tries=4)
    run.skip_to(9)
    assert (run.last, run.tries) == (9, 0)
    run.tries = 2
    assert run.arrive(11) == (10, 10)
    assert (run.last, run.tries) == (11, 0)
