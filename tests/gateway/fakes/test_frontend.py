"""The front end on a hub, with a worker made by hand."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Conflict
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import DONE, HandWorker, TrioClock, hub_on, worker_info
from fleetgate.core.ids import RunId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.fakes import frontend
from fleetgate.gateway.fakes import operations as ops
from fleetgate.gateway.fakes.frontend import FrontEnd
from fleetgate.gateway.fakes.lines import LineReader, LineWriter
from fleetgate.gateway.fakes.operations import CONTROLLER, WORKER
from fleetgate.gateway.fakes.performing import Performer
from fleetgate.gateway.fakes.small import Small
from fleetgate.gateway.house import House
from fleetgate.gateway.render import Line
from fleetgate.gateway.testing import SeenHouse
from fleetgate.transports.faults import Faults

HELLO = {"prompt": "hello"}


class Kept(LineWriter):
    """Keeps what would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Line] = []

    async def write(self, *lines: Line) -> None:
        self.lines += (json.loads(json.dumps(line)) for line in lines)
        await trio.lowlevel.checkpoint()


@attrs.define
class Desk:
    """A front end, and the pen that writes its operations."""

    hub: Hub
    worker: HandWorker
    out: Kept
    pen: int
    served: trio.Event = attrs.field(factory=trio.Event)
    count: int = 0
    faults: list[Faults] = attrs.field(factory=list)
    begun: list[str] = attrs.field(factory=list[str])

    def begin(self, id: str, operation: ops.Ack) -> Callable[[], Awaitable[Line]]:
        """Carry out an operation that no other fake has."""
        if operation.run == "none":
            raise Conflict("not now")
        self.begun.append(operation.run)

        async def perform() -> Line:
            if operation.run == "wait":
                await trio.sleep_forever()
            return {"ok": False, "error": {"code": "mine", "message": id}}

        return perform

    async def ask(self, op: str, **members: Any) -> Line:
        """Give an operation and wait for its answer."""
        self.count += 1
        id = str(self.count)
        await self.give(json.dumps({"op": op, "id": id, **members}).encode())
        return await self.answer(id)

    async def give(self, line: bytes) -> None:
        await trio.to_thread.run_sync(os.write, self.pen, line + b"\n")

    async def answer(self, id: str | None) -> Line:
        with trio.fail_after(120):
            while True:
                for line in self.out.lines:
                    if "event" not in line and line["id"] == id:
                        return line
                await trio.sleep(0.001)

    def events(self, run: str) -> list[Line]:
        return [line for line in self.out.lines if line.get("run") == run and "event" in line]


@pytest.fixture(params=["controller"])
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    theirs, pen = os.pipe()
    known = WORKER if request.param == "worker" else CONTROLLER
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        house = House(hub, journal, TrioClock(), {}, SeenHouse(), nursery)
        small = Small(hub, house, TrioClock(), nursery)
        worker = HandWorker(hub, worker_info())
        await worker.join()
        desk = Desk(hub, worker, Kept(), pen)
        suffer = desk.faults.append
        own: dict[type[Any], Any] = {ops.Ack: desk.begin} if request.param == "own" else {}
        performer = Performer(small, desk.out, suffer=suffer, own=own)
        front = FrontEnd(LineReader(theirs), desk.out, known, performer)

        async def serve() -> None:
            await front.serve()
            desk.served.set()

        nursery.start_soon(serve)
        yield desk
        os.close(pen)
        await desk.served.wait()
        os.close(theirs)
        nursery.cancel_scope.cancel()


async def test_a_run_is_started_followed_and_waited_for(desk: Desk) -> None:
    assert await desk.ask("start", run="r", input=HELLO, interactive=True) == {
        "id": "1",
        "ok": True,
        "run": "r",
    }
    assert (await desk.ask("follow", run="r"))["ok"]
    assert (await desk.ask("status", run="r"))["state"] in ("queued", "starting")
    desk.worker.record(RunId("r"), e.TextProduced("hi"), seq=1)
    desk.worker.record(RunId("r"), DONE, seq=2)
    ended = await desk.ask("wait", run="r", timeout_ms=5000)
    assert ended["state"] == "succeeded"
    await wait_all_tasks_blocked()
    types = [line["type"] for line in desk.events("r")]
    assert types == ["RunAssigned", "TextProduced", "RunFinished"]
    assert [line.get("native_seq") for line in desk.events("r")] == [None, 1, 2]
    assert (await desk.ask("ack", run="r", through=2))["ok"]


async def test_the_same_start_is_ok_and_another_a_conflict(desk: Desk) -> None:
    assert (await desk.ask("start", run="r", input=HELLO))["ok"]
    assert (await desk.ask("start", run="r", input=HELLO))["ok"]
    refused = await desk.ask("start", run="r", input={"prompt": "other"})
    assert refused["error"]["code"] == "conflict"


async def test_a_run_goes_to_the_worker_that_is_named_and_waits_for_it(desk: Desk) -> None:
    other = HandWorker(desk.hub, worker_info("other"))
    await other.join()
    for number in range(4):
        assert (await desk.ask("start", run=f"r{number}", input=HELLO, worker="other"))["ok"]
    await wait_all_tasks_blocked()
    assert len(other.port.orders) == 4
    assert (await desk.ask("start", run="w", input=HELLO, worker="pool/w"))["ok"]
    await wait_all_tasks_blocked()
    assert len(desk.worker.port.orders) == 1
    assert (await desk.ask("start", run="w", input=HELLO, worker="other"))["error"][
        "code"
    ] == "conflict"
    other.leave()
    assert (await desk.ask("start", run="later", input=HELLO, worker="other"))["ok"]
    assert (await desk.ask("status", run="later"))["state"] == "queued"
    await other.join()
    await wait_all_tasks_blocked()
    assert (await desk.ask("status", run="later"))["worker"] == "other"
    refused = await desk.ask("start", run="none", input=HELLO, worker="none")
    assert refused["error"]["code"] == "worker_not_found"


async def test_operations_reach_the_worker(desk: Desk) -> None:
    await desk.ask("start", run="r", input=HELLO, interactive=True)
    await desk.ask("send", run="r", text="a", newline=True)
    await desk.ask("send", run="r", data_base64="AAE=")
    await desk.ask("signal", run="r", signal="hangup")
    await desk.ask("close_input", run="r")
    await desk.ask("cancel", run="r")
    await wait_all_tasks_blocked()
    run = RunId("r")
    assert [order.command for order in desk.worker.port.orders][1:] == [
        c.SendInput(run, b"a", newline=True),
        c.SendInput(run, b"\0\1"),
        c.SignalRun(run, c.Signal.HANGUP),
        c.CloseInput(run),
        c.CancelRun(run),
    ]
    refused = await desk.ask("send", run="r", text="a", data_base64="AA==")
    assert refused["error"]["code"] == "invalid_argument"


async def test_approvals_are_answered(desk: Desk) -> None:
    await desk.ask("start", run="r", input=HELLO, approvals=True)
    await wait_all_tasks_blocked()
    desk.worker.record(RunId("r"), e.ApprovalRequested("a", "Bash"))
    answer = await desk.ask("approve", run="r", approval="b", decision="deny")
    assert answer["error"]["code"] == "approval_not_found"
    assert (await desk.ask("approve", run="r", approval="a", decision="allow_once"))["ok"]


async def test_unfollowed_runs_are_silent(desk: Desk) -> None:
    await desk.ask("start", run="r", input=HELLO)
    await desk.ask("follow", run="r")
    await desk.ask("unfollow", run="r")
    before = len(desk.events("r"))
    desk.worker.record(RunId("r"), e.TextProduced("x"))
    await desk.ask("status", run="r")
    assert len(desk.events("r")) == before


async def test_unknown_runs_and_workers_are_refused_and_nothing_ends(desk: Desk) -> None:
    for op, members in (
        ("status", {}),
        ("follow", {}),
        ("unfollow", {}),
        ("wait", {}),
        ("ack", {"through": 1}),
        ("cancel", {}),
        ("send", {"text": "x"}),
        ("close_input", {}),
        ("signal", {"signal": "interrupt"}),
        ("approve", {"approval": "a", "decision": "deny"}),
    ):
        assert (await desk.ask(op, run="none", **members))["error"]["code"] == "not_found"
    assert (await desk.ask("drop", worker="none"))["error"]["code"] == "worker_not_found"
    assert (await desk.ask("raw", text="x"))["ok"]
    await desk.give(b"no json")
    assert (await desk.answer(None))["error"]["code"] == "invalid_argument"
    assert (await desk.ask("workers"))["workers"][0]["worker"] == "w"
    assert (await desk.ask("usage"))["accounts"][0]["provider"] == "claude"


async def test_waiting_ends_at_its_time(desk: Desk) -> None:
    await desk.ask("start", run="r", input=HELLO)
    refused = await desk.ask("wait", run="r", timeout_ms=1)
    assert refused["error"]["code"] == "unavailable"


async def test_numbers_that_no_event_has_are_refused(desk: Desk) -> None:
    await desk.ask("start", run="r", input=HELLO)
    last = (await desk.ask("status", run="r"))["last_seq"]
    for op, members in (
        ("follow", {"after": -1}),
        ("ack", {"through": -1}),
        ("ack", {"through": last + 1}),
    ):
        assert (await desk.ask(op, run="r", **members))["error"]["code"] == "invalid_argument"
    assert (await desk.ask("ack", run="r", through=last))["ok"]
    # Those to come are above the last.
    assert (await desk.ask("follow", run="r", after=last + 1))["ok"]


async def test_quit_is_answered_and_ends_it(desk: Desk) -> None:
    assert (await desk.ask("quit"))["ok"]
    await desk.served.wait()


@pytest.mark.parametrize("desk", ["own"], indirect=True)
async def test_what_only_one_fake_has_begins_in_order_and_is_answered_when_it_ends(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontend, "MAX_WAITING", 1)
    refused = await desk.ask("ack", run="none", through=1)
    assert refused["error"] == {"code": "conflict", "message": "not now"}
    answered = await desk.ask("ack", run="r", through=1)
    assert answered == {"id": "2", "ok": False, "error": {"code": "mine", "message": "2"}}
    await desk.give(b'{"op":"ack","id":"w","run":"wait","through":1}')
    full = await desk.ask("ack", run="r", through=1)
    assert full["error"]["code"] == "unavailable"
    assert desk.begun == ["r", "wait"]


@pytest.mark.parametrize("desk", ["worker"], indirect=True)
async def test_a_worker_lists_its_runs(desk: Desk) -> None:
    await desk.hub.submit(c.StartRun(RunId("r"), c.RunSpec(c.Prompt("x")), c.Origin("n", "r")))
    listed = await desk.ask("runs")
    assert [run["run"] for run in listed["runs"]] == ["r"]


@pytest.mark.parametrize("desk", ["worker"], indirect=True)
async def test_steps_are_read_before_anybody_is_given_them(desk: Desk) -> None:
    bad = await desk.ask("emit", run="r", steps=[{"txet": "x"}])
    assert "did you mean text?" in bad["error"]["message"]
    refused = await desk.ask("emit", run="r", steps=[{"text": "x"}])
    assert refused["error"]["code"] == "unsupported_input"


async def test_faults_are_checked_before_any_link_suffers(desk: Desk) -> None:
    assert (await desk.ask("fault", corrupt=1, dir="in"))["ok"]
    assert (await desk.ask("fault"))["ok"]
    assert desk.faults == [Faults(corrupt=1.0, direction="in"), Faults()]
    for bad, said in (
        ({"corupt": 1}, "did you mean corrupt?"),
        ({"corrupt": 2}, "a probability from 0 to 1"),
        ({"drop_after": 0}, "at least 1"),
        ({"dir": "up"}, "dir"),
        ({"half_open": 1}, "half_open"),
    ):
        refused = await desk.ask("fault", **bad)
        assert refused["error"]["code"] == "invalid_argument"
        assert said in refused["error"]["message"]
    assert len(desk.faults) == 2
