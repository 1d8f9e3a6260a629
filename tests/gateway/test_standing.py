"""What let a peer in is revoked, or runs out: its links end."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config_entries import Entry, Grant, Secret
from fleetgate.gateway.fakes.small import open_small
from fleetgate.gateway.keeper import Keeper, Surroundings
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.standing import (
    EXPIRED,
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


async def test_an_expired_certificate_ends_its_link(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = TrioClock()
    monkeypatch.setenv("T", "one")
    entry = Entry("north", "gui", "plain", "memory:gui", True, PlainSettings())
    entry = attrs.evolve(entry, tokens=(Grant(Secret(env="T"), "a"),))
    options = Options("varint", 1 << 16, headers={"authorization": "Bearer one"})

    def shows(entry: Entry, link: Link) -> Link:
        link.opening = attrs.evolve(link.opening, expires=clock() / 10**9 + 100)
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
        link = await dialer.dial()
        assert await link.receive() == b"hello gui gui ('a',)"
        await trio.sleep(100 - LOOK_EVERY)
        assert len(keeper.drivers) == 1
        await trio.sleep(2 * LOOK_EVERY)
        assert seen.named("down") == [EXPIRED]
        with pytest.raises(LinkBroken) as caught:
            await link.receive()
        assert caught.value.code == 1008
        nursery.cancel_scope.cancel()
