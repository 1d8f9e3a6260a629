"""Every pair of protocols: what a run says, is asked and is told. No scenario names a protocol."""

from __future__ import annotations

import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Refusal
from fleetgate.core.events import Decision, Outcome, Reason, RunState
from fleetgate.core.times import SECOND
from fleetgate.gateway.fidelity.bridge import until

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
CANCELED = e.RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, signal="SIGTERM"))


async def begun(bridge, name: str = "r1", **spec):
    """A run at work, by its id at the controller and at the worker."""
    run = await bridge.start(name, name, **spec)
    at_worker = await bridge.given(name)
    bridge.say(at_worker, e.RunStarted())
    return run, at_worker


async def finished(bridge, run, at_worker, end=OK) -> Outcome:
    bridge.say(at_worker, end)
    return await bridge.ended(run)


async def test_output_arrives_whole_and_once(bridge, autojump_clock, words) -> None:
    run, at_worker = await begun(bridge)
    bridge.say(at_worker, e.TextProduced("grüße "), e.TextProduced("an "))
    await trio.sleep(2)
    assert words(bridge, run) == "grüße an ", "it is seen before the end"
    bridge.say(at_worker, e.TextProduced("alle\n"))
    outcome = await finished(bridge, run, at_worker)
    assert outcome.state is RunState.SUCCEEDED
    assert words(bridge, run) == "grüße an alle\n"


async def test_what_the_worker_says_is_seen_as_the_tables_say(
    bridge, autojump_clock, expected, seen_as, said
) -> None:
    run, at_worker = await begun(bridge)
    for event, _ in said.values():
        bridge.say(at_worker, event)
        await trio.sleep(1)
    await finished(bridge, run, at_worker)
    seen = {kind: seen_as(bridge, run, word) for kind, (_, word) in said.items()}
    assert seen == {kind: {expected.arrives(kind)} - {""} for kind in said}


@pytest.mark.parametrize("decision", [Decision.ALLOW_ONCE, Decision.DENY])
async def test_an_approval_is_asked_and_answered_or_denied_at_once(
    bridge, autojump_clock, expected, seen_as, decision
) -> None:
    run, at_worker = await begun(bridge, approvals=True)
    bridge.say(at_worker, e.ApprovalRequested("a1", "MayI", {"tool": "Bash"}))
    kind = expected.arrives("approval")
    await until(lambda: seen_as(bridge, run, "MayI") == {kind})
    if expected.answers == "deny":
        decision = Decision.DENY
    elif not await _answer(bridge, expected.answers, run, decision):
        return
    await until(lambda: bool(bridge.ordered(at_worker, c.ResolveApproval)))
    (answer,) = bridge.ordered(at_worker, c.ResolveApproval)
    assert (answer.approval, answer.decision) == ("a1", decision)
    bridge.say(at_worker, e.TextProduced("go on"))
    await finished(bridge, run, at_worker)
    assert seen_as(bridge, run, "go on")


async def _answer(bridge, how: str, run, decision: Decision) -> bool:
    if how == "approval":
        (asked,) = bridge.of_kind(run, e.ApprovalRequested)
        await bridge.controller.hub.submit(c.ResolveApproval(run, asked.approval, decision))
    elif how == "input":
        line = b"y" if decision is Decision.ALLOW_ONCE else b"n"
        await bridge.controller.hub.submit(c.SendInput(run, line, newline=True))
    return bool(how)


async def test_input_reaches_the_worker_once_in_order_or_is_refused(
    bridge, autojump_clock, expected
) -> None:
    run, at_worker = await begun(bridge)
    refusals: list[str] = []
    for text in (b"one", b"two", b"three"):
        try:
            await bridge.controller.hub.submit(c.SendInput(run, text, newline=True))
        except Refusal as refusal:
            refusals.append(refusal.code)
    await trio.sleep(1)
    got = b"".join(each.data.strip() for each in bridge.ordered(at_worker, c.SendInput))
    said = [*refusals, *(repr(each.event) for each in bridge.events[run])]
    assert got == (b"onetwothree" if expected.takes_input else b"")
    if not expected.takes_input:
        assert any("unsupported_input" in each for each in said)
    await finished(bridge, run, at_worker)


async def test_a_cancel_reaches_the_worker_and_comes_back(bridge, autojump_clock) -> None:
    run, at_worker = await begun(bridge)
    await trio.sleep(1)
    await bridge.controller.hub.submit(c.CancelRun(run))
    await until(lambda: bool(bridge.ordered(at_worker, c.CancelRun, c.SignalRun)))
    outcome = await finished(bridge, run, at_worker, CANCELED)
    assert outcome.state is RunState.CANCELED


async def test_a_failure_says_how(bridge, autojump_clock, expected) -> None:
    for name, code, message in (("r1", 3, ""), ("r2", None, "boom")):
        run, at_worker = await begun(bridge, name)
        reason = Reason.ERROR if code is None else Reason.EXITED
        end = e.RunFinished(Outcome(RunState.FAILED, reason, message, exit_code=code))
        outcome = await finished(bridge, run, at_worker, end)
        wanted = (RunState.FAILED, expected.failure(reason.value))
        assert (outcome.state, outcome.reason.value) == wanted
        assert outcome.exit_code == code or code is None
        assert message in outcome.message or not expected.keeps_words(reason.value)


async def test_a_timeout_at_the_worker_is_told_as_the_tables_say(
    bridge, autojump_clock, expected
) -> None:
    run, at_worker = await begun(bridge)
    end = e.RunFinished(Outcome(RunState.FAILED, Reason.TIMED_OUT, "after 2 s"))
    outcome = await finished(bridge, run, at_worker, end)
    assert (outcome.state, outcome.reason.value) == (RunState.FAILED, expected.failure("timed_out"))
    assert ("after 2 s" in outcome.message) is expected.keeps_words("timed_out")


async def test_a_timeout_set_by_the_controller_ends_the_run_everywhere(
    bridge, autojump_clock, expected
) -> None:
    run, at_worker = await begun(bridge, timeout=30 * SECOND)
    await trio.sleep(29)
    assert not (await bridge.seen(run)).state.terminal
    (start,) = bridge.starts("r1")
    if start.command.spec.timeout == 30 * SECOND:
        late = Outcome(RunState.FAILED, Reason.TIMED_OUT, "its time is over")
        outcome = await finished(bridge, run, at_worker, e.RunFinished(late))
    else:
        await until(lambda: bool(bridge.ordered(at_worker, c.CancelRun, c.SignalRun)))
        outcome = await finished(bridge, run, at_worker, CANCELED)
    assert (outcome.state, outcome.reason.value) == (RunState.FAILED, expected.overdue)


async def test_a_session_goes_on_in_a_second_run_as_the_tables_say(
    bridge, autojump_clock, expected
) -> None:
    run, at_worker = await begun(bridge, "r1", session="s1")
    bridge.say(at_worker, e.SessionOpened("native-1", "m"))
    await finished(bridge, run, at_worker)
    shown = (await bridge.seen(run)).native_session
    second, again = await begun(bridge, "r2", session="s1", resume=shown)
    (one,), (two,) = bridge.starts("r1"), bridge.starts("r2")
    resumed = two.command.spec.resume == "native-1"
    same = one.command.spec.session is not None
    same = same and one.command.spec.session == two.command.spec.session
    found = {"resume": resumed, "session": same, "": not resumed and not same}
    assert found[expected.continues], found
    await finished(bridge, second, again)


async def test_many_runs_at_once_keep_apart(bridge, autojump_clock, words) -> None:
    names = [f"n{at}" for at in range(12)]
    runs = {name: await bridge.start(name, name) for name in names}
    for name in names:
        at_worker = await bridge.given(name)
        said = [e.TextProduced(f"{name}.") for _ in range(20)]
        bridge.say(at_worker, e.RunStarted(), *said, OK)
    for name, run in runs.items():
        await bridge.ended(run)
        assert words(bridge, run) == f"{name}." * 20
