"""Every pair of protocols: links that are lost, and a gateway that is restarted."""

from __future__ import annotations

from functools import partial

import pytest
import trio
from bridge_journal import work_in_turn
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Decision, Outcome, Reason, RunState
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.gateway.fidelity.bridge import open_bridge, until

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
GONE = (RunState.LOST, RunState.FAILED)


async def begun(bridge, name: str = "r1", **spec):
    run = await bridge.start(name, name, **spec)
    at_worker = await bridge.given(name)
    bridge.say(at_worker, e.RunStarted(), e.TextProduced("before\n"))
    await trio.sleep(2)
    return run, at_worker


async def goes_on(bridge, words, run, at_worker, during: str) -> None:
    """The run is at work as if nothing had been, and nothing is lost or comes twice."""
    bridge.say(at_worker, e.TextProduced("after\n"), OK)
    outcome = await bridge.ended(run)
    assert outcome.state is RunState.SUCCEEDED
    assert words(bridge, run) == f"before\n{during}after\n"
    await bridge.given("r1")


async def is_gone(bridge, run, at_worker) -> None:
    """The run has ended as lost, its worker is told to stop, and the next one works."""
    outcome = await bridge.ended(run)
    assert outcome.state in GONE
    await until(lambda: bool(bridge.ordered(at_worker, c.CancelRun, c.SignalRun)))
    run, at_worker = await begun(bridge, "r2")
    bridge.say(at_worker, OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    bridge.check(run)


@pytest.mark.parametrize("link", ["gui", "hosts"])
async def test_a_lost_link_comes_back_and_the_run_goes_on_where_its_protocol_can(
    bridge, autojump_clock, expected, words, link: str
) -> None:
    run, at_worker = await begun(bridge)
    bridge.gateway.cut(link)
    if not expected.outlives[link]:
        await is_gone(bridge, run, at_worker)
        return
    bridge.say(at_worker, e.TextProduced("while it was gone\n"))
    await trio.sleep(30)
    await goes_on(bridge, words, run, at_worker, "while it was gone\n")


@pytest.mark.parametrize("link", ["gui", "hosts"])
async def test_all_that_is_said_while_a_link_is_lost_comes_once_it_is_back(
    bridge, autojump_clock, expected, seen_as, said, link: str
) -> None:
    run, at_worker = await begun(bridge)
    bridge.gateway.cut(link)
    if not expected.outlives[link]:
        await is_gone(bridge, run, at_worker)
        return
    bridge.say(at_worker, *(event for event, _ in said.values()))
    await trio.sleep(30)
    bridge.say(at_worker, OK)
    await bridge.ended(run)
    seen = {kind: seen_as(bridge, run, word) for kind, (_, word) in said.items()}
    assert seen == {kind: {expected.arrives(kind)} - {""} for kind in said}
    assert len(bridge.ordered(at_worker, c.StartRun)) == 1


@pytest.mark.parametrize("link", ["gui", "hosts"])
async def test_what_is_asked_and_sent_while_a_link_is_lost_crosses_it_once_it_is_back(
    bridge, autojump_clock, expected, link: str
) -> None:
    run, at_worker = await begun(bridge, approvals=True)
    submit = bridge.controller.hub.submit
    bridge.gateway.cut(link)
    if not expected.outlives[link]:
        await is_gone(bridge, run, at_worker)
        return
    await wait_all_tasks_blocked()  # what is sent into a dying link is `input_uncertain`
    bridge.say(at_worker, e.ApprovalRequested("a1", "MayI"))
    sends = expected.takes_input and expected.answers != "input"
    if sends:
        await submit(c.SendInput(run, b"one", newline=True))
    await trio.sleep(30)
    bridge.gateway.cut(link)
    await wait_all_tasks_blocked()
    if expected.answers == "approval":
        (asked,) = bridge.of_kind(run, e.ApprovalRequested)
        await submit(c.ResolveApproval(run, asked.approval, Decision.DENY))
    elif expected.answers == "input":
        await submit(c.SendInput(run, b"n", newline=True))
    await trio.sleep(30)
    given = [each.data.strip() for each in bridge.ordered(at_worker, c.SendInput)]
    answers = [each.decision for each in bridge.ordered(at_worker, c.ResolveApproval)]
    assert given == ([b"one"] if sends else [])
    assert answers == ([Decision.DENY] if expected.answers else [])
    bridge.say(at_worker, OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED


async def test_fault_17_a_link_that_is_lost_again_and_again_loses_nothing(
    bridge, autojump_clock, expected, words
) -> None:
    run, at_worker = await begun(bridge)
    during = ""
    able = [link for link in ("gui", "hosts") if expected.outlives[link]]
    for number, link in enumerate(able * 5):
        bridge.gateway.cut(link)
        line = f"{number}\n"
        bridge.say(at_worker, e.TextProduced(line))
        during += line
        await trio.sleep(number % 4)
    await goes_on(bridge, words, run, at_worker, during)
    assert bridge.of_kind(run, e.GapFound) == []


async def test_a_gateway_is_restarted_on_its_journal(
    pair, expected, autojump_clock, tmp_path, words, monkeypatch
) -> None:
    work_in_turn(monkeypatch)
    north, _, south = pair.partition("-")
    journal = partial(open_sqlite_journal, tmp_path / "journal.db")
    async with open_bridge(north, south, journal) as bridge:
        run, at_worker = await begun(bridge)
        await bridge.gateway.stop()
        bridge.say(at_worker, e.TextProduced("while it was gone\n"))
        await trio.sleep(5)
        await bridge.nursery.start(bridge.gateway.run)
        if not expected.outlives["restart"]:
            await is_gone(bridge, run, at_worker)
            return
        bridge.say(at_worker, e.TextProduced("after\n"), OK)
        outcome = await bridge.ended(run)
        assert outcome.state is RunState.SUCCEEDED
        assert words(bridge, run) == "before\nwhile it was gone\nafter\n"
        bridge.check(run)
