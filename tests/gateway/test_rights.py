"""Whose runs a controller sees, and that nobody gets at those of others, whatever the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, RunList, WorkerList
from fleetgate.core.errors import Conflict, NotAllowed, Refusal, RunNotFound, SessionNotFound
from fleetgate.core.events import Decision, Outcome, Reason, RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    LINK,
    HandWorker,
    describe,
    hub_on,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId, Seq, SessionId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config_entries import Entry, Grant, Secret
from fleetgate.gateway.fakes.small import LOCAL, Small, open_small
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
OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))


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


def at(rights: Rights, link: str = LINK) -> Rights:
    return attrs.evolve(rights, link=link)


EVE = Rights("eve", every=True, link=LINK)


def of_session(run: str, session: str, *, native: bool = False) -> c.StartRun:
    named = {"resume": session} if native else {"session": SessionId(session)}
    return start_run(run, attrs.evolve(start_run().spec, **named))


async def begin_session(hub: Hub, rights: Rights) -> HandWorker:
    """A session that is "ours" to us and "native" to its worker."""
    worker = HandWorker(hub, worker_info())
    await worker.join()
    assert isinstance(await put(hub, rights, of_session("first", "ours")), Accepted)
    run = RunId(f"{LINK}/first")
    await trio.testing.wait_all_tasks_blocked()
    worker.record(run, e.SessionOpened("native"), e.RunStarted())
    await trio.testing.wait_all_tasks_blocked()
    return worker


INTO_A_SESSION = [
    of_session("r", "ours"),
    of_session("r", "native", native=True),
    of_session("r", "native"),
    of_session("r", "ours", native=True),
    c.StartRunIf(of_session("r", "native", native=True), session_exists=True),
    c.EndSession(SessionId("ours")),
    c.ReadUsage(LINK, one=True, session=SessionId("native")),
]


@pytest.mark.parametrize("command", INTO_A_SESSION, ids=str)
async def test_a_session_of_somebody_else_is_as_one_that_is_not_there(
    command: Any, hub: Hub
) -> None:
    worker = await begin_session(hub, at(ALICE))
    before = list(worker.port.orders)
    for other in (at(BOB), at(ALICE, "elsewhere"), at(ALL, "elsewhere"), at(EVE, "elsewhere")):
        refused = await put(hub, other, command)
        assert isinstance(refused, SessionNotFound)
        assert refused.message.startswith("no session has the id ")
    await trio.testing.wait_all_tasks_blocked()
    assert worker.port.orders == before
    assert not (await describe(hub, RunId(f"{LINK}/first"))).canceling


@pytest.mark.parametrize("who", [at(ALICE), EVE, at(ALL)], ids=["own", "overseer", "nobody asked"])
async def test_a_session_goes_on_for_its_owner_and_who_sees_all(who: Rights, hub: Hub) -> None:
    worker = await begin_session(hub, at(ALICE))
    assert isinstance(await put(hub, who, of_session("r", "ours")), Accepted)
    assert isinstance(await put(hub, at(ALICE), of_session("r2", "ours")), Accepted)
    worker.record(RunId(f"{LINK}/first"), OK)
    assert isinstance(await put(hub, who, c.EndSession(SessionId("ours"))), Accepted)


async def test_a_session_that_is_just_beginning_is_its_first_runs(hub: Hub) -> None:
    assert isinstance(await put(hub, at(ALICE), of_session("a", "ours")), Accepted)
    assert isinstance(await put(hub, EVE, of_session("e", "ours")), Accepted)
    assert isinstance(await put(hub, at(BOB), of_session("b", "ours")), SessionNotFound)
    assert isinstance(await put(hub, at(ALICE), of_session("a2", "ours")), Accepted)


async def test_a_session_has_its_owner_behind_a_restart() -> None:
    async with open_memory_journal() as journal:
        async with hub_on(journal) as hub:
            await begin_session(hub, at(ALICE))
        async with hub_on(journal) as hub:
            refused = await put(hub, at(BOB), of_session("r", "native", native=True))
            assert isinstance(refused, SessionNotFound)
            own = await put(hub, at(ALICE), of_session("r", "native", native=True))
            assert isinstance(own, Accepted)


async def test_a_session_that_nobody_was_asked_for_is_everybodys(hub: Hub) -> None:
    await begin_session(hub, at(ALL))
    assert isinstance(await put(hub, at(BOB), of_session("r", "ours")), Accepted)


async def test_who_has_no_name_may_do_nothing(hub: Hub) -> None:
    nameless = rights_of(CERTIFIED, (), None)
    await put(hub, ALL, start_run("r"))
    for command in (*ABOUT_A_RUN, start_run("mine"), c.ListRuns(LINK), c.StopLink(LINK, DRAIN)):
        assert isinstance(await put(hub, nameless, command), NotAllowed)
    with pytest.raises(NotAllowed):
        await nameless.check_run(hub, RUN)
    assert isinstance(await put(hub, nameless, c.ListWorkers()), WorkerList), "workers ask, too"
    assert not (await describe(hub, RUN)).canceling


READER = Rights("ron", every=True, link=LINK, reads=True)
LOOKS = (c.DescribeRun, c.ListRuns, c.ListWorkers, c.ProbeWorkers, c.ReadUsage)


async def test_who_only_reads_sees_all_and_changes_nothing(hub: Hub) -> None:
    await begin_session(hub, at(ALICE))
    await put(hub, at(ALICE), start_run("r"))
    listed = await put(hub, READER, c.ListRuns(LINK))
    assert isinstance(listed, RunList)
    assert len(listed.runs) == 2
    before = await describe(hub, RUN)
    changes = [each for each in (*ABOUT_A_RUN, *INTO_A_SESSION) if not isinstance(each, LOOKS)]
    for command in (*changes, start_run("mine"), c.StopLink(LINK, DRAIN), c.LimitLink(LINK, 1)):
        assert isinstance(await put(hub, READER, command), NotAllowed)
    await READER.check_run(hub, RUN)
    with pytest.raises(NotAllowed):
        await READER.check_change(hub, RUN)
    assert await describe(hub, RUN) == before


DRAIN = c.StopMode.DRAIN
ENTRY = Entry("north", "gui", "agency", "tls://h:1", True, None)
CERTIFIED = attrs.evolve(ENTRY, tls=TlsFiles("c", "k", "ca"))
NAMED = attrs.evolve(CERTIFIED, tokens=(Grant(Secret(env="T"), "bob"),))


def test_who_one_is() -> None:
    names = ("host-7", "host-7.example")
    anybody = at(ALL, "gui")
    assert rights_of(ENTRY, (), None) == anybody
    assert rights_of(attrs.evolve(CERTIFIED, listens=False), names, None) == anybody
    assert rights_of(CERTIFIED, names, None) == Rights("host-7", every=False, link="gui")
    assert rights_of(NAMED, names, "bob") == Rights("bob", every=False, link="gui")
    in_band = attrs.evolve(ENTRY, tokens=NAMED.tokens)
    assert rights_of(in_band, (), None) == Rights("", every=False, link="gui")
    for overseers, every in ((("bob",), True), (("*",), True), (("host-7",), False), ((), False)):
        entry = attrs.evolve(NAMED, overseers=overseers)
        assert rights_of(entry, names, "bob") == Rights("bob", every, "gui")


@pytest.mark.parametrize(
    ("overseers", "readers", "every", "reads"),
    [
        ((), ("bob",), True, True),
        ((), ("*",), True, True),
        ((), ("eve",), False, False),
        (("bob",), ("*",), True, False),
        (("*",), ("bob",), True, True),
        (("*",), ("eve",), True, False),
    ],
)
def test_a_name_counts_more_than_whoever_is_let_in(
    overseers: tuple[str, ...], readers: tuple[str, ...], every: bool, reads: bool
) -> None:
    entry = attrs.evolve(NAMED, overseers=overseers, readers=readers)
    assert rights_of(entry, (), "bob") == Rights("bob", every, "gui", reads)


# --- over whole links


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> tuple[Grant, ...]:
    names = ("alice", "bob", "eve", "ron")
    for name in names:
        monkeypatch.setenv(f"{name}_token", _key_of(name))
    return tuple(Grant(Secret(env=f"{name}_token"), name) for name in names)


def _key_of(who: str) -> str:
    """A token of the form that agency has for its keys, too."""
    return f"{who:-<32}"


def _options(who: str, path: str = "/") -> Options:
    key = _key_of(who)
    headers = {"authorization": f"Bearer {key}", "sec-websocket-protocol": f"agency-proxy.{key}"}
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
    entry = attrs.evolve(entry, tokens=tokens, overseers=("eve",), readers=("ron",))
    async with (
        open_small(entry, "gw", "memory:", SeenHouse(), iop.ADAPTER.southbound.inputs),
        _client("alice") as alice,
        _client("bob") as bob,
        _client("eve") as eve,
        _client("ron") as ron,
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
        for message in (wire.StartRun("r2", REQUEST, "k"), wire.CancelRun("r1", "k2")):
            assert "readers" in (await ron.ask(message)).message
        for who in (alice, eve, ron):
            assert [run.run_id for run in (await who.ask(wire.ListRuns())).runs] == ["r1"]
        assert await eve.ask(wire.CancelRun("r1", "k3")) == wire.Accepted()


async def _call(who: str, method: str, message: w.ControlMessage) -> bytes:
    async with _dialled(_options(who, f"{w.CONTROL}{method}")) as link:
        await link.send(codec.encode(message))
        return await link.receive()


async def test_iop_control_clients_have_runs_of_their_own(tokens: tuple[Grant, ...]) -> None:
    settings = iop.ADAPTER.southbound.settings(control=True, controllers=("*",))
    entry = Entry("south", "gate", "iop", "memory:gate", True, settings)
    entry = attrs.evolve(entry, tokens=tokens, overseers=("eve",), readers=("ron",))

    async def canceled(who: str, run: str) -> w.CancelResponse:
        return codec.decode(w.CancelResponse, await _call(who, "Cancel", w.CancelRequest(run)))

    async with open_small(entry, "gw", "memory:", SeenHouse()) as small:
        run = await _started_by(small, "alice")
        refused = await canceled("bob", "r1")
        assert refused.error is not None
        assert refused.error.code == "not_found"
        refused = await canceled("ron", "r1")
        assert refused.error is not None
        assert "readers" in refused.error.message
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


def putting(seen: list[object]) -> Callable[[Sequence[e.Recorded]], int]:
    """A link that keeps what it is given."""

    def deliver(batch: Sequence[e.Recorded]) -> int:
        seen.extend(batch)
        return len(batch)

    return deliver


def _tell(refused: list[tuple[object, ...]], *told: object) -> None:
    refused.append(told)


async def test_nobody_follows_a_run_of_somebody_else(
    hub: Hub, worker: HandWorker, nursery: trio.Nursery
) -> None:
    assert isinstance(await put(hub, ALICE, start_run("r")), Accepted)
    for rights, sees in ((BOB, False), (ALICE, True)):
        seen: list[object] = []
        refused: list[tuple[object, ...]] = []
        tell = partial(_tell, refused)
        follow = Followers(hub, Outbox(), putting(seen), tell, rights)
        follow.follow(nursery, RUN, Seq(0))
        await trio.testing.wait_all_tasks_blocked()
        assert bool(seen) is sees
        assert [type(told[-1]) for told in refused] == ([] if sees else [RunNotFound])
    nursery.cancel_scope.cancel()


async def test_an_agency_client_does_not_get_into_anothers_session(
    tokens: tuple[Grant, ...],
) -> None:
    settings = agency.ADAPTER.northbound.settings()
    entry = Entry("north", "gui", "agency", "memory:gate", True, settings, tokens=tokens)
    inputs = agency.ADAPTER.southbound.inputs
    async with (
        open_small(entry, "gw", "memory:", SeenHouse(), inputs) as small,
        _client("alice") as alice,
        _client("bob") as bob,
    ):
        worker = HandWorker(small.hub, worker_info(pool=LOCAL))
        await worker.join()
        assert await alice.ask(wire.StartRun("r1", REQUEST, "k1")) == wire.Accepted()
        await trio.testing.wait_all_tasks_blocked()
        worker.record(RunId("gui/r1"), e.SessionOpened("of-alice"), e.RunStarted())
        await trio.testing.wait_all_tasks_blocked()
        into = attrs.evolve(REQUEST, resume_session_id="of-alice")
        refused = await bob.ask(wire.StartRun("r2", into, "k2"))
        assert refused.message == "agent run could not start: no session has the id of-alice"
        assert await alice.ask(wire.StartRun("r3", into, "k3")) == wire.Accepted()
