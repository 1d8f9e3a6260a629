"""The union of answers: closed and frozen."""

from typing import Any, get_args

import attrs
import pytest
from hypothesis import given

from fleetgate.core import answers as a
from fleetgate.core.errors import Refusal
from fleetgate.core.ids import Epoch
from fleetgate.core.run import Run
from fleetgate.core.testing import orders, runs

KINDS: tuple[type[Any], ...] = get_args(a.Answer)
PARTS = {a.Held}


def test_the_union_holds_every_answer_of_the_module_and_the_refusal() -> None:
    written = {
        value
        for value in vars(a).values()
        if isinstance(value, type) and attrs.has(value) and value.__module__ == a.__name__
    }
    assert (written - PARTS) | {Refusal} == set(KINDS)


def test_accepted_without_a_run_is_about_none() -> None:
    assert a.Accepted() == a.Accepted(None, None)


@given(runs(), orders())
def test_an_admission_keeps_what_is_held_in_order(run: Run, order: Any) -> None:
    admission = a.Admission(Epoch(3), (a.Held(run, (order, order)), a.Held(run, ())))
    assert [len(held.orders) for held in admission.held] == [2, 0]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(admission, "epoch", Epoch(4))  # noqa: B010 - a plain write is a type error
