"""Bad input over real WebSockets: the stated answer, that link only, and the next one works."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import attrs
import pytest
import trio

from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config_entries import Entry, Facing, Grant, Secret, side_of
from fleetgate.gateway.keeper import Keeper, Surroundings
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenEntry
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.wire import MAX_MESSAGE, SUBPROTOCOL
from fleetgate.transports.api import Link, LinkError, Options
from fleetgate.transports.open import open_dialer

ENDPOINT = "/api/runner/v1/connect"
KEY = "k" * 32
INSTANCE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


@asynccontextmanager
async def listening(
    hub: Hub, protocol: str, facing: Facing, path: str, tokens: tuple[Grant, ...] = ()
) -> AsyncIterator[tuple[str, SeenEntry]]:
    side = side_of(adapters(())[protocol], facing)
    entry = Entry(
        facing, "pool", protocol, f"ws://127.0.0.1:0{path}", True, side.settings(), tokens=tokens
    )
    seen = SeenEntry()
    around = Surroundings(hub, TrioClock(), "gw", lambda name: INSTANCE, lambda: 0.0)
    async with trio.open_nursery() as nursery:
        yield await nursery.start(Keeper(entry, side, around, seen).run), seen
        nursery.cancel_scope.cancel()


OPTIONS = Options(limit=MAX_MESSAGE + 1, binary=False, subprotocols=(SUBPROTOCOL,))
Dial = Callable[..., AbstractAsyncContextManager[Link]]


def dialling(address: str, options: Options) -> Dial:
    """Opens links to the address, which end with their block."""

    @asynccontextmanager
    async def dial(**changes: Any) -> AsyncIterator[Link]:
        async with open_dialer(address, attrs.evolve(options, **changes)) as dialer:
            link = await dialer.dial()
            try:
                yield link
            finally:
                await link.close(None)

    return dial


@asynccontextmanager
async def control_plane(hub: Hub) -> AsyncIterator[Dial]:
    """A kodelet control plane of ours on a port, and how a runner reaches it."""
    async with listening(hub, "kodelet", "south", ENDPOINT) as (address, _):
        yield dialling(address, OPTIONS)


async def ask(link: Link, frame: bytes) -> Any:
    await link.send(frame)
    return json.loads(await link.receive())


async def register(link: Link) -> Any:
    return (await ask(link, t.ask("runner:1", "runner.register", t.REGISTER)))["result"]


async def ended(link: Link) -> str:
    """What the link ended with; nothing may come before."""
    with trio.fail_after(120), pytest.raises((LinkError, trio.EndOfChannel)) as caught:
        await link.receive()
    return str(caught.value)


FATAL = [
    '{"jsonrpc":"2.0","id":1,"method":"x"}',
    '{"jsonrpc":"2.0","id":"  ","method":"x"}',
    '{"jsonrpc":"1.0","id":"a","method":"x"}',
    '{"jsonrpc":"2.0","id":"a","method":"x","result":null}',
    '{"jsonrpc":"2.0","id":"a","result":null,"error":{"code":1}}',
    '{"jsonrpc":"2.0","id":"a"}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
    '{"jsonrpc":"2.0","id":"a","method":5}',
    '[{"jsonrpc":"2.0","id":"a","method":"x"}]',
    "not json",
    "",
    '{"jsonrpc":"2.0","method":"x"} {}',
]
"""Of W 4.3 and 15.9; all rows of the table are read in the codec's own tests."""


@pytest.mark.parametrize("frame", FATAL, ids=lambda frame: frame[:60])
async def test_what_is_fatal_ends_its_link_without_a_word_and_no_other(
    hub: Hub, frame: str
) -> None:
    async with control_plane(hub) as dial, dial() as other, dial() as link:
        assert (await register(other))["generation"] == 1
        await link.send(frame.encode())
        await ended(link)
        assert (await ask(other, t.ask("runner:2", "nope", {})))["error"]["code"] == -32601


async def test_a_binary_message_ends_its_link(hub: Hub) -> None:
    async with control_plane(hub) as dial, dial() as other, dial(binary=True) as link:
        await register(other)
        await link.send(t.tell("x"))
        await ended(link)
        assert (await ask(other, t.ask("runner:2", "nope", {})))["error"]["code"] == -32601


async def test_case_9_a_message_of_4_mib_and_one_byte_more(hub: Hub) -> None:
    empty = len(t.tell("x", {"pad": ""}))
    async with control_plane(hub) as dial, dial() as link:
        await register(link)
        await link.send(t.tell("x", {"pad": "y" * (MAX_MESSAGE - empty)}))
        assert (await ask(link, t.ask("a", "nope", {})))["error"]["code"] == -32601
        with suppress(LinkError):  # unread bytes: a sender may see a reset in place of a close
            await link.send(t.tell("x", {"pad": "y" * (MAX_MESSAGE + 1 - empty)}))
        await ended(link)


async def test_case_25_a_newcomer_takes_over_and_the_older_link_is_cut(hub: Hub) -> None:
    async with control_plane(hub) as dial, dial() as old, dial() as new:
        first, second = await register(old), await register(new)
        assert first["runnerId"] == second["runnerId"]
        assert [first["generation"], second["generation"]] == [1, 2]
        await ended(old)
        beat = {"runnerId": second["runnerId"], "generation": 1, "state": "idle"}
        await new.send(t.tell("runner.heartbeat", beat))  # of a stale generation
        assert (await ask(new, t.ask("a", "nope", {})))["id"] == "a"


RUNS = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_runs"}}'
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


async def test_an_agency_client_on_a_websocket_speaks_mcp(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K", KEY)
    grant = Grant(Secret(env="K"), "gui")
    async with listening(hub, "agency", "north", "/", (grant,)) as (address, seen):
        offers = attrs.evolve(OPTIONS, subprotocols=("mcp", f"agency-proxy.{KEY}"))
        dial = dialling(address, offers)
        async with dial() as gui:
            assert gui.opening.subprotocol == "mcp"
            assert len((await ask(gui, LIST))["result"]["tools"]) == 11
            runs = (await ask(gui, RUNS))["result"]
            assert (runs["isError"], runs["structuredContent"]) == (False, {"runs": []})
        for wrong in ("mcp", f"agency-proxy.{KEY[1:]}x"):
            async with dial(subprotocols=(wrong,)) as nobody:
                await ended(nobody)
        assert not any(link.faults for link in seen.links)
