"""What a load host is asked to emit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.events import MAX_BODY
from fleetgate.gateway.bench.task import SMALLEST, Task, make_body, parse_task, read_stamp

TASKS = st.builds(
    Task,
    size=st.integers(SMALLEST, MAX_BODY),
    seconds=st.floats(0.001, 1e6),
    rate=st.integers(0, 1_000_000),
    events=st.integers(1, 1 << 40),
)


@given(TASKS)
def test_a_task_is_the_same_behind_its_text(task: Task) -> None:
    assert parse_task(str(task)) == task


@pytest.mark.parametrize("text", ["", "256", "256 1.0 0", "256 1.0 0 5 6", "a 1.0 0 5", "63 1 0 5"])
def test_a_text_that_is_no_task_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"four numbers|invalid literal|size"):
        parse_task(text)


@given(st.integers(0, (1 << 63) - 1), st.integers(SMALLEST, 4096))
def test_a_body_has_its_size_and_its_stamp_and_is_ascii(due: int, size: int) -> None:
    body = make_body(due, size)
    assert len(body) == size
    assert body.isascii()
    assert read_stamp(body) == read_stamp(body.decode()) == due
