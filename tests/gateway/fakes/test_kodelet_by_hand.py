"""The control plane worked by hand, in virtual time: the test is the runner, on a memory link."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.frontend import FrontEnd
from fleetgate.gateway.fakes.kodelet_by_hand import ByHand
from fleetgate.gateway.fakes.kodelet_operations import KNOWN
from fleetgate.gateway.fakes.kodelet_plane import Plane
from fleetgate.gateway.fakes.lines import LineReader, LineWriter
from fleetgate.gateway.fakes.performing import Performer
from fleetgate.gateway.fakes.small import open_small
from fleetgate.gateway.render import Line
from fleetgate.gateway.testing import SeenHouse
from fleetgate.protocols import kodelet
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.structs import write
from fleetgate.protocols.kodelet.testing import ask, no, tell, yes
from fleetgate.protocols.kodelet.wire import SUBPROTOCOL
from fleetgate.transports.api import Link, LinkError, Options
from fleetgate.transports.open import open_dialer

UNCERTAIN = (
    "runner tool response was not received; execution may have started and side effects are "
    "uncertain: "
)


class Pen(LineReader):
    """Operations of a test, as lines."""

    def __init__(self) -> None:
        super().__init__()
        self._put, self._got = trio.open_memory_channel[bytes](100)

    def write(self, **operation: Any) -> None:
        self._put.send_nowait(json.dumps(operation).encode())

    async def next(self) -> bytes | None:
        return await self._got.receive()


class Page(LineWriter):
    """What the fake has written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Line] = []

    async def write(self, *lines: Line) -> None:
        self.lines += (json.loads(json.dumps(line)) for line in lines)
        await trio.lowlevel.checkpoint()

    def events(self, name: str) -> list[Line]:
        return [line for line in self.lines if line.get("event") == name]


class Runner:
    """A runner that says what the test says."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.id = ""
        self.generation = 0

    async def said(self) -> Any:
        """The next message from the control plane."""
        with trio.fail_after(120):
            return json.loads(await self.link.receive())

    async def say(self, *frames: bytes) -> None:
        for frame in frames:
            await self.link.send(frame)
        await wait_all_tasks_blocked()

    async def register(self, **params: Any) -> Any:
        await self.say(ask("runner:1", "runner.register", {**t.REGISTER, **params}))
        answer = await self.said()
        if "result" in answer:
            self.id, self.generation = answer["result"]["runnerId"], answer["result"]["generation"]
        return answer

    async def beat(self, state: str = "idle", *runs: str) -> None:
        params = {"runnerId": self.id, "generation": self.generation, "state": state}
        await self.say(tell("runner.heartbeat", params | ({"activeRunIds": runs} if runs else {})))

    def manifest(self, run: str, **members: Any) -> Any:
        whose = {"runnerId": self.id, "runId": run, "generation": self.generation}
        return write(m.sealed(m.read_manifest({**t.MANIFEST, **whose, **members})))


@attrs.define
class Bench:
    """A fake control plane, its operations and what it writes."""

    address: str
    nursery: trio.Nursery
    pen: Pen
    page: Page
    dialling: list[Any] = attrs.field(factory=list)

    async def dial(self) -> Runner:
        dialer = await self.nursery.start(_dialer, self.address)
        return Runner(await dialer.dial())

    async def runner(self, **params: Any) -> Runner:
        """A runner that is ready."""
        runner = await self.dial()
        await runner.register(**params)
        await runner.beat()
        return runner

    def give(self, op: str, id: str, **members: Any) -> None:
        self.pen.write(op=op, id=id, **members)

    async def answer(self, id: str) -> Line:
        """The answer to an operation, which has come or comes within a minute."""
        with trio.fail_after(120):
            while True:
                await wait_all_tasks_blocked()
                for line in self.page.lines:
                    if line.get("id") == id and "ok" in line:
                        return line
                await trio.sleep(0.01)

    async def ask(self, op: str, id: str, **members: Any) -> Line:
        self.give(op, id, **members)
        return await self.answer(id)

    async def refused(self, op: str, id: str, **members: Any) -> Any:
        line = await self.ask(op, id, **members)
        assert line["ok"] is False
        return line["error"]["code"], line["error"]["message"]

    async def open(self, runner: Runner, run: str = "run_x", conv: str = "c1") -> None:
        """A run that is open."""
        self.give("open", f"open {run}", runner=runner.id, run=run, conv=conv)
        asked = await runner.said()
        await runner.say(yes(asked["id"], runner.manifest(run)))
        assert (await self.answer(f"open {run}"))["ok"]

    async def status(self, run: str = "run_x") -> tuple[str, str]:
        line = await self.ask("run", f"run {run} {len(self.page.lines)}", run=run)
        return line["run"]["status"], line["run"]["error"]


async def _dialer(address: str, task_status: trio.TaskStatus[Any]) -> None:
    headers = {"sec-websocket-protocol": SUBPROTOCOL}
    async with open_dialer(address, Options(limit=8 << 20, headers=headers)) as dialer:
        task_status.started(dialer)
        await trio.sleep_forever()


@pytest.fixture
def settings() -> ControlPlaneSettings:
    return ControlPlaneSettings()


@pytest.fixture
def attended() -> bool:
    return True


@pytest.fixture
async def bench(settings: ControlPlaneSettings, attended: bool) -> AsyncIterator[Bench]:
    assert kodelet.ADAPTER.southbound.settings is ControlPlaneSettings
    entry = Entry("south", "runners", "kodelet", "memory:plane", True, settings)
    plane, pen, page = Plane(attended=attended), Pen(), Page()
    async with (
        trio.open_nursery() as nursery,
        open_small(entry, "p", "memory:", SeenHouse(), connect=plane.connect) as small,
        plane.telling(page),
    ):
        own = ByHand(plane, small, page).own
        nursery.start_soon(FrontEnd(pen, page, KNOWN, Performer(small, page, own=own)).serve)
        yield Bench("memory:plane", nursery, pen, page)
        nursery.cancel_scope.cancel()


# --- open


async def test_an_open_is_answered_with_the_manifest(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    bench.give(
        "open",
        "2",
        runner=runner.id,
        run="run_x",
        conv="c1",
        reserved=["get_goal"],
        caps={"interactiveUI": True},
        agent={"provider": "openai", "model": "m"},
    )
    asked = await runner.said()
    assert (asked["id"], asked["method"]) == ("server:1", "run.open")
    assert asked["params"] == {
        "runId": "run_x",
        "conversationId": "c1",
        "agent": {"provider": "openai", "model": "m"},
        "clientCapabilities": {"interactiveUI": True, "persistentSurfaces": False},
        "reservedToolNames": ["get_goal"],
    }
    assert await bench.status() == ("opening", "")
    await runner.say(yes("server:1", runner.manifest("run_x")))
    assert await bench.answer("2") == {
        "id": "2",
        "ok": True,
        "manifest": runner.manifest("run_x"),
    }
    assert await bench.status() == ("running", "")


async def test_what_the_page_leaves_out_is_as_kodelet_serve_has_it(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    bench.give("open", "2", runner=runner.id, run="run_x", conv="c1")
    params = (await runner.said())["params"]
    assert params["reservedToolNames"] == ["get_goal", "update_goal", "read_conversation"]
    assert params["agent"] == {"provider": "", "model": ""}


async def test_case_43_an_open_that_fails(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    bench.give("open", "a", runner=runner.id, run="a", conv="c1")
    await runner.say(no((await runner.said())["id"], -32603, "no such profile"))
    assert (await bench.answer("a"))["error"] == {"code": "-32603", "message": "no such profile"}
    assert await bench.status("a") == ("failed", "no such profile")

    bench.give("open", "b", runner=runner.id, run="b", conv="c1")
    bad = {**runner.manifest("b"), "digest": "sha256:0"}
    await runner.say(yes((await runner.said())["id"], bad))
    closing = await runner.said()
    assert closing["method"] == "run.close"
    await runner.say(no(closing["id"], -32002, "gone", "run_not_active"))
    wrong = "runner manifest digest does not match its contents"
    assert (await bench.answer("b"))["error"] == {"code": "failed", "message": wrong}
    assert await bench.status("b") == ("failed", wrong)

    bench.give("open", "c", runner=runner.id, run="c", conv="c1")
    await runner.say(yes((await runner.said())["id"], None))
    await runner.say(no((await runner.said())["id"], -32603, "broken"))
    error = (await bench.answer("c"))["error"]
    assert error["code"] == "lost"
    assert error["message"].startswith("runner open state is uncertain because cleanup failed: ")
    assert (await bench.status("c"))[0] == "lost"


async def test_case_59_a_run_whose_context_files_are_wrong_is_closed_again(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    bench.give("open", "a", runner=runner.id, run="a", conv="c1")
    file = {"path": "AGENTS.md", "content": "runner instructions", "digest": "sha256:wrong"}
    manifest = runner.manifest("a", contextFiles=[file])
    await runner.say(yes((await runner.said())["id"], manifest))
    closing = await runner.said()
    assert closing["method"] == "run.close"
    await runner.say(yes(closing["id"]))
    wrong = "runner context file AGENTS.md does not match its digest"
    assert (await bench.answer("a"))["error"] == {"code": "failed", "message": wrong}
    assert await bench.status("a") == ("failed", wrong)


async def test_case_45_the_gate_says_why_and_sends_nothing(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    other = await bench.runner(workspace={"path": "/srv/other", "name": "other"})
    new = await bench.dial()
    await new.register(workspace={"path": "/srv/new", "name": "new"})
    await bench.open(runner)

    async def denied(runner: str, run: str, conv: str, **agent: str) -> str:
        id = f"open {len(bench.page.lines)}"
        line = await bench.ask("open", id, runner=runner, run=run, conv=conv, agent=agent)
        return str(line["error"]["message"])

    profile = {"environmentProfile": "ci"}
    assert await denied("runner_none", "r", "c") == "runner not found"
    assert await denied(other.id, "r", "c1") == f"conversation is bound to runner {runner.id}"
    assert "locked to" in await denied(runner.id, "r", "c1", **profile)
    assert await denied(runner.id, "r", "c1") == "conversation already has active run run_x"
    assert await denied(runner.id, "run_x", "c2") == "run id already exists"
    assert await denied(other.id, "run_x", "c2") == "run id already exists"
    assert await denied(new.id, "r", "c9") == "runner has not completed its initial heartbeat"
    with trio.move_on_after(1):
        raise AssertionError(f"sent: {await other.said()}")


async def test_a_conversation_that_is_opening_elsewhere_is_refused(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    other = await bench.runner(workspace={"path": "/srv/other", "name": "other"})
    bench.give("open", "1", runner=runner.id, run="a", conv="c")
    await runner.said()
    why = "conversation already has active run a"
    assert await bench.refused("open", "2", runner=other.id, run="b", conv="c") == ("denied", why)


# --- calls


async def test_a_call_and_its_answers(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    params = {"runId": "run_x", "message": "hi"}
    bench.give("call", "3", run="run_x", method="command.execute", params=params)
    asked = await runner.said()
    assert (asked["method"], asked["params"]) == ("command.execute", params)
    await runner.say(yes(asked["id"], {"matched": False}))
    assert await bench.answer("3") == {"id": "3", "ok": True, "result": {"matched": False}}
    bench.give("call", "4", run="run_x", method="nope")
    asked = await runner.said()
    assert asked["params"] is None
    await runner.say(no(asked["id"], -32601, "no such", "some"))
    assert (await bench.answer("4"))["error"] == {
        "code": "-32601",
        "message": "no such",
        "data": {"reason": "some"},
    }


async def test_a_tool_with_updates(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give(
        "tool", "4", run="run_x", call="t1", tool="bash", input={"command": "ls"}, updates=True
    )
    asked = await runner.said()
    assert asked["params"] == {
        "runId": "run_x",
        "toolCallId": "t1",
        "name": "bash",
        "input": {"command": "ls"},
        "wantUpdates": True,
    }
    update = {"runId": "run_x", "toolCallId": "t1", "requestId": asked["id"], "sequence": 2}
    for changed in ({}, {"sequence": 1}, {"requestId": "x", "sequence": 3}, {"sequence": 5}):
        await runner.say(tell("tool.update", {**update, **changed}))
    await runner.say(yes(asked["id"], t.executed("done")))
    await runner.say(tell("tool.update", {**update, "sequence": 9}))
    assert await bench.answer("4") == {"id": "4", "ok": True, "result": t.executed("done")}
    updates = [line["update"] for line in bench.page.lines if "update" in line]
    assert [each["sequence"] for each in updates] == [2, 5]
    assert updates[0]["requestId"] == asked["id"]


async def test_a_tool_without_updates_asks_for_none_and_its_input_is_an_object(
    bench: Bench,
    autojump_clock: MockClock,
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("tool", "4", run="run_x", call="t1", tool="bash")
    params = (await runner.said())["params"]
    assert "wantUpdates" not in params
    assert params["input"] == {}


async def test_a_result_that_cannot_be_read_is_no_answer(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("tool", "4", run="run_x", call="t1", tool="bash")
    bad = {"result": {"structured": {"timestamp": ""}}}
    await runner.say(yes((await runner.said())["id"], bad))
    error = (await bench.answer("4"))["error"]
    assert error["code"] == "no_answer"
    assert error["message"].startswith(f"{UNCERTAIN}structured.timestamp")


async def test_a_tool_has_its_time(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    start = trio.current_time()
    bench.give("tool", "4", run="run_x", call="t1", tool="sleep", timeoutMs=5000)
    asked = await runner.said()
    cancel = await runner.said()
    assert trio.current_time() - start == pytest.approx(5, abs=0.1)
    assert (cancel["method"], cancel["params"]) == ("operation.cancel", {"requestId": asked["id"]})
    assert (await bench.answer("4"))["error"] == {
        "code": "no_answer",
        "message": f"{UNCERTAIN}context deadline exceeded",
    }
    await runner.say(yes(asked["id"], t.executed()))  # late, and for nobody


async def test_case_15_an_operation_is_given_up(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("tool", "4", run="run_x", call="t1", tool="sleep")
    bench.give("abort", "8", reason="4")
    asked, cancel = await runner.said(), await runner.said()
    assert cancel["params"] == {"requestId": asked["id"]}
    assert (await bench.answer("8"))["ok"]
    assert (await bench.answer("4"))["error"]["message"] == f"{UNCERTAIN}context canceled"
    assert (await bench.refused("abort", "9", reason="4"))[0] == "invalid_argument"


async def test_w_15_7_an_open_is_given_up(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    bench.give("open", "2", runner=runner.id, run="run_x", conv="c1")
    await runner.said()
    bench.give("abort", "3", reason="2")
    cancel, closing = await runner.said(), await runner.said()
    assert cancel["params"] == {"requestId": "server:1"}
    assert (closing["method"], closing["params"]) == ("run.close", {"runId": "run_x"})
    await runner.say(yes(closing["id"]))
    assert (await bench.answer("2"))["error"] == {"code": "failed", "message": "context canceled"}
    assert await bench.status() == ("failed", "context canceled")


# --- ending


async def test_case_47_a_cancel_keeps_the_lease(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("cancel", "5", run="run_x", reason="context canceled")
    asked = await runner.said()
    assert asked["params"] == {"runId": "run_x", "reason": "context canceled"}
    await runner.say(yes(asked["id"]))
    assert (await bench.answer("5")) == {"id": "5", "ok": True}
    assert await bench.status() == ("canceled", "")
    why = "run is not active: canceled"
    assert await bench.refused("tool", "6", run="run_x", call="t", tool="x") == ("denied", why)
    bench.give("close", "7", run="run_x", status="canceled")
    await runner.say(yes((await runner.said())["id"]))
    assert (await bench.answer("7"))["run"] == {"status": "canceled", "error": ""}
    assert (await bench.refused("close", "8", run="run_x"))[0] == "denied"
    assert (await bench.refused("cancel", "9", run="run_x"))[0] == "denied"


@pytest.mark.parametrize(
    ("status", "answer", "ends"),
    [
        ("succeeded", yes("{}"), ("succeeded", "")),
        ("failed", no("{}", -32002, "gone", "run_not_active"), ("failed", "")),
        ("succeeded", no("{}", -32603, "no"), ("lost", "runner cleanup was not confirmed: no")),
    ],
)
async def test_w_9_2_a_close(
    bench: Bench, autojump_clock: MockClock, status: str, answer: bytes, ends: tuple[str, str]
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("close", "6", run="run_x", status=status)
    closing = await runner.said()
    assert await bench.status() == ("running", "")
    await runner.say(answer.replace(b"{}", closing["id"].encode()))
    line = await bench.answer("6")
    assert (line["run"]["status"], line["run"]["error"]) == ends == await bench.status()
    assert line["ok"] is (ends[0] != "lost")
    await bench.open(runner, "run_y")  # the link and the conversation are free


async def test_a_close_is_given_up(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("close", "6", run="run_x")
    bench.give("abort", "7", reason="6")
    assert (await bench.answer("6"))["run"]["status"] == "lost"


@pytest.mark.parametrize("settings", [ControlPlaneSettings(lease_grace=3.0)])
async def test_w_8_5_an_owner_who_goes_is_watched(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    start = trio.current_time()
    assert (await bench.ask("abort", "8", reason="open run_x"))["ok"]
    assert await bench.status() == ("running", "")
    cancel = await runner.said()
    assert trio.current_time() - start == pytest.approx(3, abs=0.1)
    assert (cancel["method"], cancel["params"]["reason"]) == (
        "run.cancel",
        "control-plane run lease expired",
    )
    why = "control-plane run context ended without run.close: context canceled"
    assert bench.page.events("conversation_cancel") == [
        {
            "event": "conversation_cancel",
            "runner": runner.id,
            "conv": "c1",
            "run": "run_x",
            "error": why,
        }
    ]
    await runner.say(yes(cancel["id"]))
    await runner.say(yes((await runner.said())["id"]))
    assert await bench.status() == ("canceled", why)
    assert (await bench.refused("abort", "9", reason="open run_x"))[1] == (
        "reason: the run run_x has ended"
    )


# --- what comes unasked


async def test_a_peer_that_leaves_ends_what_is_under_way(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("tool", "4", run="run_x", call="t1", tool="sleep", updates=True)
    bench.give("open", "5", runner=runner.id, run="run_y", conv="c2")
    await runner.said()
    await runner.said()
    await runner.link.close(None)
    error = (await bench.answer("4"))["error"]
    assert error["code"] == "no_answer"
    assert error["message"].startswith(f"{UNCERTAIN}the link to the runner ended")
    assert (await bench.answer("5"))["error"]["code"] == "lost"
    assert (await bench.status())[0] == "lost"
    canceled = bench.page.events("conversation_cancel")
    assert sorted(line["conv"] for line in canceled) == ["c1", "c2"]
    (end,) = bench.page.events("transport_end")
    assert end["runner"] == runner.id
    assert end["reason"]
    why = ("denied", "runner is offline")
    assert await bench.refused("open", "6", runner=runner.id, run="z", conv="c3") == why
    assert (await bench.refused("tool", "7", run="run_x", call="t", tool="x"))[1] == (
        "run is not active: lost"
    )


async def test_case_25_a_newcomer_replaces_and_the_old_run_is_lost(
    bench: Bench, autojump_clock: MockClock
) -> None:
    old = await bench.runner()
    await bench.open(old)
    bench.give("tool", "4", run="run_x", call="t1", tool="sleep")
    await old.said()
    new = await bench.runner()
    assert (new.id, new.generation) == (old.id, 2)
    with pytest.raises((LinkError, trio.EndOfChannel)):
        await old.link.receive()
    assert await bench.status() == ("lost", "runner connection was replaced")
    assert (await bench.answer("4"))["error"]["code"] == "no_answer"
    assert [line["conv"] for line in bench.page.events("conversation_cancel")] == ["c1"]
    await bench.open(new, "run_y")


async def test_what_runs_ask_is_shown_and_answered(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    owner = {"extensionId": "ext", "generation": 2}
    expected = {
        "ui.input": {"status": "submitted", "value": "answer"},
        "ui.confirm": {"status": "submitted", "value": "answer", "confirmed": True},
        "ui.select": {"status": "submitted", "value": "answer"},
        "ui.notify": {"status": "submitted"},
    }
    for method, result in expected.items():
        params = {"runId": "run_x", "owner": owner, "request": {"message": "m"}}
        await runner.say(ask(method, method, params))
        assert (await runner.said())["result"] == result
    await runner.say(ask("w", "ui.widget.set", {"runId": "run_x", "request": {"id": "w"}}))
    assert (await runner.said())["result"]["accepted"] is False
    await runner.say(ask("x", "ui.input", {"runId": "none", "request": {}}))
    assert (await runner.said())["error"]["code"] == -32002
    await wait_all_tasks_blocked()
    shown = bench.page.events("ui")
    assert [line["method"] for line in shown] == [*expected, "ui.widget.set"]
    assert shown[0] == {
        "event": "ui",
        "runner": runner.id,
        "run": "run_x",
        "method": "ui.input",
        "owner": owner,
        "request": {"message": "m"},
    }


@pytest.mark.parametrize("attended", [False])
async def test_without_ui_nobody_is_there(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    await runner.say(ask("q", "ui.input", {"runId": "run_x", "request": {"title": "?"}}))
    assert (await runner.said())["result"] == {
        "status": "unavailable",
        "reason": "web ui input is not available",
    }
    await wait_all_tasks_blocked()
    assert len(bench.page.events("ui")) == 1


async def test_w_9_4_an_environment_that_breaks_fails_the_run_and_keeps_it(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    await runner.say(tell("run.environmentError", {"runId": "run_x", "message": "broken"}))
    assert await bench.status() == ("failed", "broken")
    assert [line["error"] for line in bench.page.events("conversation_cancel")] == ["broken"]
    bench.give("close", "6", run="run_x", status="succeeded")
    await runner.say(yes((await runner.said())["id"]))
    assert (await bench.answer("6"))["run"] == {"status": "failed", "error": "broken"}


# --- runners


async def test_runners_as_they_are_shown(bench: Bench, autojump_clock: MockClock) -> None:
    assert (await bench.ask("runners", "0"))["runners"] == []
    runner = await bench.dial()
    await runner.register(manifestDigest="sha256:1")
    (shown,) = (await bench.ask("runners", "1"))["runners"]
    assert shown == {
        "id": runner.id,
        "status": "connecting",
        "connected": True,
        "generation": 1,
        "manifestDigest": "sha256:1",
        "manifestChanged": False,
        "activeRunIds": [],
        "compatibilityError": "",
        "workspace": {"path": "/srv/project", "name": "project"},
    }
    await runner.beat()
    changed = {"runnerId": runner.id, "generation": 1, "manifestDigest": "sha256:2"}
    await runner.say(tell("runner.manifestChanged", changed))
    (shown,) = (await bench.ask("runners", "2"))["runners"]
    assert (shown["status"], shown["manifestDigest"]) == ("idle", "sha256:2")
    assert shown["manifestChanged"] is True
    await bench.open(runner)
    (shown,) = (await bench.ask("runners", "3"))["runners"]
    assert (shown["status"], shown["activeRunIds"]) == ("busy", ["run_x"])
    assert shown["manifestChanged"] is False
    await runner.say(tell("runner.goodbye"))
    (shown,) = (await bench.ask("runners", "4"))["runners"]
    assert (shown["status"], shown["connected"], shown["generation"]) == ("offline", False, 1)
    assert await bench.status() == ("lost", "")


async def test_w_7_5_runners_of_another_version(bench: Bench, autojump_clock: MockClock) -> None:
    runner = await bench.runner()
    second = await bench.dial()
    await second.register(protocolVersions=[2])
    (shown,) = (await bench.ask("runners", "1"))["runners"]
    assert (shown["status"], shown["connected"]) == ("idle", True)
    assert shown["compatibilityError"] == "runner does not support protocol version 1"
    await runner.link.close(None)
    third = await bench.dial()
    await third.register(protocolVersions=[3], workspace={"path": "/srv/b", "name": "b"})
    found = (await bench.ask("runners", "2"))["runners"]
    (refused,) = [line for line in found if line["workspace"]["path"] == "/srv/b"]
    assert (refused["status"], refused["generation"]) == ("incompatible", 0)
    again = await bench.runner()
    assert again.generation == 2
    shown = {line["id"]: line for line in (await bench.ask("runners", "3"))["runners"]}
    assert (shown[again.id]["status"], shown[again.id]["compatibilityError"]) == ("idle", "")


# --- bad input


async def test_operations_for_what_is_not_there(bench: Bench, autojump_clock: MockClock) -> None:
    for number, (op, members) in enumerate(
        [
            ("call", {"method": "m"}),
            ("tool", {"call": "c", "tool": "t"}),
            ("close", {}),
            ("run", {}),
            ("cancel", {}),
        ]
    ):
        code, message = await bench.refused(op, f"n{number}", run="nobody", **members)
        assert code == "not_found"
        assert "nobody" in message
    code, _ = await bench.refused("abort", "a", reason="zz")
    assert code == "invalid_argument"
    code, _ = await bench.refused("open", "o", runner="none", run="r", conv="c")
    assert code == "unavailable"


async def test_an_id_that_is_under_way_is_not_taken_again(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    bench.give("tool", "4", run="run_x", call="t1", tool="sleep")
    await runner.said()
    for op, members in (
        ("tool", {"run": "run_x", "call": "t2", "tool": "sleep"}),
        ("run", {"run": "run_x"}),
        ("runners", {}),
        ("abort", {"reason": "4"}),
    ):
        code, message = await bench.refused(op, "4", **members)
        assert (code, "id" in message) == ("invalid_argument", True)


@pytest.mark.parametrize("given", [{"x": float("nan")}, {"x": "y" * (5 << 20)}])
async def test_what_no_message_carries_is_refused_and_the_link_stays(
    bench: Bench, autojump_clock: MockClock, given: Any
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    code, _ = await bench.refused("tool", "4", run="run_x", call="t", tool="x", input=given)
    assert code == "invalid_argument"
    bench.give("tool", "5", run="run_x", call="t", tool="x")
    assert (await runner.said())["method"] == "tool.execute"


async def test_runs_that_are_started_go_on_beside_those_that_are_opened(
    bench: Bench, autojump_clock: MockClock
) -> None:
    runner = await bench.runner()
    await bench.open(runner)
    started = {"tool": "bash", "arguments": {"command": "ls"}}
    assert (await bench.ask("start", "s", run="mine", input=started))["ok"]
    asked = await runner.said()
    assert asked["method"] == "run.open"
    await runner.say(yes(asked["id"], runner.manifest(asked["params"]["runId"])))
    call = await runner.said()
    assert call["method"] == "tool.execute"
    bench.give("cancel", "c", run="mine")
    assert (await bench.answer("c"))["ok"]
    assert (await runner.said())["params"] == {"requestId": call["id"]}
    assert (await runner.said())["method"] == "run.cancel"
