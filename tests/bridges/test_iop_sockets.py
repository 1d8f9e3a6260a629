"""iop over every other carriage: real sockets, and TLS with and without a client's certificate."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trustme

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import WorkerList
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.hub_testing import HandWorker, worker_info
from fleetgate.core.ids import RunId, Seq, WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import OPERATOR, Route
from fleetgate.core.worker import InputKind, Liveness
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fidelity.bridge import TOKEN, until
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.gateway.settings import GatewaySettings
from fleetgate.protocols.iop.settings import EdgeSettings, NorthSettings
from fleetgate.transports.api import TlsFiles

DONE = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, text="all done"))
WITHIN = 120


@attrs.frozen
class Certificates:
    """PEM files: a listener's, a node's, and the root of both."""

    server: TlsFiles
    client: TlsFiles
    ca: str


def _write(folder: Path, name: str, leaf: trustme.LeafCert) -> TlsFiles:
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    leaf.private_key_pem.write_to_path(str(key))
    return TlsFiles(str(certificate), str(key))


def made_in(folder: Path) -> Certificates:
    authority = trustme.CA()
    root = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(root))
    server = _write(folder, "server", authority.issue_cert("127.0.0.1"))
    return Certificates(server, _write(folder, "node", authority.issue_cert("node")), str(root))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return made_in(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return made_in(tmp_path_factory.mktemp("strangers"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private directory with a path short enough for a socket."""
    made = Path(tempfile.mkdtemp(prefix="fg-"))
    yield made
    shutil.rmtree(made)


def place_of(scheme: str, folder: Path) -> str:
    """Where an edge listens."""
    return f"unix:{folder}/edge.sock" if scheme == "unix" else f"{scheme}://127.0.0.1:0"


# --- an edge, and nodes of it


def config_of(name: str, entry: Entry, route: Route) -> Config:
    south = (entry,) if entry.facing == "south" else ()
    north = (entry,) if entry.facing == "north" else ()
    return Config(f"{name}.toml", GatewaySettings("memory:", name=name), south, north, (route,))


@attrs.define
class Edge:
    """A listening edge."""

    member: Member
    address: str
    nursery: trio.Nursery

    @property
    def links(self) -> int:
        """How many links have been up."""
        return len(self.member.seen.entries["nodes"].named("up"))

    async def node(self, tls: TlsFiles | None = None) -> Member:
        """A node that dials the edge."""
        journal = await self.nursery.start(_journal)
        entry = Entry("north", "edge", "iop", self.address, False, NorthSettings(), tls, TOKEN)
        inputs = {"local": frozenset(InputKind)}
        node = Member(config_of("node", entry, Route("edge", "local")), staying(journal), inputs)
        await self.nursery.start(node.run)
        return node

    async def ready(self) -> None:
        """Wait until a node is registered."""
        with trio.fail_after(WITHIN):
            while True:
                known = await self.member.hub.submit(c.ListWorkers())
                assert isinstance(known, WorkerList)
                if [each.liveness for each in known.workers] == [Liveness.READY]:
                    return
                await trio.sleep(0.01)

    async def events(self, run: RunId) -> list[e.Event]:
        """All that is recorded of a run, which comes to its end."""
        found: list[e.Event] = []
        with trio.fail_after(WITHIN), self.member.hub.follow(run, Seq(0)) as follower:
            async for batch in follower:
                found += [each.event for each in batch]
                if isinstance(found[-1], RunFinished):
                    break
        return found


async def _journal(task_status: trio.TaskStatus[Any]) -> None:
    async with open_memory_journal() as journal:
        task_status.started(journal)
        await trio.sleep_forever()


@asynccontextmanager
async def open_edge(
    address: str, tls: TlsFiles | None = None, **settings: Any
) -> AsyncIterator[Edge]:
    grants = (Grant(TOKEN, "n1"),)
    made = EdgeSettings(**settings)
    entry = Entry("south", "nodes", "iop", address, True, made, tls, None, grants)
    async with open_memory_journal() as journal, trio.open_nursery() as nursery:
        member = Member(config_of("edge", entry, Route(OPERATOR, "nodes")), staying(journal))
        await nursery.start(member.run)
        (bound,) = member.seen.entries["nodes"].named("listening")
        yield Edge(member, str(bound), nursery)
        assert member.faults() == []
        nursery.cancel_scope.cancel()


async def runs_at(edge: Edge, node: Member) -> None:
    """A run of the edge is carried out at the node, to its end."""
    info = attrs.evolve(worker_info(), id=WorkerId("local/w"), pool="local")
    worker = HandWorker(node.hub, info)
    await worker.join()
    await edge.ready()
    run = RunId("r1")
    spec = c.RunSpec(c.Prompt("hello"))
    await edge.member.hub.submit(c.StartRun(run, spec, c.Origin(OPERATOR, run)))
    await until(lambda: bool(worker.port.orders), WITHIN)
    (order,) = worker.port.orders
    assert isinstance(order.command, c.StartRun)
    assert order.command.spec.input == c.Prompt("hello")
    worker.record(order.run, e.RunStarted(7), e.TextProduced("hi"), DONE)
    found = await edge.events(run)
    assert [each for each in found if isinstance(each, e.RunStarted | e.TextProduced)] == [
        e.RunStarted(7),
        e.TextProduced("hi"),
    ]
    assert found[-1] == DONE
    assert node.faults() == []


@pytest.mark.parametrize("scheme", ["tcp", "unix", "ws"])
async def test_a_run_goes_to_a_node_and_comes_to_its_end(scheme: str, folder: Path) -> None:
    async with open_edge(place_of(scheme, folder)) as edge:
        await runs_at(edge, await edge.node())


ENCRYPTED = ["grpcs", "tls", "wss"]


@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])
@pytest.mark.parametrize("scheme", ENCRYPTED)
async def test_a_run_goes_to_a_node_over_tls(scheme: str, mutual: bool, ours: Certificates) -> None:
    listening = attrs.evolve(ours.server, ca=ours.ca) if mutual else ours.server
    dialling = attrs.evolve(ours.client, ca=ours.ca) if mutual else TlsFiles(ca=ours.ca)
    async with open_edge(f"{scheme}://127.0.0.1:0", listening) as edge:
        await runs_at(edge, await edge.node(dialling))


@pytest.mark.parametrize("scheme", ENCRYPTED)
async def test_an_edge_that_asks_for_certificates_takes_no_node_without_a_good_one(
    scheme: str, ours: Certificates, strangers: Certificates
) -> None:
    listening = attrs.evolve(ours.server, ca=ours.ca)
    async with open_edge(f"{scheme}://127.0.0.1:0", listening) as edge:
        for tls in (TlsFiles(ca=ours.ca), attrs.evolve(strangers.client, ca=ours.ca)):
            node = await edge.node(tls)
            seen = node.seen.entries["edge"]
            await until(lambda seen=seen: bool(seen.named("retrying")), WITHIN)
            await node.stop()
        assert edge.links == 0


@pytest.mark.parametrize("scheme", ENCRYPTED)
async def test_a_node_tells_its_token_to_no_edge_that_it_does_not_trust(
    scheme: str, ours: Certificates, strangers: Certificates
) -> None:
    async with open_edge(f"{scheme}://127.0.0.1:0", ours.server) as edge:
        node = await edge.node(TlsFiles(ca=strangers.ca))
        seen = node.seen.entries["edge"]
        await until(lambda: bool(seen.named("retrying")), WITHIN)
        assert seen.named("up") == []
        assert edge.links == 0
        await node.stop()
