"""The union of events: closed, frozen, in the past tense."""

from typing import Any, get_args

import attrs
import pytest
from hypothesis import given

from fleetgate.core import events as e
from fleetgate.core.run import TRANSITIONS
from fleetgate.core.testing import events, recorded

KINDS: tuple[type[Any], ...] = get_args(e.Event)
PARTS = (e.Stamp, e.Outcome, e.Source, e.Recorded)


def test_the_union_holds_every_event_of_the_module() -> None:
    written = {
        value
        for value in vars(e).values()
        if isinstance(value, type) and attrs.has(value) and value.__module__ == e.__name__
    }
    assert written - set(PARTS) == set(KINDS)
    assert len(KINDS) == 21


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_named_in_the_past_tense(kind: type[Any]) -> None:
    assert kind.__name__.endswith(("ed", "Found"))


@pytest.mark.parametrize("kind", [*KINDS, *PARTS])
def test_a_value_says_what_it_means_and_holds_only_its_members(kind: type[Any]) -> None:
    assert kind.__doc__
    assert "__slots__" in vars(kind)


@given(events())
def test_an_event_cannot_be_changed(event: e.Event) -> None:
    for member in attrs.fields(type(event)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(event, member.name, None)
    with pytest.raises(AttributeError):
        object.__setattr__(event, "extra", 1)


@given(recorded())
def test_a_recorded_event_is_equal_to_its_like_and_to_no_other(one: e.Recorded) -> None:
    assert one == attrs.evolve(one)
    assert one != attrs.evolve(one, seq=one.seq + 1)
    assert one != attrs.evolve(one, event=e.Diagnosed("something else altogether", "other"))


def test_terminal_states_are_those_that_nothing_follows() -> None:
    assert {state for state in e.RunState if state.terminal} == {
        state for state, following in TRANSITIONS.items() if not following
    }
    assert {state.value for state in e.RunState if state.terminal} == {
        "succeeded",
        "failed",
        "canceled",
        "lost",
    }


@pytest.mark.parametrize("words", [e.RunState, e.Stream, e.Decision, e.Reason])
def test_the_word_of_a_member_is_its_name(words: Any) -> None:
    """They are in journals and on wires: a renamed member must not change its word."""
    assert all(member.value == member.name.lower() for member in words)
