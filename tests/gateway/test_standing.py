"""What let a peer in is revoked, or runs out: its links end."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config_entries import Entry, Grant, Secret
from fleetgate.gateway.fakes.small import open_small
from fleetgate.gateway.keeper import Keeper, Surroundings
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.standing import (
    EXPIRED,
    LOOK_AT_ONCE,
    LOOK_EVERY,
    REVOKED,
    Standing,
    dismissal,
)
from fleetgate.gateway.testing import PlainSettings, SeenEntry, SeenHouse, plain_adapter
from fleetgate.transports.api import Link, LinkBroken, Options
from fleetgate.transports.open import open_dialer

TOKENS: dict[str, str] = {"one": "a", "two": "a", "three": "b"}


def test_a_link_lives_as_long_as_the_token_that_it_showed() -> None:
    standing = Standing(TOKENS.get)
    both = {"a": (b"one", b"two")}
    assert standing.whose("wrong") is None
    assert standing.lost({}, 0) is None, "nothing was shown, so nothing is revoked"
    assert standing.whose("one") == "a"
    assert standing.lost(both, 0) is None
    for valid in ({"a": (b"two",)}, {"b": (b"one",)}, {"a": (b"one ",)}):
        assert standing.lost(valid, 0) is None, "a file that is just being written"
        assert standing.lost(valid, 0) == REVOKED
        assert standing.lost(both, 0) is None


def test_a_certificate_ends_with_its_time() -> None:
    standing = Standing(TOKENS.get, expires=100.0)
    assert standing.lost({}, 99.9) is None
    assert standing.lost({}, 100.0) == EXPIRED


def test_the_end_says_that_coming_again_is_of_no_use() -> None:
    close = dismissal(REVOKED)
    assert (close.code, close.status, close.retry) == (1008, 16, False)


def _peer(protocol: str) -> object:
    settings = adapters(())[protocol].northbound.settings
    if protocol == "rvbox":
        return settings(client_id="host-1")
    return settings(workspace="/srv/work") if protocol == "kodelet" else settings()


@pytest.mark.parametrize("protocol", ["iop", "kodelet", "rvbox"])
async def test_a_revoked_token_ends_its_link_for_good(
    protocol: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    secret = Secret(file=str(path))
    south = adapters(())[protocol].southbound
    listener = Entry("south", "hosts", protocol, "memory:x", True, south.settings())
    listener = attrs.evolve(listener, tokens=(Grant(secret, "host-1"),))
    shown = tmp_path / "shown"
    shown.write_text("one")
    dialler = Entry("north", "plane", protocol, "memory:x", False, _peer(protocol))
    dialler = attrs.evolve(dialler, token=Secret(file=str(shown)))
    ours, theirs = SeenHouse(), SeenHouse()
    async with (
        open_small(listener, "edge", "memory:", ours) as edge,
        open_small(dialler, "host", "memory:", theirs),
    ):
        await trio.sleep(3 * LOOK_EVERY)
        assert len(edge.drivers) == 1
        assert ours.entries["hosts"].named("down") == []
        path.write_text("another")
        await trio.sleep(3 * LOOK_EVERY)
        assert edge.drivers == []
        assert ours.entries["hosts"].named("down")[0] == REVOKED
        assert len(theirs.entries["plane"].named("gave_up")) == 1
        assert theirs.entries["plane"].named("down")


async def test_who_comes_with_a_certificate_that_has_expired_is_not_heard(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS verifies no certificate where a session of an earlier link is resumed, for hours."""
    async with showing(monkeypatch, -1) as (keeper, seen, link):
        with pytest.raises(LinkBroken) as caught:
            await link.receive()
        assert caught.value.code == 1008
        assert EXPIRED in str(caught.value)
        assert seen.named("down") == [EXPIRED]
        assert not keeper.drivers
        assert [each.faults for each in seen.links] == [[]]


async def test_an_expired_certificate_ends_its_link(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(monkeypatch, 100) as (keeper, seen, link):
        assert await link.receive() == b"hello gui gui ('a',)"
        await trio.sleep(100 - LOOK_EVERY)
        assert len(keeper.drivers) == 1
        await trio.sleep(2 * LOOK_EVERY)
        assert seen.named("down") == [EXPIRED]
        with pytest.raises(LinkBroken) as caught:
            await link.receive()
        assert caught.value.code == 1008


@asynccontextmanager
async def showing(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> AsyncGenerator[tuple[Keeper, SeenEntry, Link]]:
    """A link that has shown a certificate that ends in so many seconds, and its entry."""
    clock = TrioClock()
    monkeypatch.setenv("T", "one")
    entry = Entry("north", "gui", "plain", "memory:gui", True, PlainSettings())
    entry = attrs.evolve(entry, tokens=(Grant(Secret(env="T"), "a"),))
    options = Options("varint", 1 << 16, headers={"authorization": "Bearer one"})

    def shows(entry: Entry, link: Link) -> Link:
        link.opening = attrs.evolve(link.opening, expires=clock() / 10**9 + seconds)
        return link

    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        open_dialer("memory:gui", options) as dialer,
        trio.open_nursery() as nursery,
    ):
        around = Surroundings(hub, clock, "gw", lambda name: name, lambda: 1.0, wrap=shows)
        seen = SeenEntry()
        keeper = Keeper(entry, plain_adapter().northbound, around, seen)
        await nursery.start(keeper.run)
        yield keeper, seen, await dialer.dial()
        nursery.cancel_scope.cancel()


@attrs.frozen
class Counted(Secret):
    """A secret that knows when it was read: `steps` counts its reads by trio's steps."""

    text: str = ""
    steps: Any = attrs.field(default=None, eq=False)

    def read(self) -> str:
        self.steps.reads[self.steps.now, self.text] += 1
        return self.text


class Steps(trio.abc.Instrument):
    """Reads of tokens, by the step of a task in which they were and the token."""

    def __init__(self) -> None:
        self.now = 0
        self.reads = Counter[tuple[int, str]]()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.now += 1


@asynccontextmanager
async def standing_links(tokens: int, links: int) -> AsyncGenerator[tuple[Steps, Keeper]]:
    """An entry with so many tokens, and links that have shown the first of them."""
    steps = Steps()
    entry = Entry("north", "gui", "plain", "memory:gui", True, PlainSettings())
    grants = (Grant(Counted(text=f"t{n}", steps=steps), f"id-{n}") for n in range(tokens))
    entry = attrs.evolve(entry, tokens=tuple(grants))
    trio.lowlevel.add_instrument(steps)
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        around = Surroundings(hub, TrioClock(), "gw", lambda name: name, lambda: 1.0)
        keeper = Keeper(entry, plain_adapter().northbound, around, SeenEntry())
        await nursery.start(keeper.run)
        for number in range(links):
            nursery.start_soon(_stay, f"t{number}")
        await wait_all_tasks_blocked()
        assert len(keeper.drivers) == links
        steps.reads.clear()
        yield steps, keeper
        nursery.cancel_scope.cancel()
    trio.lowlevel.remove_instrument(steps)


async def _stay(token: str) -> None:
    options = Options("varint", 1 << 16, headers={"authorization": f"Bearer {token}"})
    async with open_dialer("memory:gui", options) as dialer, await dialer.dial():
        await trio.sleep_forever()


@pytest.mark.parametrize("links", [0, 2])
async def test_a_look_reads_the_tokens_that_links_have_shown_and_no_others(
    links: int, autojump_clock: MockClock
) -> None:
    async with standing_links(50, links) as (steps, _):
        await trio.sleep(LOOK_EVERY + 1)
    assert Counter(token for _, token in steps.reads) == {f"t{n}": 1 for n in range(links)}


@pytest.mark.limit("gateway/standing.LOOK_AT_ONCE")
async def test_i9_a_look_at_many_links_lets_others_have_their_turn(
    autojump_clock: MockClock,
) -> None:
    links = LOOK_AT_ONCE + 20
    async with standing_links(links, links) as (steps, keeper):
        await trio.sleep(LOOK_EVERY + 1)
        assert len(keeper.drivers) == links
    assert len(steps.reads) == links
    assert list(Counter(step for step, _ in steps.reads).values()) == [LOOK_AT_ONCE, 20]
