"""A queue that takes nothing while it is empty."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.queue import Queue


@given(st.lists(st.integers(), max_size=5), st.lists(st.integers() | st.none(), max_size=20))
def test_it_does_what_a_deque_does(start: list[int], done: list[int | None]) -> None:
    queue, model = Queue(start), deque(start)
    for each in done:
        if each is not None:
            queue.append(each)
            model.append(each)
        elif model:
            assert queue.first == model[0]
            assert queue.popleft() == model.popleft()
        assert (len(queue), bool(queue), list(queue)) == (len(model), bool(model), list(model))
    queue.clear()
    assert not queue


def test_an_empty_one_has_no_first() -> None:
    queue = Queue[int]()
    with pytest.raises(IndexError):
        queue.popleft()
    queue.append(1)
    assert queue.popleft() == 1
    with pytest.raises(IndexError):
        queue.first  # noqa: B018
