"""What the body of a run event says, member by member."""

from __future__ import annotations

import pytest

from fleetgate.core import events as e
from fleetgate.protocols.iop.told import event_of, number_of


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("gap", {"from_seq": -1, "to_seq": 2}),
        ("gap", {"from_seq": 1}),
        ("approval_resolved", {"approval": "a", "decision": "maybe"}),
        ("tool_call", {"name": 5}),
        ("input", {"through": "x"}),
        ("state", {"state": "succeeded"}),
        ("unheard_of", {}),
    ],
)
def test_members_of_the_wrong_type_make_no_event(name: str, body: dict[str, object]) -> None:
    assert event_of(name, body) is None  # type: ignore[arg-type]


def test_a_tool_result_says_whether_it_went_well_only_where_it_does() -> None:
    yes = event_of("tool_result", {"output": "x", "ok": True, "call": "c"})
    assert yes == e.ToolReturned("x", True, "c")
    unsure = event_of("tool_result", {"output": "x", "ok": "yes"})
    assert unsure == e.ToolReturned("x", None, None)


def test_a_number_is_whole_and_from_zero_on() -> None:
    assert [number_of(each) for each in (5, True, -1, 1.0, "1", 1 << 63)] == [5, *[None] * 5]
