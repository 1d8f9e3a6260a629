"""iop on either side of the gateway, in virtual time on links in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.ids import SessionId
from fleetgate.gateway.fidelity.bridge import Bridge, open_bridge
from fleetgate.gateway.fidelity.member import Member
from fleetgate.protocols.iop.settings import EdgeSettings

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
CANCELED = e.RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, signal="SIGTERM"))


def out(text: str, offset: int = 0) -> e.OutputProduced:
    return e.OutputProduced(Stream.STDOUT, text.encode(), offset)


async def begun(bridge, name: str = "r1"):
    run = await bridge.start(name, name)
    return run, await bridge.given(name)


# --- cuts, with iop on both sides


@pytest.fixture
async def chain(autojump_clock: MockClock) -> AsyncIterator[Bridge]:
    """An edge, a gateway that is its node and another node's edge, and that node."""
    async with open_bridge("iop", "iop") as made:
        yield made


FLEET, GUI, HOSTS, SERVER = "fleet", "gui", "hosts", "server"
LINKS = [("controller", FLEET), ("gateway", HOSTS)]
SAID = [
    (e.RunStarted(),),
    (e.SessionOpened("s"), out("one ")),
    (e.ToolCalled("t", {"a": 1}, "c"), e.ToolReturned("r", True, "c")),
    (out("two ", 4), e.UsageReported(1, 2)),
    (out("three", 8), OK),
]


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link[1])
@pytest.mark.parametrize("when", range(len(SAID) + 1))
async def test_a_link_that_is_cut_at_any_moment_loses_and_repeats_nothing(
    chain: Bridge, autojump_clock: MockClock, words, link: tuple[str, str], when: int
) -> None:
    member, entry = link
    run, at_host = await begun(chain)
    for step, events in enumerate(SAID):
        if step == when:
            getattr(chain, member).cut(entry)
        chain.say(at_host, *events)
        await trio.sleep(0.01 if step % 2 else 5)
    if when == len(SAID):
        getattr(chain, member).cut(entry)
    assert (await chain.ended(run)).state is RunState.SUCCEEDED
    assert words(chain, run) == "one two three"
    assert len(chain.of_kind(run, e.RunStarted)) == 1
    assert len(chain.of_kind(run, e.ToolCalled)) == len(chain.of_kind(run, e.ToolReturned)) == 1
    assert chain.of_kind(run, e.GapFound) == []
    chain.check(run)


@pytest.mark.parametrize("when", range(len(SAID) + 1))
async def test_a_gateway_that_is_restarted_at_any_moment_loses_and_repeats_nothing(
    chain: Bridge, autojump_clock: MockClock, words, when: int
) -> None:
    run, at_host = await begun(chain)
    await trio.sleep(1)
    for step, events in enumerate(SAID):
        if step == when:
            await chain.gateway.stop()
            await chain.nursery.start(chain.gateway.run)
        chain.say(at_host, *events)
        await trio.sleep(0.01 if step % 2 else 5)
    assert (await chain.ended(run)).state is RunState.SUCCEEDED
    assert words(chain, run) == "one two three"
    chain.check(run)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link[1])
async def test_a_run_that_is_just_given_out_when_the_link_is_cut_ends(
    chain: Bridge, autojump_clock: MockClock, link: tuple[str, str]
) -> None:
    """The request may have been on the way: an open run is never sent again."""
    member, entry = link
    run = await chain.start("r1", "r1")
    getattr(chain, member).cut(entry)
    await trio.sleep(120)
    found = chain.starts("r1")
    assert len(found) <= 1
    if found and not chain.of_kind(run, e.RunFinished):
        chain.say(found[0].run, e.RunStarted(), OK)
    outcome = await chain.ended(run)
    assert outcome.state is (RunState.SUCCEEDED if found else RunState.LOST)


async def test_a_node_that_stays_away_loses_its_runs_and_is_told_when_it_returns(
    chain: Bridge, autojump_clock: MockClock
) -> None:
    run, at_host = await begun(chain)
    chain.say(at_host, e.RunStarted(), out("before"))
    await trio.sleep(1)
    await chain.gateway.stop()
    outcome = await chain.ended(run)
    assert outcome.state is RunState.LOST
    await chain.nursery.start(chain.gateway.run)
    await trio.sleep(60)
    chain.say(at_host, out("still here", 6))
    await trio.sleep(60)
    assert chain.ordered(at_host, c.CancelRun)
    second, again = await begun(chain, "r2")
    chain.say(again, e.RunStarted(), OK)
    assert (await chain.ended(second)).state is RunState.SUCCEEDED


async def test_a_prompt_goes_through_unchanged(chain: Bridge, autojump_clock: MockClock) -> None:
    earlier = ({"role": "x", "content": "y"},)
    prompt = c.Prompt("hi", system="be kind", effort="high", messages=earlier)
    spec = c.RunSpec(prompt, permission="edit", approvals=True, interactive=True)
    await chain.ask("r1", spec)
    run = await chain.given("hi")
    (order,) = chain.starts("hi")
    given = order.command.spec
    assert given.input == prompt
    assert (given.permission, given.approvals, given.interactive) == ("edit", True, True)
    chain.say(run, e.RunStarted(), OK)


async def test_a_session_is_continued_and_ended(chain: Bridge, autojump_clock: MockClock) -> None:
    spec = c.RunSpec(c.Prompt("one"), session=SessionId("s"))
    run = await chain.ask("r1", spec)
    at_host = await chain.given("one")
    chain.say(at_host, e.RunStarted())
    await trio.sleep(1)
    (opened,) = chain.of_kind(run, e.SessionOpened)
    assert opened.native_session == "s"
    await chain.controller.hub.submit(c.EndSession(SessionId("s")))
    await trio.sleep(1)
    assert chain.ordered(at_host, c.CancelRun)
    chain.say(at_host, CANCELED)
    assert (await chain.ended(run)).state is RunState.CANCELED


async def test_a_run_that_is_over_time_is_ended_by_the_node(
    chain: Bridge, autojump_clock: MockClock
) -> None:
    run = await chain.ask("r1", c.RunSpec(c.Prompt("slow"), timeout=10_000_000_000))
    at_host = await chain.given("slow")
    chain.say(at_host, e.RunStarted())
    outcome = await chain.ended(run)
    assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.TIMED_OUT)


async def test_the_edges_bound_on_runs_holds_at_the_node_across_a_cut(
    autojump_clock: MockClock,
) -> None:
    async with bounded_bridge(1) as chain:
        first, at_host = await begun(chain, "r1")
        second = await chain.start("r2", "r2")
        chain.say(at_host, e.RunStarted())
        await trio.sleep(10)
        assert chain.starts("r2") == []
        chain.gateway.cut(HOSTS)
        await trio.sleep(100)
        assert chain.starts("r2") == []
        assert chain.of_kind(second, e.RunFinished) == []
        chain.say(at_host, OK)
        assert (await chain.ended(first)).state is RunState.SUCCEEDED
        again = await chain.given("r2")
        chain.say(again, e.RunStarted(), OK)
        assert (await chain.ended(second)).state is RunState.SUCCEEDED


@asynccontextmanager
async def bounded_bridge(concurrency: int) -> AsyncIterator[Bridge]:
    """A chain whose last edge lets its node work on so many runs at a time."""
    async with open_bridge("iop", "iop") as made:
        await configure(made, made.gateway, concurrency=concurrency)
        yield made


async def configure(bridge: Bridge, edge: Member, **runtime: object) -> None:
    """Let an edge send its node a configuration."""
    (entry,) = edge.config.south
    settings = EdgeSettings(config={"runtime": runtime})
    await edge.stop()
    edge.config = attrs.evolve(edge.config, south=(attrs.evolve(entry, settings=settings),))
    await bridge.nursery.start(edge.run)
    await trio.sleep(60)


@pytest.mark.parametrize("south", ["iop", "agency", "rvbox", "kodelet"])
async def test_a_node_holds_runs_below_the_root_whatever_protocol_they_go_on_by(
    south: str, autojump_clock: MockClock
) -> None:
    async with open_bridge("iop", south) as bridge:
        await configure(bridge, bridge.controller, workspace_root="/work")
        for named in ("../etc", "/etc", "/work/../etc"):
            run = await bridge.ask(named, c.RunSpec(c.Prompt(named), (named,)))
            outcome = await bridge.ended(run)
            assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.REFUSED)
            assert outcome.message.startswith("workspace_outside_root: ")
        assert bridge.worker.port.orders == []
        for name, workspace, there in (("r1", (), "/work"), ("r2", ("a",), "/work/a")):
            await bridge.ask(name, c.RunSpec(c.Prompt(name), workspace))
            at_host = await bridge.given(name)
            spec = bridge.starts(name)[0].command.spec
            if south in ("iop", "agency"):
                assert spec.workspace == (there,)
            bridge.say(at_host, e.RunStarted(), OK)


async def test_a_decision_at_an_edge_is_refused_and_not_recorded(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bridge("agency", "iop") as bridge:
        # The node leaves its approvals to an operator there.
        monkeypatch.setattr(type(bridge.host.hub.router), "denies", lambda *_: False)
        run, at_node = await begun(bridge)
        bridge.say(at_node, e.RunStarted(), e.ApprovalRequested("a1", "MayI"))
        await trio.sleep(5)
        assert bridge.of_kind(run, e.ApprovalRequested)
        hub = bridge.gateway.hub
        (here,) = (await hub.submit(c.ListRuns())).runs
        (asked,) = here.approvals
        with pytest.raises(UnsupportedInput, match="cannot be told of a decision"):
            await hub.submit(c.ResolveApproval(here.id, asked, e.Decision.ALLOW_ONCE))
        (after,) = (await hub.submit(c.ListRuns())).runs
        assert after.approvals == (asked,)
        assert after.last_seq == here.last_seq
