"""What operators may ask, over a real hub."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core import events as e
from fleetgate.core.errors import Refusal
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import DONE, HandWorker, read_until, started
from fleetgate.core.ids import RunId
from fleetgate.gateway.admin.api import PAGE, STATUSES, Api
from fleetgate.gateway.admin.http import Reply, Request, Stream


async def _ask(api: Api, method: str, path: str, body: Any = None, **query: str) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    return await api.handle(Request(method, tuple(path.split("|")), query, {}, data))


async def _get(api: Api, path: str, **query: str) -> Any:
    reply = await _ask(api, "GET", path, **query)
    assert isinstance(reply, Reply)
    return reply.line


async def _lines(stream: Any) -> list[dict[str, Any]]:
    assert isinstance(stream, Stream)
    data: list[bytes] = []

    async def send(piece: bytes) -> None:
        data.append(piece)

    await stream.write(send)
    return [json.loads(line) for line in b"".join(data).splitlines()]


START = {"input": {"prompt": "hi"}, "interactive": True}


async def test_status(api: Api) -> None:
    assert (await _get(api, "v1|status"))["name"] == "gw"


async def test_workers_and_their_drain(api: Api, worker: HandWorker) -> None:
    (line,) = (await _get(api, "v1|workers"))["workers"]
    assert (line["worker"], line["liveness"]) == ("pool/w", "ready")
    reply = await _ask(api, "POST", "v1|workers|pool/w|drain", {})
    assert reply.line["worker"]["liveness"] == "draining"
    reply = await _ask(api, "POST", "v1|workers|pool/w|drain", {"on": False})
    assert reply.line["worker"]["liveness"] == "ready"
    reply = await _ask(api, "POST", "v1|workers|pool/x|drain", {})
    assert (reply.status, reply.line["error"]["code"]) == (404, "worker_not_found")


async def test_a_run_from_its_start_to_its_end(api: Api, worker: HandWorker) -> None:
    reply = await _ask(api, "POST", "v1|runs", {**START, "run": "mine"})
    assert reply.status == 201
    assert (reply.line["run"]["run"], reply.line["run"]["link"]) == ("admin/mine", "admin")
    run = RunId("admin/mine")
    await wait_all_tasks_blocked()
    worker.record(run, e.RunStarted(), e.TextProduced("hello"), seq=1)
    reply = await _ask(api, "POST", "v1|runs|admin/mine|input", {"text": "x", "newline": True})
    assert reply.line["run"]["inputs"] == 1
    await _ask(api, "POST", "v1|runs|admin/mine|close", {})
    await _ask(api, "POST", "v1|runs|admin/mine|signal", {"signal": "interrupt"})
    commands = [type(order.command).__name__ for order in worker.port.orders]
    assert commands == ["StartRun", "SendInput", "CloseInput", "SignalRun"]
    worker.record(run, DONE, seq=2)
    events = await _lines(await _ask(api, "GET", "v1|runs|admin/mine|events", follow="1"))
    assert [each["type"] for each in events] == [
        "RunAssigned",
        "RunStarted",
        "TextProduced",
        "RunFinished",
    ]
    assert (await _get(api, "v1|runs|admin/mine"))["run"]["state"] == "succeeded"


async def test_a_run_without_a_name_gets_one(api: Api) -> None:
    reply = await _ask(api, "POST", "v1|runs", START)
    assert reply.line["run"]["run"] == "admin/1"


async def test_I6_a_repeated_start_and_a_repeated_key_change_nothing(
    api: Api, worker: HandWorker
) -> None:
    for _ in range(2):
        reply = await _ask(api, "POST", "v1|runs", {**START, "run": "mine"})
        assert reply.status == 201
    reply = await _ask(api, "POST", "v1|runs", {"input": {"prompt": "other"}, "run": "mine"})
    assert (reply.status, reply.line["error"]["code"]) == (409, "conflict")
    for _ in range(2):
        await _ask(api, "POST", "v1|runs|admin/mine|input", {"text": "x", "key": "k"})
    await wait_all_tasks_blocked()
    assert [order.number for order in worker.port.orders] == [0, 1]


async def test_approvals(api: Api, worker: HandWorker) -> None:
    await _ask(api, "POST", "v1|runs", {**START, "run": "mine", "approvals": True})
    await wait_all_tasks_blocked()
    worker.record(RunId("admin/mine"), e.ApprovalRequested("a1", "Bash"), seq=1)
    await wait_all_tasks_blocked()
    body = {"approval": "a2", "decision": "deny"}
    reply = await _ask(api, "POST", "v1|runs|admin/mine|approve", body)
    assert (reply.status, reply.line["error"]["code"]) == (404, "approval_not_found")
    body = {"approval": "a1", "decision": "allow_once"}
    reply = await _ask(api, "POST", "v1|runs|admin/mine|approve", body)
    assert reply.status == 200
    command = worker.port.orders[-1].command
    assert command == c.ResolveApproval(RunId("admin/mine"), "a1", e.Decision.ALLOW_ONCE)


async def test_events_without_following_are_those_that_there_are(
    api: Api, hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    worker.record(run, e.RunStarted(), e.TextProduced("a"), e.TextProduced("b"), seq=1)
    await read_until(hub, run, 4)
    path = f"v1|runs|{run}|events"
    assert [line["seq"] for line in await _lines(await _ask(api, "GET", path))] == [1, 2, 3, 4]
    lines = await _lines(await _ask(api, "GET", path, after="2"))
    assert [line["seq"] for line in lines] == [3, 4]
    assert await _lines(await _ask(api, "GET", path, after="4")) == []
    assert await _lines(await _ask(api, "GET", path, after="99")) == []


async def test_following_goes_on_until_the_end(api: Api, hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    stream = await _ask(api, "GET", f"v1|runs|{run}|events", follow="1", after="1")
    seen: list[int] = []

    async def send(data: bytes) -> None:
        seen.extend(json.loads(line)["seq"] for line in data.splitlines())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.write, send)
        for seq in range(1, 4):
            worker.record(run, e.TextProduced("x"), seq=seq)
            await wait_all_tasks_blocked()
            assert seen[-1] == seq + 1
        worker.record(run, DONE, seq=4)
    assert seen == [2, 3, 4, 5]


async def test_following_behind_the_end_ends_at_once(
    api: Api, hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, DONE, seq=1)
    await read_until(hub, run, 2)
    path = f"v1|runs|{run}|events"
    assert await _lines(await _ask(api, "GET", path, follow="1", after="2")) == []
    assert len(await _lines(await _ask(api, "GET", path, follow="1"))) == 2


async def test_runs_come_in_pages(api: Api, hub: Hub, worker: HandWorker) -> None:
    for name in ("a", "b", "c"):
        await started(hub, name)
    await _ask(api, "POST", "v1|runs", {**START, "run": "mine"})
    page = await _get(api, "v1|runs", limit="2")
    assert [run["run"] for run in page["runs"]] == ["admin/mine", "north/a"]
    assert page["next"] == "north/a"
    page = await _get(api, "v1|runs", limit="2", after="north/a")
    assert [run["run"] for run in page["runs"]] == ["north/b", "north/c"]
    assert page["next"] is None
    page = await _get(api, "v1|runs", limit="1", after="north/b", link="north")
    assert ([run["run"] for run in page["runs"]], page["next"]) == (["north/c"], None)
    assert len((await _get(api, "v1|runs", link="north"))["runs"]) == 3
    run = RunId("north/a")
    worker.record(run, DONE, seq=1)
    await read_until(hub, run, 2)
    page = await _get(api, "v1|runs", open="1", link="north")
    assert [line["run"] for line in page["runs"]] == ["north/b", "north/c"]


async def test_runs_of_an_entry_that_is_not_there_are_refused_with_the_nearest(
    api: Api, hub: Hub, worker: HandWorker
) -> None:
    assert (await _get(api, "v1|runs", link="north"))["runs"] == []
    assert (await _get(api, "v1|runs", link="admin"))["runs"] == []
    for link, hint in (("nort", "did you mean north?"), ("hosts", "known: admin, north")):
        reply = await _ask(api, "GET", "v1|runs", link=link)
        assert (reply.status, reply.line["error"]["code"]) == (400, "invalid_argument")
        said = f"no [[north]] entry is named {link}, and no run is its; {hint}"
        assert reply.line["error"]["message"] == said


async def test_runs_of_an_entry_that_an_earlier_config_had_are_listed(
    hub: Hub, worker: HandWorker
) -> None:
    api = Api(hub, lambda: {"entries": []}, lambda: None, lambda: "1")
    await started(hub, "a")
    run = RunId("north/a")
    await read_until(hub, run, 1)
    worker.record(run, DONE, seq=1)
    await read_until(hub, run, 2)
    assert len((await _get(api, "v1|runs", link="north"))["runs"]) == 1
    assert (await _get(api, "v1|runs", link="north", open="1"))["runs"] == []


async def test_draining_the_gateway(api: Api, drains: list[bool]) -> None:
    reply = await _ask(api, "POST", "v1|drain", {})
    assert (reply.status, reply.line, drains) == (202, {"draining": True}, [True])


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "v1|runs|north/none", 404, "not_found"),
        ("GET", "v1|runs|north/none|events", 404, "not_found"),
        ("POST", "v1|runs|north/none|cancel", 404, "not_found"),
        ("POST", "v1|runs|north/none|explode", 404, "no_such_path"),
        ("GET", "v2|runs", 404, "no_such_path"),
        ("GET", "", 404, "no_such_path"),
        ("DELETE", "v1|runs", 405, "no_such_method"),
    ],
)
async def test_what_is_not_there(api: Api, method: str, path: str, status: int, code: str) -> None:
    reply = await _ask(api, method, path)
    assert (reply.status, reply.line["error"]["code"]) == (status, code)


@pytest.mark.limit("gateway/admin/api.PAGE")
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "0"}, f"limit: expected 1 to {PAGE}"),
        ({"limit": "x"}, "limit: expected a number"),
        ({"limit": "-1"}, "limit: expected a number"),
        ({"limit": "9" * 5000}, "limit: expected a number"),
        ({"open": "yes"}, "open: expected 0 or 1"),
    ],
)
async def test_bad_queries(api: Api, query: dict[str, str], message: str) -> None:
    reply = await _ask(api, "GET", "v1|runs", **query)
    assert (reply.status, reply.line["error"]) == (
        400,
        {"code": "invalid_argument", "message": message},
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body: not JSON at character 1"),
        (b"\xff", "the body: expected UTF-8, byte 0 is not"),
        (b"[" * 100_000, "the body: more than 127 objects and arrays inside each other"),
        (b'{"run":' + b"9" * 5000 + b"}", "the body: a number is too large for a 64-bit float"),
        (b'{"run":NaN}', "the body: NaN and Infinity are not JSON"),
        (b'{"run":1e999}', "the body: a number is too large for a 64-bit float"),
        (b'{"run":"\\ud800"}', "the body: a string has half of a surrogate pair"),
        (b'{"metadata":{"a":"\xed\xa0\x80"}}', "the body: expected UTF-8, byte 18 is not"),
        ('{"run":"a"}'.encode("utf-16"), "the body: expected UTF-8, byte 0 is not"),
        (b"[]", "the body is not a JSON object"),
        (b"{}", "input: is missing"),
    ],
)
async def test_bad_bodies(api: Api, body: bytes, message: str) -> None:
    reply = await api.handle(Request("POST", ("v1", "runs"), {}, {}, body))
    assert isinstance(reply, Reply)
    assert reply.line["error"]["code"] == "invalid_argument"
    assert reply.line["error"]["message"].startswith(message)


def test_every_refusal_has_a_status() -> None:
    codes = {kind.code for kind in vars(errors).values() if _is_refusal(kind)}
    assert codes == set(STATUSES)


def _is_refusal(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Refusal) and kind is not Refusal
