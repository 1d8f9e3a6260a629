"""iop over real gRPC: an edge of ours, a node of ours, and a control client that is grpcio."""

from __future__ import annotations

import queue
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import grpc
import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import WorkerList
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.hub_testing import HandWorker, worker_info
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import Route
from fleetgate.core.worker import AccountReport, InputKind, Liveness
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fidelity.bridge import TOKEN, Spoken
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.gateway.settings import GatewaySettings
from fleetgate.protocols.iop.settings import EdgeSettings, NorthSettings
from fleetgate.schemas.iop import link_pb2 as link
from fleetgate.schemas.iop import runtime_pb2 as runtime

OPS = Spoken(text="ops-token")
DONE = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, text="all done"))
CANCELED = RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED))
RUN = {"run_id": "r1", "adapter": "cli", "target": "sh"}


def config_of(name: str, entry: Entry, route: Route) -> Config:
    south = (entry,) if entry.facing == "south" else ()
    north = (entry,) if entry.facing == "north" else ()
    return Config(f"{name}.toml", GatewaySettings("memory:", name=name), south, north, (route,))


def edge_config(**settings: Any) -> Config:
    made = EdgeSettings(control=True, controllers=("ops",), **settings)
    entry = Entry("south", "nodes", "iop", "grpc://127.0.0.1:0", True, made)
    entry = attrs.evolve(entry, tokens=(Grant(TOKEN, "n1"), Grant(OPS, "ops")))
    return config_of("edge", entry, Route("nodes", "nodes"))


def node_config(address: str) -> Config:
    entry = Entry("north", "edge", "iop", address, False, NorthSettings(), token=TOKEN)
    return config_of("node", entry, Route("edge", "local"))


class Client:
    """A control client on grpcio, whose calls block a thread."""

    def __init__(self, address: str, token: str = "ops-token") -> None:
        self._channel = grpc.insecure_channel(address.removeprefix("grpc://"))
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def close(self) -> None:
        self._channel.close()

    def begin(self, method: str, request: Any, answer: Any) -> Any:
        """A call whose server streams."""
        call = self._channel.unary_stream(
            f"/iop.EdgeControl/{method}",
            request_serializer=lambda given: given.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        return call(request, metadata=self._metadata, timeout=120)

    async def stream(self, method: str, request: Any, answer: Any = runtime.RunEvent) -> list[Any]:
        return await trio.to_thread.run_sync(lambda: list(self.begin(method, request, answer)))

    async def ask(self, method: str, request: Any, answer: Any) -> Any:
        call = self._channel.unary_unary(
            f"/iop.EdgeControl/{method}",
            request_serializer=lambda given: given.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        made = partial(call, request, metadata=self._metadata, timeout=120)
        return await trio.to_thread.run_sync(made)


@attrs.define
class Fleet:
    """An edge, and nodes of it."""

    edge: Member
    address: str
    nursery: trio.Nursery

    @asynccontextmanager
    async def node(self) -> AsyncIterator[HandWorker]:
        """A node, up and registered; its worker is moved by hand."""
        async with open_memory_journal() as journal:
            inputs = {"local": frozenset(InputKind)}
            member = Member(node_config(self.address), staying(journal), inputs)
            await self.nursery.start(member.run)
            info = worker_info(asks=True, enforces_timeout=True)
            info = attrs.evolve(info, id=WorkerId("local/w"), pool="local")
            worker = HandWorker(member.hub, info)
            await worker.join()
            await self.ready()
            yield worker
            assert member.faults() == []
            await member.stop()

    async def ready(self) -> None:
        """Wait until the node is registered at the edge."""
        with trio.fail_after(120):
            while True:
                known = await self.edge.hub.submit(c.ListWorkers())
                assert isinstance(known, WorkerList)
                if [each.liveness for each in known.workers] == [Liveness.READY]:
                    return
                await trio.sleep(0.01)


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with open_memory_journal() as journal, trio.open_nursery() as nursery:
        edge = Member(edge_config(), staying(journal))
        await nursery.start(edge.run)
        (address,) = edge.seen.entries["nodes"].named("listening")
        yield Fleet(edge, str(address), nursery)
        assert edge.faults() == []
        nursery.cancel_scope.cancel()


@pytest.fixture
def client(fleet: Fleet) -> Any:
    made = Client(fleet.address)
    yield made
    made.close()


async def until(holds: Callable[[], bool]) -> None:
    with trio.fail_after(120):
        while not holds():  # noqa: ASYNC110 - what is waited for is at the other end of a socket
            await trio.sleep(0.01)


async def given(worker: HandWorker, kind: type[Any] = c.StartRun) -> RunId:
    found: list[RunId] = []

    def look() -> bool:
        found[:] = [o.run for o in worker.port.orders if isinstance(o.command, kind)]
        return bool(found)

    await until(look)
    return found[-1]


async def test_a_run_goes_out_and_its_events_come_back(fleet: Fleet, client: Client) -> None:
    request = runtime.RunRequest(**RUN)
    request.input["prompt"] = "hello"
    events: list[Any] = []

    async def call() -> None:
        events.extend(await client.stream("Run", request))

    async with fleet.node() as worker, trio.open_nursery() as nursery:
        nursery.start_soon(call)
        run = await given(worker)
        assert worker.port.orders[0].command.spec.input == c.Prompt("hello")
        worker.record(run, e.RunStarted(), e.TextProduced("hi "), e.TextProduced("there"), DONE)
    assert [event.type for event in events] == ["start", "delta", "delta", "complete"]
    assert "".join(event.delta for event in events) == "hi there"
    assert events[-1].message == "all done"
    assert {event.node_id for event in events} == {"n1"}
    seqs = [int(event.metadata["gateway.seq"]) for event in events]
    assert seqs == list(range(seqs[0], seqs[0] + 4))
    times = [event.timestamp for event in events]
    assert times == sorted(times)


async def refusal(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        await call
    return caught.value.code(), caught.value.details()


@pytest.mark.parametrize("token", ["", "wrong", "a-token"])
async def test_who_may_not_control_is_unauthenticated(fleet: Fleet, token: str) -> None:
    client = Client(fleet.address, token)
    code, _ = await refusal(client.stream("Run", runtime.RunRequest(**RUN)))
    client.close()
    assert code is grpc.StatusCode.UNAUTHENTICATED


async def test_refusals_are_statuses(fleet: Fleet, client: Client) -> None:
    run = partial(runtime.RunRequest, **RUN)
    for request, code, text in (
        (run(), grpc.StatusCode.UNAVAILABLE, "unavailable: "),
        (run(timeout_sec=-1), grpc.StatusCode.INVALID_ARGUMENT, "invalid_argument: timeout_sec"),
        (run(session_mode=99), grpc.StatusCode.INVALID_ARGUMENT, "invalid_argument: session_mode"),
        (
            run(session_mode=2, session_id="s"),
            grpc.StatusCode.NOT_FOUND,
            "session_not_found: ",
        ),
    ):
        came, details = await refusal(client.stream("Run", request))
        assert came is code
        assert details.startswith(text)
    attach = client.stream("Attach", link.AttachRequest(run_id="none"))
    assert (await refusal(attach))[0] is grpc.StatusCode.NOT_FOUND


async def test_a_background_run_is_attached_to(fleet: Fleet, client: Client) -> None:
    events: list[Any] = []

    async def call() -> None:
        events.extend(await client.stream("Run", runtime.RunRequest(**RUN, background=True)))

    async with fleet.node() as worker:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            run = await given(worker)
            worker.record(run, e.RunStarted())
        (start,) = events
        assert (start.type, start.background) == ("start", True)
        worker.record(run, e.TextProduced("x"), DONE)
        after = int(start.metadata["gateway.seq"])
        rest = await client.stream("Attach", link.AttachRequest(run_id="r1", after_sequence=after))
        assert [event.type for event in rest] == ["delta", "complete"]
        whole = await client.stream("Attach", link.AttachRequest(run_id="r1"))
        assert whole == [start, *rest]
        last = int(rest[-1].metadata["gateway.seq"])
        assert (
            await client.stream("Attach", link.AttachRequest(run_id="r1", after_sequence=last))
            == []
        )


async def test_a_run_is_canceled(fleet: Fleet, client: Client) -> None:
    events: list[Any] = []

    async def call() -> None:
        events.extend(await client.stream("Run", runtime.RunRequest(**RUN)))

    async with fleet.node() as worker:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            run = await given(worker)
            worker.record(run, e.RunStarted())
            asked = runtime.CancelRequest(run_id="r1")
            answer = await client.ask("Cancel", asked, link.CancelResponse)
            assert answer.accepted
            await given(worker, c.CancelRun)
            worker.record(run, CANCELED)
        assert [event.type for event in events] == ["start", "cancelled"]
        assert (await client.ask("Cancel", asked, link.CancelResponse)).accepted
        unknown = runtime.CancelRequest(run_id="r2")
        answer = await client.ask("Cancel", unknown, link.CancelResponse)
        assert (answer.accepted, answer.error.code) == (False, "not_found")


async def test_usage_is_asked_of_the_node(fleet: Fleet, client: Client) -> None:
    answers: list[Any] = []
    asked = runtime.NodeCommandRequest(request_id="q", type=1, adapter="cli")

    async def call() -> None:
        answers.append(await client.ask("Command", asked, runtime.NodeCommandResponse))

    async with fleet.node() as worker:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await until(lambda: bool(worker.port.questions))
            ((number, _),) = worker.port.questions
            report = AccountReport("cli", True, {"raw_output": "10 % used"})
            worker.hub.respond(number, (report,))
        assert answers[0].usage_status.raw_output == "10 % used"
        assert answers[0].request_id == "q"
        asked.type = 7
        (await call())
        assert answers[1].error == "unsupported command type 7"
        asked.type, asked.session_id = 1, "elsewhere"
        came, details = await refusal(client.ask("Command", asked, runtime.NodeCommandResponse))
        assert (came, details[:19]) == (grpc.StatusCode.NOT_FOUND, "session_not_found: ")
        assert len(worker.port.questions) == 1


async def test_nodes_are_watched(fleet: Fleet, client: Client) -> None:
    async with fleet.node():
        request = link.WatchNodesRequest(include_current=True)
        watch = client.begin("WatchNodes", request, runtime.EdgeNodeEvent)
        first = await trio.to_thread.run_sync(next, watch)
        assert (first.type, first.source, first.node_id) == ("node.connected", "edge", "n1")
    second = await trio.to_thread.run_sync(next, watch)
    assert (second.type, second.reason) == ("node.disconnected", "closed")
    async with fleet.node():
        seen = [await trio.to_thread.run_sync(next, watch) for _ in range(2)]
    assert sorted(event.type for event in seen) == ["node.config_applied", "node.connected"]
    watch.cancel()


async def test_a_client_that_goes_away_leaves_its_run(fleet: Fleet, client: Client) -> None:
    async with fleet.node() as worker:
        call = client.begin("Run", runtime.RunRequest(**RUN), runtime.RunEvent)
        run = await given(worker)
        worker.record(run, e.RunStarted())
        await trio.to_thread.run_sync(next, call)
        call.cancel()
        worker.record(run, e.TextProduced("alone"), DONE)
        events = await client.stream("Attach", link.AttachRequest(run_id="r1"))
        assert [event.type for event in events] == ["start", "delta", "complete"]


async def test_bytes_that_are_no_request_are_invalid(fleet: Fleet) -> None:
    with grpc.insecure_channel(fleet.address.removeprefix("grpc://")) as channel:
        call = channel.unary_unary("/iop.EdgeControl/Cancel")
        metadata = (("authorization", "Bearer ops-token"),)

        async def ask() -> bytes:
            return await trio.to_thread.run_sync(
                partial(call, b"\xff\xff", metadata=metadata, timeout=120)
            )

        code, _ = await refusal(ask())
        assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_foreign_node_registers_runs_and_is_replaced(fleet: Fleet, client: Client) -> None:
    """A node on grpcio that knows nothing of our metadata."""
    said: Any = queue.Queue()
    with grpc.insecure_channel(fleet.address.removeprefix("grpc://")) as channel:
        connect = channel.stream_stream(
            "/iop.NodeLink/Connect",
            request_serializer=lambda given: given.SerializeToString(),
            response_deserializer=link.EdgeMessage.FromString,
        )
        heard = connect(iter(said.get, None), timeout=120)
        said.put(link.NodeMessage(register={"token": "a-token"}))
        answer = await trio.to_thread.run_sync(next, heard)
        assert (answer.registered.accepted, answer.registered.node_id) == (True, "n1")
        events: list[Any] = []

        async def call() -> None:
            events.extend(await client.stream("Run", runtime.RunRequest(**RUN)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            asked = (await trio.to_thread.run_sync(next, heard)).run
            told = (("delta", "no start", 700), ("start", "", 800), ("complete", "", 600))
            for type, delta, time in told:
                event = runtime.RunEvent(
                    run_id=asked.run_id, type=type, delta=delta, timestamp=time
                )
                said.put(link.NodeMessage(run_event=event))
        assert [(event.type, event.delta) for event in events] == [
            ("start", ""),
            ("delta", "no start"),
            ("complete", ""),
        ]
        assert {event.node_id for event in events} == {"n1"}
        assert [event.timestamp for event in events] == [700, 700, 700]
        async with fleet.node():
            told = await trio.to_thread.run_sync(next, heard)
            assert told.error.code == "replaced"
            code, _ = await refusal(trio.to_thread.run_sync(next, heard))
            assert code is grpc.StatusCode.ABORTED
        said.put(None)


@pytest.mark.parametrize(
    ("first", "code", "status"),
    [
        ({"heartbeat": {}}, "protocol_violation", grpc.StatusCode.FAILED_PRECONDITION),
        ({"register": {"token": "wrong"}}, "", grpc.StatusCode.UNAUTHENTICATED),
        ({"register": {}}, "", grpc.StatusCode.UNAUTHENTICATED),
    ],
)
async def test_a_foreign_node_that_begins_badly_hears_why(
    fleet: Fleet, first: Any, code: str, status: grpc.StatusCode
) -> None:
    with grpc.insecure_channel(fleet.address.removeprefix("grpc://")) as channel:
        connect = channel.stream_stream(
            "/iop.NodeLink/Connect",
            request_serializer=lambda given: given.SerializeToString(),
            response_deserializer=link.EdgeMessage.FromString,
        )
        heard = connect(iter([link.NodeMessage(**first)]), timeout=120)
        told = await trio.to_thread.run_sync(next, heard)
        assert told.error.code == code
        if not code:
            assert not told.registered.accepted
            assert told.registered.reason
        assert (await refusal(trio.to_thread.run_sync(next, heard)))[0] is status
