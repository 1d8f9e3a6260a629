"""A task's orders, its deadline and its one end, whatever its job does."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import (
    ApprovalRequested,
    Decision,
    InputAccepted,
    Outcome,
    Reason,
    RunStarted,
    RunState,
)
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.gateway.local.work import Declined, Job, Task, Work, WorkFailed

RUN = RunId("gui/run-1")
DONE = Outcome(RunState.SUCCEEDED, Reason.EXITED)


def make_task(told, job: Job, timeout: float | None = None, **options) -> Task:
    nanos = None if timeout is None else round(timeout * 1e9)
    spec = c.RunSpec(c.Prompt("hi"), timeout=nanos)
    return Task(Work(RUN, spec, told), job, "mock", **options)


def order(number: int, command: c.RunCommand, input: int = 0) -> c.Order:
    return c.Order(RUN, OrderNumber(number), command, input)


async def forever(work: Work) -> Outcome:
    work.started()
    await trio.sleep_forever()
    return DONE


async def test_what_the_job_says_is_the_end(told) -> None:
    async def job(work: Work) -> Outcome:
        work.started(7)
        await work.wait_room()
        return DONE

    await make_task(told, job).run()
    assert told.events[0] == RunStarted(7)
    assert told.outcome == DONE


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Declined("workspace_outside_root", "choose another"), Reason.REFUSED),
        (WorkFailed("workspace_outside_root", "choose another"), Reason.ERROR),
    ],
)
async def test_a_job_that_cannot_says_why(told, error: Exception, reason: Reason) -> None:
    async def job(work: Work) -> Outcome:
        raise error

    await make_task(told, job).run()
    assert told.outcome.state is RunState.FAILED
    assert told.outcome.reason is reason
    assert told.outcome.message == "workspace_outside_root: choose another"


@pytest.mark.parametrize(
    ("command", "signal"),
    [
        (c.CancelRun(RUN), None),
        (c.SignalRun(RUN, c.Signal.INTERRUPT), "SIGINT"),
        (c.SignalRun(RUN, c.Signal.KILL), "SIGKILL"),
    ],
)
@pytest.mark.parametrize("early", [False, True])
async def test_a_cancel_and_any_signal_end_it(told, command, signal, early: bool) -> None:
    task = make_task(told, forever)
    async with trio.open_nursery() as nursery:
        if early:
            task.give(order(1, command))
        nursery.start_soon(task.run)
        if not early:
            await told.until(RunStarted)
            task.give(order(1, command))
    assert told.settled == {1: None}
    assert told.outcome == Outcome(RunState.CANCELED, Reason.CANCELED, "canceled", signal=signal)


async def test_its_timeout_ends_it(told, autojump_clock: MockClock) -> None:
    await make_task(told, forever, timeout=30).run()
    assert trio.current_time() == 30
    assert told.outcome.reason is Reason.TIMED_OUT


async def test_cancelled_from_outside_it_reports_no_end(told) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_task(told, forever).run)
        await told.until(RunStarted)
        nursery.cancel_scope.cancel()
    assert told.events == [RunStarted()]


async def test_input_is_confirmed_as_it_is_read(told) -> None:
    seen: list[bytes] = []

    async def job(work: Work) -> Outcome:
        seen.append((await work.take_input(1)).data)
        rest = await work.take_input()
        seen.append(rest.data)
        assert rest.closes
        return DONE

    task = make_task(told, job, takes_input=True)
    task.give(order(1, c.SendInput(RUN, b"a"), 1))
    task.give(order(2, c.SendInput(RUN, b"b", newline=True), 2))
    task.give(order(3, c.CloseInput(RUN), 3))
    await task.run()
    assert seen == [b"a", b"b\n"]
    assert told.of(InputAccepted) == [InputAccepted(1), InputAccepted(3)]


async def test_what_a_job_does_not_take_is_refused(told) -> None:
    task = make_task(told, forever)
    task.give(order(1, c.SendInput(RUN, b"a"), 1))
    task.give(order(2, c.ResizeTerminal(RUN, 1, 1)))
    assert isinstance(told.settled[1], UnsupportedInput)
    assert told.settled[2].message == "a run of the adapter mock takes no ResizeTerminal"


async def test_an_approval_is_waited_for_and_one_that_nobody_awaits_is_settled(told) -> None:
    async def job(work: Work) -> Outcome:
        await work.ask("a", ApprovalRequested("a", "sure?"))
        return DONE

    task = make_task(told, job)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(task.run)
        await told.until(ApprovalRequested)
        task.give(order(1, c.ResolveApproval(RUN, "b", Decision.DENY)))
        await wait_all_tasks_blocked()
        assert len(told.events) == 1
        task.give(order(2, c.ResolveApproval(RUN, "a", Decision.DENY)))
    assert told.settled == {1: None, 2: None}
    assert told.outcome == DONE
