"""The strategies draw every kind, and only what may exist."""

import json
from collections.abc import Callable
from typing import Any, get_args

import attrs
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core import testing as t
from fleetgate.core.json import Json
from fleetgate.core.run import Run, evolve


def draw(strategy: st.SearchStrategy[Any], wanted: Callable[[Any], bool]) -> Any:
    """Some value that is wanted; the smallest is not needed."""
    return find(strategy, wanted, settings=settings(phases=[Phase.generate], max_examples=2000))


@pytest.mark.parametrize("kind", get_args(e.Event))
def test_an_event_of_every_kind_is_drawn(kind: type[e.Event]) -> None:
    assert isinstance(draw(t.events(), lambda event: type(event) is kind), kind)
    assert isinstance(draw(t.events(kind), lambda event: True), kind)


@pytest.mark.parametrize("kind", get_args(c.Command))
def test_a_command_of_every_kind_is_drawn(kind: type[Any]) -> None:
    assert isinstance(draw(t.commands(), lambda command: type(command) is kind), kind)


@pytest.mark.parametrize("kind", get_args(c.Input))
def test_an_input_of_every_kind_is_drawn(kind: type[Any]) -> None:
    assert isinstance(draw(t.specs(), lambda spec: type(spec.input) is kind).input, kind)


@pytest.mark.parametrize("state", e.RunState)
def test_a_run_in_every_state_is_drawn(state: e.RunState) -> None:
    assert draw(t.runs(), lambda run: run.state is state).state is state


def _members(kind: type[Any], strategy: st.SearchStrategy[Any]) -> list[Any]:
    return [
        pytest.param(strategy, member.name, id=f"{kind.__name__}.{member.name}")
        for member in attrs.fields(kind)
    ]


@pytest.mark.parametrize(
    ("strategy", "member"),
    [*_members(c.RunSpec, t.specs()), *_members(e.Outcome, t.outcomes())],
)
def test_every_member_is_drawn_other_than_empty(
    strategy: st.SearchStrategy[Any], member: str
) -> None:
    """A member that no strategy fills would be one that no test carries over."""
    drawn = draw(strategy, lambda value: bool(getattr(value, member)))
    assert getattr(drawn, member)


@given(t.json_values())
def test_a_drawn_json_value_is_one(value: Json) -> None:
    json.dumps(value, allow_nan=False).encode()


@given(t.histories())
def test_i1_a_drawn_history_is_numbered_and_legal(history: tuple[e.Recorded, ...]) -> None:
    assert [recorded.seq for recorded in history] == list(range(1, len(history) + 1))
    assert len({recorded.run for recorded in history}) <= 1
    times = [recorded.time for recorded in history]
    assert times == sorted(times)
    ends = [type(recorded.event) is e.RunFinished for recorded in history]
    assert not any(ends[:-1])


@given(t.runs(max_size=0), t.events())
def test_a_fresh_run_has_no_events(run: Run, event: e.Event) -> None:
    assert run.last_seq == 0
    assert run.state is e.RunState.QUEUED
    if type(event) is e.RunAssigned:
        assert evolve(run, event).worker == event.worker


@given(t.runs())
def test_a_drawn_run_is_consistent(run: Run) -> None:
    assert run.acknowledged <= run.last_seq
    assert run.state.terminal == (run.outcome is not None)
    assert not (run.ended and not run.state.terminal)


@given(t.orders())
def test_only_an_input_has_an_input_number(order: c.Order) -> None:
    assert bool(order.input) == isinstance(order.command, c.SendInput | c.CloseInput)
