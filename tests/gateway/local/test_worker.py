"""Real commands, through a local worker, against a hub that only remembers."""

import hashlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.answers import Held
from fleetgate.core.commands import (
    CancelRun,
    CloseInput,
    Origin,
    ProbeWorkers,
    ResizeTerminal,
    RunSpec,
    Script,
    SendInput,
    ShellCommand,
    Signal,
    SignalRun,
)
from fleetgate.core.errors import (
    InvalidArgument,
    RunEnded,
    Unavailable,
    UnsupportedInput,
)
from fleetgate.core.events import (
    InputAccepted,
    Outcome,
    OutputProduced,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    Stream,
)
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.roster import SessionKeeper
from fleetgate.core.run import Run
from fleetgate.core.worker import InputKind
from fleetgate.gateway.local import execution
from fleetgate.gateway.local.adapters import ShellOnly
from fleetgate.gateway.local.process import boot_id, start_time
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.testing import SeenLink

RUN = RunId("gui/run-1")
OTHER = RunId("gui/run-2")
SECOND = 1_000_000_000


@asynccontextmanager
async def serving(hub, path: Path, **settings) -> AsyncIterator[LocalWorker]:
    chosen = LocalSettings(state=path / "state", directory=str(path), **settings)
    worker = LocalWorker(WorkerId("local/here"), "local", hub, chosen, SeenLink())
    async with trio.open_nursery() as nursery:
        await nursery.start(worker.serve)
        yield worker
        nursery.cancel_scope.cancel()


def catcher(then: str) -> RunSpec:
    """A program that takes SIGTERM when it is ready for it, says so, and does `then`. A shell's
    trap would do but for the moment between its `echo ready` and its wait."""
    text = f"""
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
print("ready", flush=True)
signal.sigwait({{signal.SIGTERM}})
print("caught", flush=True)
{then}
"""
    argv = (sys.executable, "-S", "-c", text)
    return RunSpec(ShellCommand(argv=argv), interactive=True)


def line(text: str, **spec) -> RunSpec:
    return RunSpec(ShellCommand(line=text), **spec)


def listener(text: str, **spec) -> RunSpec:
    return line(text, interactive=True, **spec)


async def finish(hub, run: RunId = RUN) -> Outcome:
    await hub.until(run, RunFinished)
    return hub.outcome(run)


def kinds(hub, run: RunId = RUN) -> list[str]:
    return [type(event).__name__ for event in hub.events[run]]


# --- what it is


async def test_it_announces_itself(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path, max_running=3):
        assert hub.info.inputs == {InputKind.SHELL}
        assert (hub.info.pool, hub.info.numbered_input, hub.info.enforces_timeout) == (
            "local",
            True,
            True,
        )
        assert "sh" in hub.info.detail["shells"]
        assert hub.free == [3]
    assert hub.withdrawn == [("the local worker stops", True)]


async def test_it_says_how_much_more_it_takes(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path, max_running=2):
        hub.start(OTHER, listener("cat"))
        await hub.until(OTHER, RunStarted)
        hub.start(RUN, line("true"))
        await finish(hub)
        await hub.until_free(2)
        assert hub.free == [2, 1]


async def test_a_run_on_its_way_counts(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path, max_running=2):
        hub.bind(OTHER, line("cat"))
        hub.start(RUN, line("true"))
        await hub.until_free(2)
        assert hub.free == [2, 1]


async def test_a_stopping_worker_asks_for_no_more(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("cat"))
        await hub.until(RUN, RunStarted)
    assert len(hub.free) == 1


async def test_it_answers_questions(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path) as worker:
        worker.ask(1, ProbeWorkers("gui"))
        assert isinstance(hub.responses[0], UnsupportedInput)


# --- the course of a run


async def test_a_command_from_start_to_end(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line("echo out; echo err >&2; exit 3"))
        outcome = await finish(hub)
    assert outcome == Outcome(RunState.FAILED, Reason.EXITED, "exit code 3", exit_code=3)
    assert hub.output(RUN) == b"out\n"
    assert hub.output(RUN, Stream.STDERR) == b"err\n"
    assert kinds(hub)[0] == "RunStarted"


async def test_success(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(ShellCommand(argv=("printf", "%s|", "a b", "$HOME"))))
        assert await finish(hub) == Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0)
    assert hub.output(RUN) == b"a b|$HOME|"


async def test_merged_output_keeps_its_order(hub, tmp_path: Path) -> None:
    given = ShellCommand(line="echo 1; echo 2 >&2; echo 3", merge_stderr=True)
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(given))
        await finish(hub)
    assert hub.output(RUN) == b"1\n2\n3\n"
    assert hub.output(RUN, Stream.STDERR) == b""


async def test_long_output_is_whole(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line("seq 200000"))
        await finish(hub)
    assert hub.output(RUN) == b"".join(b"%d\n" % number for number in range(1, 200_001))


async def test_directory_and_environment(hub, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    given = ShellCommand(line='pwd; echo "$GREETING $FLEETGATE_RUN"', cwd="sub")
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(given, environment={"GREETING": "hi"}))
        await finish(hub)
    assert hub.output(RUN) == f"{tmp_path}/sub\nhi {RUN}\n".encode()


async def test_many_at_once(hub, tmp_path: Path) -> None:
    runs = [RunId(f"gui/{number}") for number in range(20)]
    async with serving(hub, tmp_path, max_running=20):
        for run in runs:
            hub.start(run, listener("read x; echo $x; exit 1"))
        for run in runs:
            await hub.until(run, RunStarted)
        for run in runs:
            hub.give(SendInput(run, run.encode(), newline=True))
        for run in runs:
            assert (await finish(hub, run)).exit_code == 1
            assert hub.output(run) == run.encode() + b"\n"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (ShellCommand(argv=("/no/such/tool",)), "ENOENT"),
        (ShellCommand(line="true", cwd="no/such/directory"), "working directory"),
        (ShellCommand(line="true", shell="none"), "needs a shell"),
    ],
)
async def test_failed_to_start(hub, tmp_path: Path, given: ShellCommand, why: str) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(given))
        outcome = await finish(hub)
        assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.FAILED_TO_START)
        assert why in outcome.message
        assert kinds(hub) == ["RunFinished"]
        hub.start(OTHER, line("echo fine"))
        assert (await finish(hub, OTHER)).exit_code == 0


async def test_a_signal_of_its_own_is_no_cancel(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line("kill -TERM $$"))
        outcome = await finish(hub)
    assert outcome == Outcome(
        RunState.FAILED, Reason.EXITED, "died of SIGTERM", exit_code=None, signal="SIGTERM"
    )


# --- scripts


def script(text: bytes, shell: str = "", *args: str) -> RunSpec:
    digest = hashlib.sha256(text).digest()
    return RunSpec(ShellCommand(script=Script(len(text), digest, args, text), shell=shell))


@pytest.mark.parametrize("shell", ["", "none", "sh"])
async def test_scripts_run_and_are_removed(hub, tmp_path: Path, shell: str) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, script(b'#!/bin/sh\necho "$1"; ls -l "$0"', shell, "a b"))
        assert (await finish(hub)).exit_code == 0
        first, listing = hub.output(RUN).splitlines()
        assert first == b"a b"
        assert listing.startswith(b"-rwx------")
        assert list((tmp_path / "state" / "scripts").iterdir()) == []


async def test_many_scripts_at_once_can_all_be_executed(hub, tmp_path: Path) -> None:
    runs = [RunId(f"gui/{number}") for number in range(20)]
    async with serving(hub, tmp_path, max_running=20):
        for run in runs:
            hub.start(run, script(b"#!/bin/sh\nexit 7\n"))
        for run in runs:
            assert (await finish(hub, run)).exit_code == 7


async def test_scripts_of_an_earlier_process_are_removed(hub, tmp_path: Path) -> None:
    scripts = tmp_path / "state" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "run-left").write_text("x")
    async with serving(hub, tmp_path):
        assert list(scripts.iterdir()) == []


# --- input


async def test_input_is_exact_and_confirmed(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("cat"))
        hub.give(SendInput(RUN, b"\xff\x00"))
        hub.give(SendInput(RUN, b"line", newline=True))
        await hub.until_output(RUN, b"line\n")
        hub.give(SendInput(RUN, b"more"))
        hub.give(CloseInput(RUN))
        assert (await finish(hub)).exit_code == 0
    assert hub.output(RUN) == b"\xff\x00line\nmore"
    taken = [event.through for event in hub.events[RUN] if isinstance(event, InputAccepted)]
    assert taken == sorted(set(taken))
    assert taken[-1] == 4


async def test_input_that_comes_with_the_start(hub, tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(ShellCommand(line="cat", stdin=data)))
        assert (await finish(hub)).exit_code == 0
    assert hub.output(RUN) == data


async def test_empty_input_is_an_end_at_once(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(ShellCommand(line="cat", stdin=b"")))
        assert (await finish(hub)).exit_code == 0
        hub.start(OTHER, line("cat"))
        assert (await finish(hub, OTHER)).exit_code == 0


async def test_nothing_is_accepted_before_the_start(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(ShellCommand(line="cat", stdin=b"x")))
        await finish(hub)
    assert kinds(hub).index("RunStarted") < kinds(hub).index("InputAccepted")


async def test_input_where_there_is_none(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line("echo ready; exec sleep 1000"))
        number = hub.give(SendInput(RUN, b"x"))
        assert isinstance(hub.settled[RUN, number], InvalidArgument)


async def test_input_that_the_command_no_longer_reads(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("exec <&-; echo closed; exec sleep 1000"))
        await hub.until_output(RUN, b"closed")
        hub.give(SendInput(RUN, b"x"))
        assert await hub.until(RUN, InputAccepted) == InputAccepted(1)
        hub.give(SendInput(RUN, b"y"))
        hub.give(CloseInput(RUN))
        taken = [event.through for event in hub.events[RUN] if isinstance(event, InputAccepted)]
        assert taken == [1, 2, 3]
        assert not hub.settled
        assert hub.output(RUN, Stream.STDERR) == b""


async def test_input_that_is_never_read_holds_up_no_end(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, RunSpec(ShellCommand(line="echo done", stdin=bytes(1 << 20))))
        assert (await finish(hub)).exit_code == 0


# --- signals


async def test_cancel_is_terminate(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("echo ready; cat; echo went on"))
        await hub.until_output(RUN, b"ready")
        number = hub.give(CancelRun(RUN))
        outcome = await finish(hub)
    assert (outcome.state, outcome.reason) == (RunState.CANCELED, Reason.CANCELED)
    assert outcome.signal == "SIGTERM"
    assert hub.settled[RUN, number] is None
    assert hub.output(RUN) == b"ready\n"


async def test_a_cancel_kills_what_ignores_it(hub, tmp_path: Path, mock_clock: MockClock) -> None:
    async with serving(hub, tmp_path, cancel_grace=7):
        hub.start(RUN, catcher("sys.stdin.read()"))
        await hub.until_output(RUN, b"ready")
        hub.give(CancelRun(RUN))
        await hub.until_output(RUN, b"caught")
        await wait_all_tasks_blocked()
        mock_clock.jump(6.9)
        await wait_all_tasks_blocked()
        assert "RunFinished" not in kinds(hub)
        mock_clock.jump(0.2)
        outcome = await finish(hub)
    assert (outcome.state, outcome.reason) == (RunState.CANCELED, Reason.CANCELED)
    assert outcome.signal == "SIGKILL"


async def test_a_second_cancel_does_not_cut_the_cleaning_up_short(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, catcher("sys.stdin.read(); print(len(signal.sigpending()), flush=True)"))
        await hub.until_output(RUN, b"ready")
        hub.give(CancelRun(RUN))
        await hub.until_output(RUN, b"caught")
        again = hub.give(CancelRun(RUN))
        hub.give(CloseInput(RUN))
        await finish(hub)
    assert hub.settled[RUN, again] is None
    assert hub.output(RUN).endswith(b"caught\n0\n")


async def test_a_signal_alone_kills_nothing(hub, tmp_path: Path, mock_clock: MockClock) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, catcher("print(sys.stdin.read(), flush=True)"))
        await hub.until_output(RUN, b"ready")
        hub.give(SignalRun(RUN, Signal.TERMINATE))
        await hub.until_output(RUN, b"caught")
        mock_clock.jump(3600)
        await wait_all_tasks_blocked()
        hub.give(SendInput(RUN, b"still here"))
        hub.give(CloseInput(RUN))
        assert (await finish(hub)).exit_code == 0
    assert b"still here" in hub.output(RUN)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Signal.INTERRUPT, "SIGINT"),
        (Signal.TERMINATE, "SIGTERM"),
        (Signal.KILL, "SIGKILL"),
        (Signal.HANGUP, "SIGHUP"),
    ],
)
async def test_died_of_the_signal(hub, tmp_path: Path, kind: Signal, name: str) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("echo ready; exec cat"))
        await hub.until_output(RUN, b"ready")
        hub.give(SignalRun(RUN, kind))
        outcome = await finish(hub)
    assert (outcome.state, outcome.signal) == (RunState.CANCELED, name)


async def test_a_signal_that_the_command_handles(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, catcher("sys.exit(5)"))
        await hub.until_output(RUN, b"ready")
        hub.give(CancelRun(RUN))
        outcome = await finish(hub)
    assert outcome == Outcome(RunState.FAILED, Reason.EXITED, "exit code 5", exit_code=5)
    assert b"caught" in hub.output(RUN)


async def test_a_signal_it_ignores_and_one_it_cannot(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("trap '' HUP; echo ready; exec cat"))
        await hub.until_output(RUN, b"ready")
        hub.give(SignalRun(RUN, Signal.HANGUP))
        hub.give(SendInput(RUN, b"still here"))
        await hub.until_output(RUN, b"still here")
        hub.give(SignalRun(RUN, Signal.KILL))
        assert (await finish(hub)).signal == "SIGKILL"


async def test_a_cancel_that_comes_before_the_start(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line("touch ran"))
        number = hub.give(CancelRun(RUN))
        outcome = await finish(hub)
        assert hub.settled[RUN, number] is None
    assert outcome.state is RunState.CANCELED
    assert (outcome.signal, outcome.exit_code) == (None, None)
    assert kinds(hub) == ["RunFinished"]
    assert not (tmp_path / "ran").exists()


async def test_what_a_command_does_not_take(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("cat"))
        number = hub.give(ResizeTerminal(RUN, 24, 80))
        assert isinstance(hub.settled[RUN, number], UnsupportedInput)


async def test_an_order_for_an_ended_run(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line("true"))
        await finish(hub)
        await hub.until_free(2)
        number = hub.give(SignalRun(RUN, Signal.KILL))
        assert isinstance(hub.settled[RUN, number], RunEnded)


# --- time


async def test_timeout_is_terminate(hub, tmp_path: Path, mock_clock: MockClock) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("echo ready; exec cat", timeout=3600 * SECOND))
        await hub.until_output(RUN, b"ready")
        mock_clock.jump(3600)
        outcome = await finish(hub)
    assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.TIMED_OUT)
    assert outcome.signal == "SIGTERM"


async def test_timeout_kills_what_ignores_it(hub, tmp_path: Path, mock_clock: MockClock) -> None:
    spec = attrs.evolve(catcher("sys.stdin.read()"), timeout=SECOND)
    async with serving(hub, tmp_path):
        hub.start(RUN, spec)
        await hub.until_output(RUN, b"ready")
        mock_clock.jump(1)
        await hub.until_output(RUN, b"caught")
        mock_clock.jump(execution.KILL_AFTER)
        outcome = await finish(hub)
    assert (outcome.reason, outcome.signal) == (Reason.TIMED_OUT, "SIGKILL")


async def test_a_timed_out_command_that_exits_well(
    hub, tmp_path: Path, mock_clock: MockClock
) -> None:
    spec = attrs.evolve(catcher("sys.exit(0)"), timeout=SECOND)
    async with serving(hub, tmp_path):
        hub.start(RUN, spec)
        await hub.until_output(RUN, b"ready")
        mock_clock.jump(1)
        outcome = await finish(hub)
    assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.TIMED_OUT)
    assert outcome.exit_code == 0


HOLDER = "sleep 1000 & echo $!"


async def child_of(hub) -> int:
    """The process that a command has left behind and told the number of."""
    await hub.until_output(RUN, b"\n")
    return int(hub.output(RUN))


async def test_a_child_holds_up_the_end_for_a_while(hub, tmp_path: Path, autojump_clock) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line(HOLDER))
        started = trio.current_time()
        outcome = await finish(hub)
        assert trio.current_time() - started == execution.HELD_OPEN
        left = await child_of(hub)
        assert start_time(left) is not None
        os.kill(left, 9)
    assert outcome.exit_code == 0


async def test_a_timeout_past_the_programs_end_is_none(
    hub, tmp_path: Path, mock_clock: MockClock
) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, line(HOLDER, timeout=3 * SECOND))
        left = await child_of(hub)
        leader = os.pidfd_open((await hub.until(RUN, RunStarted)).pid)
        await trio.lowlevel.wait_readable(leader)
        os.close(leader)
        await wait_all_tasks_blocked()
        mock_clock.jump(execution.HELD_OPEN)
        outcome = await finish(hub)
        os.kill(left, 9)
    assert outcome == Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0)


async def test_whoever_cancels_ends_all_of_it(hub, tmp_path: Path, autojump_clock) -> None:
    text = """sh -c 'trap "" TERM; echo $$; exec sleep 1000' & wait"""
    async with serving(hub, tmp_path):
        hub.start(RUN, line(text))
        child = os.pidfd_open(await child_of(hub))
        hub.give(CancelRun(RUN))
        assert (await finish(hub)).state is RunState.CANCELED
        await trio.lowlevel.wait_readable(child)
        os.close(child)


# --- the journal


async def test_the_process_is_noted_before_anybody_hears_of_it(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("cat"))
        started = await hub.until(RUN, RunStarted)
        run, name, value = hub.notes[0]
        assert (run, name) == (RUN, "local")
        assert value == {
            "pid": started.pid,
            "start": start_time(started.pid),
            "boot": boot_id(),
        }


async def test_while_the_journal_fails_the_command_waits(
    hub, tmp_path: Path, autojump_clock
) -> None:
    hub.journal_error = Unavailable("the journal fails")
    async with serving(hub, tmp_path):
        hub.start(RUN, line("echo kept"))
        await hub.until_notes(3)
        assert RUN not in hub.events
        hub.journal_error = None
        assert (await finish(hub)).exit_code == 0
    assert hub.output(RUN) == b"kept\n"


async def test_without_room_no_output_is_read(hub, tmp_path: Path) -> None:
    hub.room = trio.Event()
    async with serving(hub, tmp_path):
        hub.start(RUN, line("yes"))
        await hub.until(RUN, RunStarted)
        await wait_all_tasks_blocked()
        assert kinds(hub) == ["RunStarted"]
        hub.room.set()
        await hub.until(RUN, OutputProduced)
        hub.give(CancelRun(RUN))
        await finish(hub)


# --- ends


async def test_stopping_ends_the_commands(hub, tmp_path: Path) -> None:
    async with serving(hub, tmp_path):
        hub.start(RUN, listener("cat"))
        pid = (await hub.until(RUN, RunStarted)).pid
    assert start_time(pid) is None
    assert kinds(hub) == ["RunStarted"]
    assert hub.withdrawn == [("the local worker stops", True)]


async def test_a_fenced_worker_says_nothing_more(hub, tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        worker = LocalWorker(
            WorkerId("local/here"),
            "local",
            hub,
            LocalSettings(state=tmp_path / "state"),
            SeenLink(),
        )
        await nursery.start(worker.serve)
        hub.start(RUN, listener("cat"))
        pid = (await hub.until(RUN, RunStarted)).pid
        worker.fenced("a newer one")
    assert start_time(pid) is None
    assert kinds(hub) == ["RunStarted"]
    assert (len(hub.free), hub.withdrawn) == (1, [])


async def test_a_disk_that_does_not_let_go_of_a_session_is_reported(
    hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fail(_: ShellOnly, id: str) -> None:
        asked.append(id)
        raise PermissionError(13, "no")

    monkeypatch.setattr(ShellOnly, "end_session", fail)
    seen = SeenLink()
    settings = LocalSettings(state=tmp_path / "state")
    worker = LocalWorker(WorkerId("local/here"), "local", hub, settings, seen)
    assert isinstance(worker, SessionKeeper)
    worker.end_session("s")
    assert asked == ["s"]
    assert [type(fault) for fault in seen.faults] == [PermissionError]


async def test_a_fault_of_ours_ends_its_run_only(
    hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(hub, tmp_path):
        hub.start(OTHER, listener("cat"))
        await hub.until(OTHER, RunStarted)
        with monkeypatch.context() as patched:
            patched.setattr(execution, "prepare", lambda *_: 1 / 0)
            hub.start(RUN, line("true"))
            outcome = await finish(hub)
        assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.ERROR)
        assert "ZeroDivisionError" in outcome.message
        hub.give(SendInput(OTHER, b"alive"))
        await hub.until_output(OTHER, b"alive")


def held(run: RunId, **changes) -> Held:
    spec = line("cat")
    row = Run(run, spec, Origin("gui", run), created=1, state=RunState.STARTING)
    return Held(attrs.evolve(row, **changes), ())


async def test_runs_of_an_earlier_process_are_lost_and_killed(hub, tmp_path: Path) -> None:
    cat = partial(subprocess.Popen, ["cat"], stdin=subprocess.PIPE, start_new_session=True)
    with cat() as left:
        note = {"pid": left.pid, "start": start_time(left.pid), "boot": boot_id()}
        hub.held = (held(RUN, notes={"local": note}), held(OTHER))
        async with serving(hub, tmp_path):
            for run in (RUN, OTHER):
                assert hub.outcome(run).state is RunState.LOST
        assert left.wait() == -9
