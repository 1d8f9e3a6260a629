"""A worker whose runs are played, on a hub in virtual time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.hub_testing import POOL, describe, hub_on, read_until, started
from fleetgate.core.ids import WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.fakes.acting import Act, ActingWorker, Part, succeeded
from fleetgate.gateway.testing import SeenLink


async def ask(part: Part) -> e.Outcome:
    answer = await part.ask("a", "May I?")
    return succeeded(answer.decision.value)


async def wait(part: Part) -> e.Outcome:
    await trio.sleep_forever()
    raise AssertionError("never")


async def fail(part: Part) -> e.Outcome:
    raise ValueError("the secret")


ACTS = {"ask": ask, "wait": wait, "fail": fail}


@pytest.fixture
def acts() -> Callable[[RunSpec], Act]:
    return lambda spec: ACTS[spec.input.text]


def spec(what: str, **more: object) -> RunSpec:
    return RunSpec(Prompt(what), **more)


async def outcome(hub, run, last: int) -> e.Outcome:
    events = [each.event for each in await read_until(hub, run, last)]
    assert isinstance(events[-1], e.RunFinished)
    return events[-1].outcome


async def test_an_approval_is_waited_for(stage) -> None:
    hub, _ = stage
    run = await started(hub, "r", spec("ask", approvals=True))
    await read_until(hub, run, 3)
    await hub.submit(c.ResolveApproval(run, "a", e.Decision.DENY))
    assert (await outcome(hub, run, 5)).text == "deny"


async def test_a_cancel_and_a_signal_end_it(stage) -> None:
    hub, _ = stage
    for name, command in (("r1", c.CancelRun), ("r2", lambda r: c.SignalRun(r, c.Signal.KILL))):
        run = await started(hub, name, spec("wait"))
        await read_until(hub, run, 2)
        await hub.submit(command(run))
        assert (await outcome(hub, run, 3)).state is e.RunState.CANCELED


async def test_it_ends_at_its_timeout(stage) -> None:
    hub, _ = stage
    run = await started(hub, "r", spec("wait", timeout=5_000_000_000))
    assert (await outcome(hub, run, 3)).reason is e.Reason.TIMED_OUT


async def test_input_is_taken_and_a_terminal_is_not(stage) -> None:
    hub, _ = stage
    run = await started(hub, "r", spec("wait", interactive=True))
    await read_until(hub, run, 2)
    await hub.submit(c.SendInput(run, b"x"))
    await hub.submit(c.CloseInput(run))
    await wait_all_tasks_blocked()
    assert (await describe(hub, run)).inputs_accepted == 2
    await hub.submit(c.ResizeTerminal(run, 24, 80))
    refused = (await read_until(hub, run, 4))[-1].event
    assert isinstance(refused, e.Diagnosed)
    assert refused.code == UnsupportedInput.code


async def test_a_fault_ends_that_run_only_and_tells_no_secret(stage) -> None:
    hub, seen = stage
    run = await started(hub, "r", spec("fail"))
    ended = await outcome(hub, run, 3)
    assert ended.reason is e.Reason.ERROR
    assert "secret" not in ended.message
    assert len(seen.faults) == 1
    other = await started(hub, "other", spec("ask"))
    await read_until(hub, other, 3)


async def test_what_an_earlier_process_left_is_lost(acts, autojump_clock) -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        ids: list[object] = []
        for _ in range(2):
            async with trio.open_nursery() as nursery:
                worker = ActingWorker(WorkerId(f"{POOL}/fake"), POOL, hub, acts, SeenLink())
                await nursery.start(worker.serve)
                if not ids:
                    ids.append(await started(hub, "r", spec("wait")))
                    await read_until(hub, ids[0], 2)
                    nursery.cancel_scope.cancel()
                    continue
                assert (await outcome(hub, ids[0], 3)).state is e.RunState.LOST
                nursery.cancel_scope.cancel()
