"""Questions and orders, from the command line to a real hub."""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import DONE, HandWorker, read_until, started
from fleetgate.core.ids import RunId
from fleetgate.gateway.commands.operate import MAX_INPUT, run_id
from fleetgate.gateway.render import Line

Command = Callable[..., Awaitable[int]]
Capture = pytest.CaptureFixture[str]


def _rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def _objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_without_a_link_is_the_operators() -> None:
    assert run_id("mine") == "admin/mine"
    assert run_id("gui/run-1") == "gui/run-1"


async def test_workers(command: Command, worker: HandWorker, capsys: Capture) -> None:
    assert await command("workers") == 0
    header, row = _rows(capsys.readouterr().out)
    assert header == ["WORKER", "STATE", "SINCE", "RUNS", "FREE", "TAKES"]
    assert (row[0], row[1], *row[3:]) == ("pool/w", "ready", "0", "any", "prompt shell tool")
    assert await command("workers", "--json") == 0
    (line,) = _objects(capsys.readouterr().out)
    assert line["worker"] == "pool/w"


async def test_runs(command: Command, hub: Hub, worker: HandWorker, capsys: Capture) -> None:
    for name in ("a", "b"):
        await started(hub, name)
    run = RunId("north/a")
    await read_until(hub, run, 1)
    worker.record(run, DONE, seq=1)
    await read_until(hub, run, 2)
    assert await command("runs") == 0
    header, row = _rows(capsys.readouterr().out)
    assert header[:4] == ["RUN", "STATE", "INPUT", "WORKER"]
    assert row[:4] == ["north/b", "starting", "prompt", "pool/w"]
    assert await command("runs", "--all", "--json") == 0
    assert [line["run"] for line in _objects(capsys.readouterr().out)] == ["north/a", "north/b"]
    assert await command("runs", "--link", "admin") == 0
    assert len(_rows(capsys.readouterr().out)) == 1
    assert await command("runs", "--link", "nope") == 1
    assert "no [[north]] entry is named nope" in capsys.readouterr().err


async def test_runs_say_what_they_wait_for(command: Command, hub: Hub, capsys: Capture) -> None:
    await started(hub, "a")
    assert await command("runs") == 0
    _, row = _rows(capsys.readouterr().out)
    assert (row[1], row[-1]) == ("queued", "a worker")


async def test_status(command: Command, status: Line, capsys: Capture) -> None:
    assert await command("status") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "name: gw",
        "journal: sqlite:/j.db, 2 writes wait for their commit",
    ]
    assert await command("status", "--json") == 0
    assert _objects(capsys.readouterr().out) == [status]


async def test_status_says_first_that_the_journal_fails_and_why(
    command: Command, status: Line, capsys: Capture
) -> None:
    status["journal"]["failing"] = "database or disk is full"
    assert await command("status") == 0
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert first == "THE JOURNAL CANNOT BE WRITTEN: database or disk is full"
    assert "new runs are refused" in second
    assert third == "name: gw"


async def test_status_says_that_lists_leave_out_damaged_runs(
    command: Command, status: Line, capsys: Capture
) -> None:
    status["journal"]["damaged"] = True
    assert await command("status") == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("THE JOURNAL IS DAMAGED: lists leave out runs")
    assert second == "name: gw"


async def _given(worker: HandWorker, number: int) -> c.RunCommand:
    while len(worker.port.orders) <= number:
        await trio.lowlevel.checkpoint()
    return worker.port.orders[number].command


async def test_send(
    command: Command, hub: Hub, worker: HandWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await started(hub)
    assert await command("send", run, "ä") == 0
    assert await _given(worker, 1) == c.SendInput(run, "ä".encode(), newline=True)
    assert await command("send", run, "--no-newline", "x") == 0
    assert await _given(worker, 2) == c.SendInput(run, b"x")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n")))
    assert await command("send", run, "-", "--close") == 0
    assert await _given(worker, 3) == c.SendInput(run, b"\xff\n")
    assert await _given(worker, 4) == c.CloseInput(run)


async def test_send_says_what_became_of_the_run_where_json_is_wanted(
    command: Command, hub: Hub, worker: HandWorker, capsys: Capture
) -> None:
    run = await started(hub)
    assert await command("send", run, "--close", "--json", "hello") == 0
    (line,) = _objects(capsys.readouterr().out)
    assert line["run"] == run
    assert await _given(worker, 1) == c.SendInput(run, b"hello", newline=True)
    assert await _given(worker, 2) == c.CloseInput(run)


@pytest.mark.limit("gateway/commands/operate.MAX_INPUT")
async def test_sending_nothing_or_too_much(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert await command("send", "r") == 2
    assert "send needs a text" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bytes(MAX_INPUT + 1))))
    assert await command("send", "r", "-") == 2
    assert "one input has at most" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "decision", "value"),
    [
        ((), e.Decision.ALLOW_ONCE, None),
        (("a1",), e.Decision.ALLOW_ONCE, None),
        (("--similar",), e.Decision.ALLOW_SIMILAR, None),
        (("--deny",), e.Decision.DENY, None),
        (("--deny", "a1"), e.Decision.DENY, None),
        (("--value", "42"), e.Decision.VALUE, "42"),
    ],
)
async def test_approve(
    command: Command,
    hub: Hub,
    worker: HandWorker,
    words: tuple[str, ...],
    decision: e.Decision,
    value: str | None,
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.ApprovalRequested("a1", "Bash"), seq=1)
    await read_until(hub, run, 2)
    assert await command("approve", run, *words) == 0
    assert await _given(worker, 1) == c.ResolveApproval(run, "a1", decision, value)


async def test_approving_asks_which_where_there_are_several_or_none(
    command: Command, hub: Hub, worker: HandWorker, capsys: Capture
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    assert await command("approve", run) == 1
    assert "waits for no approval (approval_not_found)" in capsys.readouterr().err
    worker.record(run, e.ApprovalRequested("a1", "x"), e.ApprovalRequested("a2", "x"), seq=1)
    await read_until(hub, run, 3)
    assert await command("approve", run) == 1
    assert "waits for: a1, a2" in capsys.readouterr().err


async def test_cancel_and_signal(
    command: Command, hub: Hub, worker: HandWorker, capsys: Capture
) -> None:
    run = await started(hub)
    assert await command("signal", run, "hangup") == 0
    assert await _given(worker, 1) == c.SignalRun(run, c.Signal.HANGUP)
    capsys.readouterr()
    assert await command("cancel", run, "--reason", "why", "--json") == 0
    assert await _given(worker, 2) == c.CancelRun(run, reason="why")
    (line,) = _objects(capsys.readouterr().out)
    assert line["canceling"] is True
    assert await command("cancel", "north/none") == 1
    assert "(not_found)" in capsys.readouterr().err


async def test_drain_a_worker(command: Command, worker: HandWorker, capsys: Capture) -> None:
    assert await command("drain", "pool/w") == 0
    assert await command("drain", "pool/w", "--undo", "--json") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "pool/w: draining"
    assert json.loads(second)["liveness"] == "ready"


async def test_drain_the_gateway(command: Command, drained: trio.Event, capsys: Capture) -> None:
    assert await command("drain") == 0
    assert drained.is_set()
    assert "drains" in capsys.readouterr().out


async def test_undoing_without_a_worker_ends_nothing(
    command: Command, drained: trio.Event, capsys: Capture
) -> None:
    assert await command("drain", "--undo") == 2
    assert "drain --undo needs a WORKER" in capsys.readouterr().err
    assert await command("drain", "pool/w", "--wait") == 2
    assert "drain --wait is for the gateway itself" in capsys.readouterr().err
    assert not drained.is_set()


async def test_drain_the_gateway_as_json(command: Command, capsys: Capture) -> None:
    assert await command("drain", "--json") == 0
    assert _objects(capsys.readouterr().out) == [{"draining": True, "ended": False}]


async def test_no_gateway(command: Command, capsys: Capture) -> None:
    assert await command("workers", "--admin", "unix:/nonexistent/socket") == 3
    said = capsys.readouterr().err
    assert "no gateway answers at unix:/nonexistent/socket: there is no such socket" in said
    assert "gateway serve --config FILE" in said
    await wait_all_tasks_blocked()
