"""The corpus of events and orders has every kind and every member."""

from __future__ import annotations

import typing

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.gateway.fidelity.corpus import ORDERS, Marks, at, events, orders
from fleetgate.gateway.fidelity.values import DEFAULT


def rows(kinds) -> set[str]:
    members = {f"{kind.__name__}.{f.name}" for kind in kinds for f in attrs.fields(kind)}
    return members | {kind.__name__ for kind in kinds}


def test_every_event_that_a_worker_reports_is_in_it() -> None:
    kinds = set(typing.get_args(e.Event)) - {e.RunAssigned, e.RunFinished}
    assert {item.row for item in events(Marks())} == rows(kinds)


def test_every_order_to_a_run_is_in_it_but_those_of_its_start() -> None:
    assert set(ORDERS) == set(typing.get_args(c.RunCommand)) - {c.StartRun, c.SupplyScript}
    found = {item.row for item in orders(Marks())}
    assert rows(ORDERS) - found == {
        *(f"{kind.__name__}.run" for kind in ORDERS),
        "CancelRun.scope",
    }


def test_each_item_holds_its_value_and_marks_of_its_own() -> None:
    marks = Marks()
    items = [*events(marks), *orders(marks)]
    assert len({item.token for item in items}) == len(items)
    assert len({item.name for item in items}) == len(items)
    for item in items:
        if item.path:
            assert at(item.subject, item.path) == item.value


def test_a_member_that_may_be_left_out_is_tried_without_a_value() -> None:
    labels = {item.label for item in events(Marks()) if item.row == "ToolCalled.call"}
    assert labels == {DEFAULT, "typical", "extreme"}
