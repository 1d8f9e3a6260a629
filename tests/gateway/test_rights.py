"""Whose runs a controller sees, and that nobody gets at those of others, whatever the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.errors import Conflict, NotAllowed, Refusal, RunNotFound
from fleetgate.core.events import Decision
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import LINK, HandWorker, describe, start_run, started
from fleetgate.core.ids import RunId, Seq
from fleetgate.gateway.config_entries import Entry, Grant, Secret
from fleetgate.gateway.fakes.small import Small, open_small
from fleetgate.gateway.followers import Followers
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.rights import ALL, Rights, rights_of
from fleetgate.gateway.testing import SeenHouse
from fleetgate.protocols import agency, iop
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.codec import decode_server
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.agency.testing import REQUEST, hello
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.transports.api import Link, LinkBroken, Options, TlsFiles
from fleetgate.transports.open import open_dialer

ALICE, BOB = Rights("alice", every=False), Rights("bob", every=False)
RUN = RunId(f"{LINK}/r")


async def put(hub: Hub, rights: Rights, command: c.Command) -> object:
    """As a link puts it."""
    try:
        await rights.check(hub, command)
        return await hub.submit(rights.signed(command))
    except Refusal as refusal:
        return refusal


ABOUT_A_RUN = [
    c.DescribeRun(RUN),
    c.AcknowledgeRun(RUN, 1),
    c.CancelRun(RUN),
    c.CancelRun(RUN, c.CancelScope.SESSION),
    c.SendInput(RUN, b"x"),
    c.CloseInput(RUN),
    c.SupplyScript(RUN, b"x"),
    c.SignalRun(RUN, c.Signal.KILL),
    c.ResolveApproval(RUN, "a", Decision.ALLOW_ONCE),
    c.ResizeTerminal(RUN, 1, 1),
]


@pytest.mark.parametrize("command", ABOUT_A_RUN, ids=lambda each: type(each).__name__)
async def test_a_run_of_somebody_else_is_as_one_that_is_not_there(command: Any, hub: Hub) -> None:
    assert isinstance(await put(hub, ALICE, start_run("r")), Accepted)
    before = await describe(hub, RUN)
    other = await put(hub, BOB, command)
    missing = await put(hub, BOB, attrs.evolve(command, run=RunId("none")))
    assert isinstance(other, RunNotFound)
    assert str(other).replace(RUN, "none") == str(missing)
    assert await describe(hub, RUN) == before


async def test_its_id_is_taken(hub: Hub) -> None:
    assert isinstance(await put(hub, ALICE, start_run("r")), Accepted)
    assert isinstance(await put(hub, BOB, start_run("r")), Conflict)
    assert isinstance(await put(hub, BOB, c.StartRunIf(start_run("r"))), Conflict)
    assert isinstance(await put(hub, ALICE, start_run("r")), Accepted)
    assert (await describe(hub, RUN)).origin.controller == "alice"


async def test_lists_hold_ones_own_and_an_overseer_sees_all(hub: Hub) -> None:
    for rights, run in ((ALICE, "a"), (BOB, "b"), (ALL, "n")):
        await put(hub, rights, start_run(run))
    overseer = Rights("eve", every=True)
    for which in (c.ListRuns(LINK), c.ListRuns(LINK, latest=9), c.ListRuns(LINK, open_only=True)):
        for rights, expected in ((ALICE, "an"), (BOB, "bn"), (overseer, "abn"), (ALL, "abn")):
            answer = await put(hub, rights, which)
            assert isinstance(answer, RunList)
            assert "".join(run.origin.native_run for run in answer.runs) == expected
    assert isinstance(await put(hub, overseer, c.CancelRun(RunId(f"{LINK}/a"))), Accepted)


async def test_only_who_sees_all_runs_stops_the_entry(hub: Hub) -> None:
    stop = c.StopLink(LINK, c.StopMode.DRAIN)
    assert isinstance(await put(hub, ALICE, stop), NotAllowed)
    assert isinstance(await put(hub, ALICE, start_run("r")), Accepted), "it goes on"
    assert isinstance(await put(hub, Rights("eve", every=True), stop), Accepted)


async def test_a_run_from_before_anybody_was_asked_is_everybodys(hub: Hub) -> None:
    run = await started(hub)
    assert isinstance(await put(hub, ALICE, start_run("r")), Accepted)
    assert isinstance(await put(hub, BOB, c.CancelRun(run)), Accepted)


ENTRY = Entry("north", "gui", "agency", "tls://h:1", True, None)
CERTIFIED = attrs.evolve(ENTRY, tls=TlsFiles("c", "k", "ca"))
NAMED = attrs.evolve(CERTIFIED, tokens=(Grant(Secret(env="T"), "bob"),))


def test_who_one_is() -> None:
    names = ("host-7", "host-7.example")
    assert rights_of(ENTRY, (), None) == ALL
    assert rights_of(attrs.evolve(CERTIFIED, listens=False), names, None) == ALL
    assert rights_of(CERTIFIED, names, None) == Rights("host-7", every=False)
    assert rights_of(NAMED, names, "bob") == Rights("bob", every=False)
    for overseers, every in ((("bob",), True), (("*",), True), (("host-7",), False), ((), False)):
        entry = attrs.evolve(NAMED, overseers=overseers)
        assert rights_of(entry, names, "bob") == Rights("bob", every=every)


# --- over whole links


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> tuple[Grant, ...]:
    for name in ("alice", "bob", "eve"):
        monkeypatch.setenv(f"{name}_token", f"secret of {name}")
    return tuple(Grant(Secret(env=f"{name}_token"), name) for name in ("alice", "bob", "eve"))


def _options(who: str, path: str = "/") -> Options:
    headers = {"authorization": f"Bearer secret of {who}"}
    return Options(limit=1 << 20, path=path, headers=headers)


@asynccontextmanager
async def _dialled(options: Options) -> AsyncIterator[Link]:
    async with open_dialer("memory:gate", options) as dialer, await dialer.dial() as link:
        yield link


class _Client:
    """An agency client, by hand."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._id = 1

    async def ask(self, message: wire.ClientMessage) -> Any:
        self._id += 1
        await self._link.send(encode_client(wire.ClientFrame(self._id, message)))
        while True:
            frame = decode_server(await self._link.receive())
            if isinstance(frame, wire.Response) and frame.request_id == self._id:
                return frame.response


@asynccontextmanager
async def _client(who: str) -> AsyncIterator[_Client]:
    async with _dialled(_options(who)) as link:
        await link.send(encode_client(hello()))
        await link.receive()
        yield _Client(link)


async def test_agency_clients_have_runs_of_their_own(tokens: tuple[Grant, ...]) -> None:
    entry = Entry(
        "north", "gui", "agency", "memory:gate", True, agency.ADAPTER.northbound.settings()
    )
    entry = attrs.evolve(entry, tokens=tokens, overseers=("eve",))
    async with (
        open_small(entry, "gw", "memory:", SeenHouse(), iop.ADAPTER.southbound.inputs),
        _client("alice") as alice,
        _client("bob") as bob,
        _client("eve") as eve,
    ):
        start = wire.StartRun("r1", REQUEST, "k1")
        assert await alice.ask(start) == wire.Accepted()
        listed = await bob.ask(wire.ListRuns())
        assert listed.runs == ()
        for message in (wire.AttachRun("r1", 0), wire.CancelRun("r1", "k2")):
            refused = await bob.ask(message)
            assert refused == await bob.ask(attrs.evolve(message, run_id="none"))
            assert refused.code is wire.ErrorCode.NOT_FOUND
        assert (await bob.ask(start)).code is wire.ErrorCode.CONFLICT
        for who in (alice, eve):
            assert [run.run_id for run in (await who.ask(wire.ListRuns())).runs] == ["r1"]
        assert await eve.ask(wire.CancelRun("r1", "k3")) == wire.Accepted()


async def _call(who: str, method: str, message: w.ControlMessage) -> bytes:
    async with _dialled(_options(who, f"{w.CONTROL}{method}")) as link:
        await link.send(codec.encode(message))
        return await link.receive()


async def test_iop_control_clients_have_runs_of_their_own(tokens: tuple[Grant, ...]) -> None:
    settings = iop.ADAPTER.southbound.settings(control=True, controllers=("*",))
    entry = Entry("south", "gate", "iop", "memory:gate", True, settings)
    entry = attrs.evolve(entry, tokens=tokens, overseers=("eve",))

    async def canceled(who: str, run: str) -> w.CancelResponse:
        return codec.decode(w.CancelResponse, await _call(who, "Cancel", w.CancelRequest(run)))

    async with open_small(entry, "gw", "memory:", SeenHouse()) as small:
        run = await _started_by(small, "alice")
        refused = await canceled("bob", "r1")
        assert refused.error is not None
        assert refused.error.code == "not_found"
        with pytest.raises((LinkBroken, trio.EndOfChannel)):
            await _call("bob", "Attach", w.AttachRequest("r1"))
        assert not (await describe(small.hub, run)).canceling
        assert (await canceled("alice", "r1")).accepted


async def _started_by(small: Small, who: str) -> RunId:
    """A run of the iop entry, which no node is here to take."""
    run = RunId("gate/r1")
    spec = c.RunSpec(c.Prompt("x"))
    await small.hub.submit(c.StartRun(run, spec, c.Origin("gate", "r1", who)))
    return run


async def test_nobody_follows_a_run_of_somebody_else(
    hub: Hub, worker: HandWorker, nursery: trio.Nursery
) -> None:
    assert isinstance(await put(hub, ALICE, start_run("r")), Accepted)
    for rights, sees in ((BOB, False), (ALICE, True)):
        seen: list[object] = []
        refused: list[Refusal] = []
        follow = Followers(hub, Outbox(), seen.extend, refused.append, rights)
        follow.follow(nursery, RUN, Seq(0))
        await trio.testing.wait_all_tasks_blocked()
        assert bool(seen) is sees
        assert [type(each) for each in refused] == ([] if sees else [RunNotFound])
    nursery.cancel_scope.cancel()
