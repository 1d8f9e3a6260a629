"""Making what is too large for a frame fit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.encode import FrameTooLarge, encode_event, size_of, written
from fleetgate.protocols.agency.testing import EVENTS
from fleetgate.protocols.agency.trim import MARK, NAME_ROOM, cut, cut_value, shorten
from fleetgate.protocols.json_text import quote

ROOM = wire.MAX_TEXT - 2048


@given(st.text(max_size=200), st.integers(40, 400))
def test_a_text_is_cut_to_what_it_may_take_and_says_so(text: str, room: int) -> None:
    made = cut(text, room)
    assert size_of(quote(made)) <= room
    if size_of(quote(text)) <= room:
        assert made == text
    else:
        assert made.endswith(MARK)
        assert text.startswith(made.removesuffix(MARK))


@pytest.mark.parametrize("char", ["x", "é", "\n", "\0", "\U0001f600"])
def test_escapes_are_counted_and_little_is_wasted(char: str) -> None:
    made = cut(char * 1_000_000, 100_000)
    assert 90_000 < size_of(quote(made)) <= 100_000


@pytest.mark.parametrize("event", EVENTS)
def test_what_fits_is_left_as_it_is(event: w.RunEvent) -> None:
    assert shorten(event, ROOM) == event


LARGE: str = "x\n" * 500_000
MANY: Any = [{"a": 1}] * 150_000

TOO_LARGE: list[w.RunEvent] = [
    w.Text(LARGE),
    w.Reasoning(LARGE),
    w.Failed(LARGE),
    w.ErrorEvent(LARGE),
    w.ToolResult(LARGE, id=LARGE),
    w.ToolCall(LARGE, {"command": LARGE, "more": MANY}, id=LARGE),
    w.ToolCall("Bash", MANY),
    w.ToolCall("Bash", LARGE),
    w.ApprovalRequested(LARGE, LARGE, {"a": LARGE, "b": LARGE}),
    w.SessionOpened(LARGE, LARGE),
    w.Finished({"text": LARGE, "stderr": LARGE, "structured": MANY, "exit_code": 0}),
    w.Finished({str(at): "x" * 100 for at in range(100_000)}),
    w.Usage({"a": LARGE}),
    w.RateLimit(MANY),
    w.Compaction(LARGE),
    w.Commands({"all": MANY, "skills": []}),
]


@pytest.mark.parametrize("event", TOO_LARGE, ids=lambda event: type(event).__name__)
def test_what_does_not_fit_is_made_to(event: w.RunEvent) -> None:
    with pytest.raises(FrameTooLarge):
        encode_event("run-1", 1, event)
    encode_event("run-1", 1, shorten(event, ROOM))


def test_an_outcome_keeps_its_keys_and_its_small_members() -> None:
    outcome = {"exit_code": 3, "stderr": LARGE, "stop": "error", "structured": MANY, "text": "t"}
    made: Any = cut_value(outcome, ROOM)
    assert set(made) == set(outcome)
    assert (made["exit_code"], made["stop"], made["text"]) == (3, "error", "t")
    assert made["stderr"].endswith(MARK)
    assert made["structured"]["truncated"] is True
    assert made["structured"]["original_bytes"] == size_of(written(MANY))
    assert size_of(written(made)) > ROOM // 3


def test_an_id_is_cut_last() -> None:
    event = shorten(w.ToolResult(LARGE, id="t1"), ROOM)
    assert isinstance(event, w.ToolResult)
    assert event.id == "t1"
    event = shorten(w.ToolResult("x", id=LARGE), ROOM)
    assert isinstance(event, w.ToolResult)
    assert size_of(quote(event.id or "")) <= NAME_ROOM


@given(
    st.recursive(
        st.integers() | st.text(max_size=30),
        lambda inner: (
            st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5)
        ),
        max_leaves=12,
    ),
    st.integers(120, 300),
)
def test_any_value_is_made_to_fit(value: Any, room: int) -> None:
    made = cut_value(value, room)
    assert size_of(written(made)) <= room
    if size_of(written(value)) <= room:
        assert made == value
