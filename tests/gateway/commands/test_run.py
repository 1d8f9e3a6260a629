"""`gateway run`: as a program of its own, since it listens to signals."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Unavailable
from fleetgate.core.follow import Follower
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import CANCELED, DONE, HandWorker, describe
from fleetgate.core.ids import RunId
from fleetgate.gateway.cli import make_parser
from fleetgate.gateway.commands.asking import UsageError
from fleetgate.gateway.commands.run import MAX_STDIN, body_of, pairs

RUN = RunId("admin/mine")
PROGRAM = (sys.executable, "-m", "fleetgate.gateway.cli", "run")


def _body(*words: str) -> dict[str, Any]:
    return body_of(make_parser().parse_args(["run", *words]))


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--prompt", "hi"], {"prompt": "hi", "provider": "", "model": ""}),
        (
            ["--prompt", "hi", "--provider", "claude", "--model", "m"],
            {"prompt": "hi", "provider": "claude", "model": "m"},
        ),
        (["--line", "ls | wc", "--cwd", "/srv"], {"line": "ls | wc", "cwd": "/srv"}),
        (["--", "ls", "-l", "--", "x"], {"argv": ["ls", "-l", "--", "x"], "cwd": ""}),
        (["ls"], {"argv": ["ls"], "cwd": ""}),
        (["--tool", "t", "--input", '{"a": 1}'], {"tool": "t", "arguments": {"a": 1}}),
        (["--tool", "t"], {"tool": "t", "arguments": None}),
    ],
)
def test_what_is_run(words: Sequence[str], given: dict[str, Any]) -> None:
    assert _body(*words)["input"] == given


def test_how_it_is_run() -> None:
    body = _body(
        *("--prompt", "x", "--name", "mine", "--timeout", "1.5", "--permission", "edit"),
        *("--workspace", "/a", "--workspace", "/b", "--env", "A=b=c", "--label", "k=v"),
        *("--interactive", "--approvals"),
    )
    del body["input"]
    assert body == {
        "run": "mine",
        "timeout_ms": 1500,
        "permission": "edit",
        "workspace": ["/a", "/b"],
        "environment": {"A": "b=c"},
        "labels": {"k": "v"},
        "interactive": True,
        "approvals": True,
    }


@pytest.mark.limit("gateway/commands/run.MAX_STDIN")
def test_standard_input_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    assert _body("--stdin", "--", "cat")["input"]["stdin_base64"] == "/w=="
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("ä".encode())))
    assert _body("--prompt", "-")["input"]["prompt"] == "ä"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bytes(MAX_STDIN + 1))))
    with pytest.raises(UsageError, match="standard input has over"):
        _body("--prompt", "-")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "given: none"),
        (["--prompt", "x", "--line", "y"], "given: --prompt, --line"),
        (["--prompt", "x", "--", "ls"], "given: --prompt, -- COMMAND"),
        (
            ["--tool", "t", "--input", '{"a":1'],
            "got 6 characters that are none: Expecting .* column 7",
        ),
        (["--prompt", "x", "--env", "SECRET"], "--env: expected NAME=VALUE, got a word without =$"),
        (
            ["--prompt", "x", "--label", "=v"],
            "--label: expected NAME=VALUE, got nothing before the =$",
        ),
    ],
)
def test_what_makes_no_sense(words: Sequence[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _body(*words)


def test_pairs_never_repeat_a_value() -> None:
    with pytest.raises(UsageError) as caught:
        pairs(["hunter2"], "--env")
    assert "hunter2" not in str(caught.value)


@asynccontextmanager
async def _program(admin: str, *words: str) -> AsyncIterator[trio.Process]:
    async with trio.open_nursery() as nursery:
        argv = [*PROGRAM, "--admin", admin, "--name", "mine", *words]
        run = partial(
            trio.run_process, argv, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process = await nursery.start(run)
        yield process
        await process.wait()


async def _ended(process: trio.Process) -> tuple[int, bytes, bytes]:
    async def read(stream: Any, into: bytearray) -> None:
        async for data in stream:
            into += data

    out, err = bytearray(), bytearray()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read, process.stdout, out)
        nursery.start_soon(read, process.stderr, err)
    return await process.wait(), bytes(out), bytes(err)


async def _order(worker: HandWorker, number: int) -> c.RunCommand:
    while len(worker.port.orders) <= number:
        await trio.lowlevel.checkpoint()
    return worker.port.orders[number].command


async def test_its_output_is_ours_and_its_end_too(admin: str, worker: HandWorker) -> None:
    async with _program(admin, "--", "ls", "-l") as process:
        start = await _order(worker, 0)
        assert isinstance(start, c.StartRun)
        assert start.spec == c.RunSpec(c.ShellCommand(argv=("ls", "-l")))
        raw = b"\x1b[31m\xff"
        worker.record(RUN, e.OutputProduced(e.Stream.STDOUT, raw), seq=1)
        failed = e.Outcome(e.RunState.FAILED, e.Reason.EXITED, exit_code=7)
        worker.record(RUN, e.RunFinished(failed), seq=2)
        code, out, err = await _ended(process)
    assert (code, out) == (7, raw)
    assert err == b"given to pool/w\nfailed (exited), exit code 7\n"


async def test_json_and_quiet(admin: str, worker: HandWorker) -> None:
    async with _program(admin, "--json", "--prompt", "x") as process:
        await _order(worker, 0)
        worker.record(RUN, DONE, seq=1)
        code, out, err = await _ended(process)
    assert (code, err) == (0, b"")
    types = [json.loads(line)["type"] for line in out.splitlines()]
    assert types == ["RunAssigned", "RunFinished"]


async def test_detached_it_only_says_its_id(admin: str, hub: Hub) -> None:
    async with _program(admin, "--detach", "--prompt", "x") as process:
        assert await _ended(process) == (0, b"admin/mine\n", b"")
    assert (await describe(hub, RUN)).state is e.RunState.QUEUED


async def test_refused_and_unreachable_are_not_mistaken_for_the_runs_own_end(
    admin: str, worker: HandWorker
) -> None:
    async with _program(admin, "--detach", "--prompt", "x") as process:
        assert (await _ended(process))[0] == 0
    async with _program(admin, "--prompt", "another request") as process:
        code, _, err = await _ended(process)
    assert code == 125
    assert b"(conflict)" in err
    async with _program("unix:/nonexistent/socket", "--prompt", "x") as process:
        code, _, err = await _ended(process)
    assert code == 125
    assert b"no gateway answers" in err


async def test_a_run_that_cannot_be_followed_is_not_one_that_was_not_started(
    admin: str, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where its record is damaged: a script that is told 125 starts it once more."""

    async def damaged(follower: Follower) -> object:
        raise Unavailable("its record is damaged", lasting=True)

    monkeypatch.setattr(Follower, "__anext__", damaged)
    async with _program(admin, "--prompt", "x") as process:
        code, _, err = await _ended(process)
    assert code == 126
    assert err == b"gateway: its record is damaged (unavailable)\n"


async def test_an_interrupt_cancels_the_run_and_its_end_is_waited_for(
    admin: str, worker: HandWorker
) -> None:
    async with _program(admin, "--prompt", "x") as process:
        await _order(worker, 0)
        await _said(process, b"given to pool/w\n")
        process.send_signal(signal.SIGINT)
        assert await _order(worker, 1) == c.CancelRun(RUN, reason="interrupted")
        worker.record(RUN, CANCELED, seq=1)
        code, _, err = await _ended(process)
    assert code == 130
    assert err.endswith(b"canceled (canceled)\n")


async def test_a_second_interrupt_leaves_the_run_to_itself(
    admin: str, hub: Hub, worker: HandWorker
) -> None:
    async with _program(admin, "--prompt", "x") as process:
        await _order(worker, 0)
        await _said(process, b"given to pool/w\n")
        process.send_signal(signal.SIGINT)
        await _order(worker, 1)
        process.send_signal(signal.SIGINT)
        code, _, err = await _ended(process)
    assert code == 130
    assert b"gateway tail admin/mine" in err
    assert not (await describe(hub, RUN)).state.terminal


async def _said(process: trio.Process, text: bytes) -> None:
    """Wait until it has said something, so that its signal handler is in place."""
    seen = b""
    assert process.stderr is not None
    while text not in seen:
        seen += bytes(await process.stderr.receive_some())
