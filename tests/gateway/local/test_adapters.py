"""A pool's adapters begin runs; what they cannot begin ends with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from fleetgate.core.commands import Input, Prompt, RunSpec, ShellCommand
from fleetgate.core.events import OutputProduced, Reason, RunStarted, RunState, SessionOpened
from fleetgate.core.ids import RunId, SessionId
from fleetgate.gateway.local.adapters import ShellOnly, open_adapters
from fleetgate.gateway.local.cli_profile import CliProfile, CompletionMarker
from fleetgate.gateway.local.execution import Ground
from fleetgate.gateway.local.pool import AdapterName, LocalPool
from fleetgate.gateway.local.script import Script, UsageTable
from fleetgate.gateway.local.script_play import Stage

RUN = RunId("gui/run-1")


def fail(error: BaseException) -> None:
    raise error


async def outcome_of(told, tmp_path: Path, spec: RunSpec, *adapters: AdapterName):
    pool = LocalPool("here", adapters, directory=str(tmp_path))
    (tmp_path / "scripts").mkdir()
    async with open_adapters(pool, tmp_path, Stage(), fail) as opened:
        await opened.begin(RUN, spec, told).run()
    return told.outcome


async def test_a_mock_plays(told, tmp_path: Path) -> None:
    await outcome_of(told, tmp_path, RunSpec(Prompt("hello")), "mock")
    assert told.text == "hello"


@pytest.mark.parametrize("adapter", ["cli", "shell"])
async def test_a_command_is_executed_in_the_workspace(told, tmp_path: Path, adapter) -> None:
    (tmp_path / "w").mkdir()
    given: Input = ShellCommand("pwd")
    outcome = await outcome_of(told, tmp_path, RunSpec(given, ("w",)), adapter)
    assert outcome.state is RunState.SUCCEEDED
    assert told.of(OutputProduced)[0].data == f"{tmp_path}/w\n".encode()


async def test_a_prompt_for_a_profile(told, tmp_path: Path) -> None:
    profiles = {"cat": CliProfile("cat")}
    pool = LocalPool("here", ("cli",), directory=str(tmp_path), cli=profiles)
    async with open_adapters(pool, tmp_path, Stage(), fail) as opened:
        await opened.begin(RUN, RunSpec(Prompt("hello")), told).run()
    assert told.text == "hello\n"


@pytest.mark.parametrize("adapter", ["mock", "cli"])
async def test_a_session_exists_once_a_run_of_it_has_started(
    told, tmp_path: Path, adapter: str
) -> None:
    """Also where the adapter keeps nothing of it: who asked for it once may ask for it again."""
    pool = LocalPool("here", ("mock", "cli"), cli={"cat": CliProfile("cat")})
    profile = {"adapter": adapter, "session": "s"}
    async with open_adapters(pool, tmp_path, Stage(), fail) as opened:
        for mode in ("create", "require"):
            told = type(told)()
            native = {"profile": {**profile, "session_mode": mode}}
            await opened.begin(RUN, RunSpec(Prompt("x"), native=native), told).run()
            assert told.outcome.state is RunState.SUCCEEDED
            assert [type(each) for each in told.events[:2]] == [RunStarted, SessionOpened]
            assert told.of(SessionOpened) == [SessionOpened("s")]


@pytest.mark.parametrize("adapter", ["cli", "shell"])
async def test_a_command_opens_its_session_like_any_other_run(
    told, tmp_path: Path, adapter: AdapterName
) -> None:
    spec = RunSpec(ShellCommand("true"), session=SessionId("s"))
    await outcome_of(told, tmp_path, spec, adapter)
    assert [type(each) for each in told.events[:2]] == [RunStarted, SessionOpened]
    assert told.of(SessionOpened) == [SessionOpened("s")]


async def test_what_is_declined_ends_without_a_start(told, tmp_path: Path) -> None:
    spec = RunSpec(Prompt("x"), ("none",))
    outcome = await outcome_of(told, tmp_path, spec, "mock")
    assert outcome.reason is Reason.REFUSED
    assert outcome.message.startswith("invalid_argument: the workspace ")
    assert told.of(RunStarted) == []


async def test_usage_is_the_mock_s(tmp_path: Path) -> None:
    usage = UsageTable({"daily_limit": "1"})
    stage = Stage(Script(usage=usage))
    async with open_adapters(LocalPool("here", ("mock",)), tmp_path, stage, fail) as opened:
        assert opened.usage == usage
    async with open_adapters(LocalPool("here", ("shell",)), tmp_path, stage, fail) as opened:
        assert opened.usage is None


async def test_a_session_that_is_over_has_no_program(told, tmp_path: Path) -> None:
    agent = CliProfile("cat", persistent=True, completion_marker=CompletionMarker("END"))
    pool = LocalPool("here", ("cli",), directory=str(tmp_path), cli={"agent": agent})
    async with open_adapters(pool, tmp_path, Stage(), fail) as opened:
        spec = RunSpec(Prompt("hi\nEND"), session=SessionId("s"))
        await opened.begin(RUN, spec, told).run()
        (started,) = told.of(RunStarted)
        process = os.pidfd_open(started.pid)
        opened.end_session("s")
        await trio.lowlevel.wait_readable(process)
        os.close(process)
    assert told.text == "hi\n"


async def test_a_worker_of_commands_has_no_sessions_to_end(told, tmp_path: Path) -> None:
    only = ShellOnly(Ground(str(tmp_path), tmp_path))
    only.end_session("s")
    await only.begin(RUN, RunSpec(ShellCommand("true")), told).run()
    assert told.outcome.state is RunState.SUCCEEDED
