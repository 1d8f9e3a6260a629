"""The corpus of specs and ends has every member."""

from __future__ import annotations

import typing

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.gateway.fidelity.corpus import Marks, at
from fleetgate.gateway.fidelity.corpus_runs import ends, specs
from fleetgate.gateway.fidelity.trial import _words


def test_every_member_of_a_spec_and_of_each_input_is_in_it() -> None:
    kinds = (c.RunSpec, *typing.get_args(c.Input))
    wanted = {f"{kind.__name__}.{f.name}" for kind in kinds for f in attrs.fields(kind)}
    assert {item.row for item in specs(Marks())} == wanted - {"RunSpec.input"}


def test_a_spec_is_recognised_at_the_worker_by_its_sign() -> None:
    items = list(specs(Marks()))
    for item in items:
        assert at(item.subject, item.path) == item.value
        sign = item.sign or item.token
        assert sign in _words(item.subject.input), item
        others = [each for each in items if each is not item]
        assert not any(sign in _words(each.subject.input) for each in others)


def test_every_member_of_an_outcome_is_in_it_with_every_state_and_reason() -> None:
    items = list(ends(Marks()))
    wanted = {f"RunFinished.{field.name}" for field in attrs.fields(e.Outcome)}
    assert {item.row for item in items} == wanted | {"RunFinished"}
    outcomes = [item.subject.outcome for item in items]
    assert {each.state for each in outcomes} == {s for s in e.RunState if s.terminal}
    assert {each.reason for each in outcomes} == set(e.Reason)
