"""Commands whose output crosses a bridge, in virtual time on links in memory."""

from __future__ import annotations

import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
FAILED = e.RunFinished(Outcome(RunState.FAILED, Reason.EXITED, exit_code=3))
CANCELED = e.RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, signal="SIGTERM"))

PAIRS = [
    "iop-iop",
    "agency-iop",
    "iop-agency",
    "iop-rvbox",
    "rvbox-iop",
    "iop-kodelet",
    "kodelet-iop",
    "kodelet-kodelet",
    "agency-kodelet",
    "kodelet-rvbox",
    "rvbox-kodelet",
]


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest) -> str:
    return request.param


def out(text: str, offset: int = 0) -> e.OutputProduced:
    return e.OutputProduced(Stream.STDOUT, text.encode(), offset)


async def begun(bridge, name: str = "r1"):
    run = await bridge.start(name, name)
    return run, await bridge.given(name)


async def test_output_and_end_cross_the_bridge(bridge, autojump_clock, words) -> None:
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted(pid=7), out("hello "))
    await trio.sleep(1)
    bridge.say(at_host, out("wörld\n", 6), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    assert words(bridge, run) == "hello wörld\n"
    bridge.check(run)


async def test_output_is_seen_before_the_end(bridge, autojump_clock, words) -> None:
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted(), out("early"))
    await trio.sleep(5)
    assert words(bridge, run) == "early"
    bridge.say(at_host, OK)
    await bridge.ended(run)
    bridge.check(run)


async def test_a_command_that_fails_says_how(bridge, autojump_clock, words) -> None:
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted(), FAILED)
    outcome = await bridge.ended(run)
    assert (outcome.state, outcome.exit_code) == (RunState.FAILED, 3)
    bridge.check(run)


async def test_a_cancel_reaches_the_worker_and_comes_back(bridge, autojump_clock, words) -> None:
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted())
    await trio.sleep(1)
    await bridge.controller.hub.submit(c.CancelRun(run))
    await trio.sleep(1)
    asked = [
        order.command
        for order in bridge.worker.port.orders
        if isinstance(order.command, c.SignalRun | c.CancelRun)
    ]
    assert asked
    bridge.say(at_host, CANCELED)
    assert (await bridge.ended(run)).state is RunState.CANCELED
    bridge.check(run)


async def test_many_runs_at_once_keep_apart(bridge, autojump_clock, words) -> None:
    names = [f"n{at}" for at in range(12)]
    runs = {name: await bridge.start(name, name) for name in names}
    for name in runs:
        at_host = await bridge.given(name)
        bridge.say(at_host, e.RunStarted(), *(out(f"{name}.", 0) for _ in range(20)), OK)
    for name, run in runs.items():
        await bridge.ended(run)
        assert words(bridge, run) == f"{name}." * 20
        bridge.check(run)


async def test_heartbeats_keep_a_long_run_alive(bridge, autojump_clock, words) -> None:
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted())
    await trio.sleep(3600)
    bridge.say(at_host, out("morning\n"), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    assert words(bridge, run) == "morning\n"
    bridge.check(run)
