"""What users of systems like this one have reported, made to happen on whole bridges: each test is
named by the fault's number in docs/reference/faults.md."""

from __future__ import annotations

import attrs
import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Fenced
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.ids import Seq
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fidelity.bridge import GUI, HOSTS, SERVER, open_bridge, until
from fleetgate.transports.api import Link
from fleetgate.transports.faults import Faults, FaultyLink

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
MIB = 1 << 20
BODY = 1 << 16
"""Bytes of one event's body."""


async def begun(bridge, name: str = "r1"):
    run = await bridge.start(name, name)
    at_worker = await bridge.given(name)
    bridge.say(at_worker, e.RunStarted())
    return run, at_worker


async def test_fault_2_characters_cut_at_every_byte_are_whole(
    bridge, autojump_clock, expected
) -> None:
    text = "ä€😀 grüße 漢字\n"
    data = text.encode()
    run, at_worker = await begun(bridge)
    for at in range(len(data)):
        bridge.say(at_worker, e.OutputProduced(Stream.STDOUT, data[at : at + 1], at))
        if at % 7 == 0:
            await trio.sleep(0.1)
    bridge.say(at_worker, OK)
    await bridge.ended(run)
    shown = bridge.of_kind(run, e.TextProduced, e.OutputProduced)
    assert b"".join(_bytes_of(each) for each in shown) == (
        data if expected.arrives("stdout") else b""
    )


def _bytes_of(event: e.TextProduced | e.OutputProduced) -> bytes:
    return event.text.encode() if isinstance(event, e.TextProduced) else event.data


async def test_fault_6_one_huge_line_holds_up_no_other_run(agency_to_rvbox, autojump_clock) -> None:
    """`just memory` has 100 MB in a process: tests/memory/test_huge_line.py."""
    bridge = agency_to_rvbox
    huge, huge_at = await begun(bridge, "huge")
    other, other_at = await begun(bridge, "other")
    size = 32 * MIB
    for at in range(0, size, BODY):
        bridge.say(huge_at, e.OutputProduced(Stream.STDOUT, b"x" * BODY, at))
    bridge.say(other_at, e.TextProduced("a word"))
    # On each of the three hubs that they pass, a run that has much has one batch, then it is
    # the other's turn: a few MiB of the line are before the word, and never all.
    with bridge.controller.hub.follow(other, Seq(0)) as follower:
        async for batch in follower:
            if any(isinstance(each.event, e.TextProduced) for each in batch):
                break
    before = len(bridge.texts(huge))
    assert before < size, "the other run's word came behind all of the line"
    await until(lambda: len(bridge.texts(huge)) == size)  # which has no end yet
    bridge.say(huge_at, OK)
    bridge.say(other_at, OK)
    await bridge.ended(huge)
    await bridge.ended(other)
    assert bridge.texts(huge) == "x" * size
    bridge.check(huge)


@attrs.define
class Frozen:
    """Makes the first link of an entry fall silent, both ways, without an end."""

    entry: str
    links: list[FaultyLink] = attrs.field(factory=list)

    def wrap(self, entry: Entry, link: Link) -> Link:
        if entry.name != self.entry:
            return link
        self.links.append(FaultyLink(link))
        return self.links[-1]


async def test_fault_14_a_half_dead_link_is_replaced_at_once(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    frozen = Frozen(HOSTS)
    await bridge.gateway.stop()
    bridge.gateway.wrap = frozen.wrap
    await bridge.nursery.start(bridge.gateway.run)
    run, at_worker = await begun(bridge)
    (old,) = frozen.links
    old.suffer(Faults(half_open=True))
    before = old.statistics()
    bridge.host.cut(SERVER)
    bridge.say(at_worker, e.TextProduced("said on the new link\n"))
    # Less than a silent link is given, so nothing waits for the old one to be found dead.
    await until(lambda: bridge.texts(run) == "said on the new link\n", seconds=20)
    assert len(frozen.links) == 2
    assert old.statistics().last_in == before.last_in, "the status goes on showing its last byte"
    bridge.say(at_worker, OK)
    await bridge.ended(run)
    bridge.check(run)


@attrs.define
class Counted:
    """Keeps every link, to sum up what crossed them."""

    links: list[Link] = attrs.field(factory=list)

    def wrap(self, entry: Entry, link: Link) -> Link:
        self.links.append(link)
        return link

    def crossed(self) -> int:
        figures = [link.statistics() for link in self.links]
        return sum(each.bytes_in + each.bytes_out for each in figures)


@pytest.mark.parametrize(("north", "south"), [("agency", "rvbox"), ("rvbox", "agency")])
async def test_fault_19_a_hundred_reconnects_carry_the_log_once(
    north: str, south: str, autojump_clock, words
) -> None:
    size, count, dials = 4000, 50, 100
    async with open_bridge(north, south) as bridge:
        counted = Counted()
        await bridge.gateway.stop()
        bridge.gateway.wrap = counted.wrap
        await bridge.nursery.start(bridge.gateway.run)
        run, at_worker = await begun(bridge)
        for number in range(count):
            bridge.say(at_worker, e.TextProduced(f"{number}".ljust(size, ".")))
        await until(lambda: len(words(bridge, run)) == size * count)
        await trio.sleep(5)  # what was acknowledged with the last of it has gone out
        once = counted.crossed()
        assert once > 2 * size * count, "it crossed both links"
        for _ in range(dials):
            for link in (GUI, HOSTS):
                bridge.gateway.cut(link)
            await trio.sleep(5)
        assert len(counted.links) > dials
        again = counted.crossed() - once
        assert again < once, f"{again} bytes for {dials} reconnects, and the log has {once}"
        bridge.say(at_worker, OK)
        assert (await bridge.ended(run)).state is RunState.SUCCEEDED


@pytest.mark.parametrize("link", ["gui", "hosts"])
async def test_fault_23_an_end_that_is_said_into_link_after_link_that_dies_arrives_once(
    bridge, autojump_clock, expected, link: str
) -> None:
    run, at_worker = await begun(bridge)
    if not expected.outlives[link]:
        bridge.gateway.cut(link)
        assert (await bridge.ended(run)).state in (RunState.LOST, RunState.FAILED)
        return
    bridge.gateway.cut(link)
    bridge.say(at_worker, OK)
    for _ in range(6):
        await trio.sleep(0.3)
        bridge.gateway.cut(link)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    await trio.sleep(300)
    assert len(bridge.of_kind(run, e.RunFinished)) == 1


async def test_fault_30_numbers_beyond_53_bits_keep_their_value(
    bridge, autojump_clock, expected
) -> None:
    count = 2**53 + 1
    run, at_worker = await begun(bridge)
    bridge.say(at_worker, e.UsageReported(count, count + 2))
    await trio.sleep(1)
    bridge.say(at_worker, OK)
    await bridge.ended(run)
    seen = [each for each in bridge.of_kind(run, e.UsageReported) if each.input_tokens]
    exact = [(each.input_tokens, each.output_tokens) for each in seen]
    if expected.arrives("usage") == "usage":
        assert exact
    assert set(exact) <= {(count, count + 2)}


async def test_fault_25_a_busy_worker_that_comes_back_keeps_its_run_and_gets_no_second(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    run, at_worker = await begun(bridge)
    older = bridge.worker
    await bridge.join(0)
    second = await bridge.start("r2", "r2")
    await trio.sleep(30)
    with pytest.raises(Fenced):
        older.record(at_worker, e.TextProduced("said under an older epoch"))
    assert bridge.ordered(at_worker, c.CancelRun, c.SignalRun) == []
    assert bridge.starts("r2") == []
    bridge.say(at_worker, e.TextProduced("two\n"), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    assert bridge.texts(run) == "two\n"
    bridge.worker.ready(1)
    bridge.say(await bridge.given("r2"), e.RunStarted(), OK)
    assert (await bridge.ended(second)).state is RunState.SUCCEEDED
