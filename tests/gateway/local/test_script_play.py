"""Scripted runs, in virtual time."""

from __future__ import annotations

import re

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.errors import ResourceExhausted, RunNotFound
from fleetgate.core.events import (
    MAX_BODY,
    ApprovalRequested,
    Decision,
    InputAccepted,
    Outcome,
    OutputProduced,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    Stream,
    TextProduced,
)
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.gateway.local.script import Rule, Script, parse_script
from fleetgate.gateway.local.script_play import DONE, MAX_APPENDED, Player, Stage
from fleetgate.gateway.local.script_steps import Hang, read_steps, say_text
from fleetgate.gateway.local.work import Task, Work

RUN = RunId("gui/run-1")
PROMPT = c.RunSpec(c.Prompt("hello"), interactive=True)


def stage_of(*steps: object) -> Stage:
    return Stage(Script((Rule(re.compile(""), read_steps(list(steps))),)))


def task_of(stage: Stage, told, spec: c.RunSpec = PROMPT) -> Task:
    return Task(Work(RUN, spec, told), stage.perform, "mock", takes_input=True)


def order(command: c.RunCommand, input: int = 0) -> c.Order:
    return c.Order(RUN, OrderNumber(input + 1), command, input)


async def test_without_a_script_a_run_echoes_and_succeeds(told) -> None:
    await task_of(Stage(), told).run()
    assert told.events == [RunStarted(), TextProduced("hello"), RunFinished(DONE)]


async def test_the_first_rule_is_played(told) -> None:
    script = parse_script('[[when]]\nmatch = "ell"\ndo = [{ text = "rule" }]', "s.toml")
    await task_of(Stage(script), told).run()
    assert told.text == "rule"


async def test_output_has_offsets_of_its_stream_and_is_split(told) -> None:
    big = "x" * (MAX_BODY + 1)
    stage = stage_of({"stdout": "ab"}, {"stderr": "e"}, {"stdout": big})
    await task_of(stage, told).run()
    assert told.of(OutputProduced) == [
        OutputProduced(Stream.STDOUT, b"ab", 0),
        OutputProduced(Stream.STDERR, b"e", 0),
        OutputProduced(Stream.STDOUT, b"x" * MAX_BODY, 2),
        OutputProduced(Stream.STDOUT, b"x", 2 + MAX_BODY),
    ]


async def test_sleeps_and_repeats_follow_the_clock(told, autojump_clock: MockClock) -> None:
    stage = stage_of({"repeat": 3, "do": [{"sleep_ms": 500}, {"text": "."}]})
    await task_of(stage, told).run()
    assert told.text == "..."
    assert trio.current_time() == 1.5


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        (
            {"finish": {"text": "t"}},
            Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0, text="t"),
        ),
        (
            {"finish": {"exit": 2}},
            Outcome(RunState.FAILED, Reason.EXITED, "exit code 2", exit_code=2),
        ),
        ({"fail": "no more"}, Outcome(RunState.FAILED, Reason.ERROR, "no more")),
    ],
)
async def test_an_end_is_the_end(told, step: object, outcome: Outcome) -> None:
    # No reader makes such a list; one that is emitted may come behind an end all the same.
    stage = Stage(Script((Rule(re.compile(""), (*read_steps([step]), say_text("never"))),)))
    await task_of(stage, told).run()
    assert told.events == [RunStarted(), RunFinished(outcome)]


async def test_an_approval_is_waited_for(told) -> None:
    task = task_of(stage_of({"approval": {"id": "a"}}, {"text": "on"}), told)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(task.run)
        await told.until(ApprovalRequested)
        await wait_all_tasks_blocked()
        assert told.text == ""
        task.give(order(c.ResolveApproval(RUN, "a", Decision.DENY)))
    assert told.text == "on"


async def test_each_read_takes_one_input(told) -> None:
    task = task_of(stage_of({"read_input": True}, {"text": "1"}, {"read_input": True}), told)
    task.give(order(c.SendInput(RUN, b"a"), 1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(task.run)
        await told.until(TextProduced)
        assert told.of(InputAccepted) == [InputAccepted(1)]
        task.give(order(c.CloseInput(RUN), 2))
    assert told.of(InputAccepted) == [InputAccepted(1), InputAccepted(2)]


async def test_reading_where_no_input_can_come_fails_instead_of_waiting(told) -> None:
    task = task_of(stage_of({"read_input": True}), told, c.RunSpec(c.Prompt("hello")))
    await task.run()
    assert told.outcome.message.startswith("unsupported_input: ")


async def test_a_drop_cuts_the_link_and_the_run_goes_on(told) -> None:
    cut: list[str] = []
    stage = Stage(stage_of({"drop": True}, {"text": "on"}).script, lambda: cut.append("now"))
    await task_of(stage, told).run()
    assert cut == ["now"]
    assert told.text == "on"


async def test_what_is_appended_is_done_last_and_ends_a_hang(told) -> None:
    stage = stage_of({"hang": True}, {"text": "b"})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(task_of(stage, told).run)
        await told.until(RunStarted)
        await wait_all_tasks_blocked()
        assert stage.runs == (RUN,)
        stage.emit(RUN, (say_text("c"), Hang(), say_text("d")))
        await told.until(TextProduced, 2)
        await wait_all_tasks_blocked()
        stage.emit(RUN, (say_text("e"),))
    assert told.text == "bcde"
    assert stage.runs == ()
    with pytest.raises(RunNotFound):
        stage.emit(RUN, ())


def test_appended_steps_are_bounded() -> None:
    player = Player(())
    player.append((Hang(),) * MAX_APPENDED)
    with pytest.raises(ResourceExhausted):
        player.append((Hang(),))


async def test_an_endless_script_can_be_canceled(told) -> None:
    task = task_of(stage_of({"repeat": 1_000_000_000, "do": [{"text": ""}]}), told)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(task.run)
        await told.until(RunStarted)
        task.give(order(c.CancelRun(RUN)))
    assert told.outcome.reason is Reason.CANCELED
