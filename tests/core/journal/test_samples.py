"""What journals are filled with is what it says."""

from __future__ import annotations

import pytest

from fleetgate.core.events import RunState, TextProduced
from fleetgate.core.journal import samples
from fleetgate.core.journal.memory import open_memory_journal


def test_events_are_numbered_from_the_first_and_as_large_as_wanted() -> None:
    run = samples.make_run("a", "cli")
    events = samples.make_events(run.id, 3, 2, 100)
    assert [event.seq for event in events] == [3, 4]
    for event in events:
        assert isinstance(event.event, TextProduced)
        assert len(event.event.text) == 100
        assert event.event.text.startswith(f"cli/a {event.seq} ")


async def test_a_run_is_written_with_its_end() -> None:
    run = samples.make_run("a")
    async with open_memory_journal() as journal:
        await samples.end_run(journal, run, acknowledged=1)
        assert await journal.get(run.id) == samples.ended(run, 1, acknowledged=1)
        assert [event.seq for event in await samples.all_events(journal, run.id)] == [1]
    assert samples.ended(run, 1).state is RunState.SUCCEEDED


async def test_answers_are_kept_in_their_order() -> None:
    answers, error = samples.Answers(), ValueError("no")
    answers.done("a")(None)
    answers.done("b")(error)
    await answers.wait(2)
    assert answers.came == [("a", None), ("b", error)]


def test_what_does_not_hold_is_said() -> None:
    samples.same(1, 1, "numbers")
    samples.true(True, "truth")
    with pytest.raises(AssertionError, match="numbers: expected 2, found 1"):
        samples.same(1, 2, "numbers")
    with pytest.raises(AssertionError, match="expected truth"):
        samples.true(False, "truth")
