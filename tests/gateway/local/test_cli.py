"""Real programs as agents: one a run, or one a session."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.commands import CancelRun, Order, Prompt, RunSpec, ShellCommand
from fleetgate.core.events import (
    Diagnosed,
    Outcome,
    OutputProduced,
    Reason,
    RunStarted,
    RunState,
    SessionOpened,
    TextProduced,
)
from fleetgate.core.ids import OrderNumber, RunId, SessionId
from fleetgate.gateway.local import cli
from fleetgate.gateway.local.choosing import choose
from fleetgate.gateway.local.cli import CliAdapter
from fleetgate.gateway.local.cli_profile import CliProfile, CompletionMarker
from fleetgate.gateway.local.known_sessions import KnownSessions
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.local.sessions import open_sessions
from fleetgate.gateway.local.work import Declined, Task, Work

RUN = RunId("gui/run-1")
DONE = Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0)
KEPT = Outcome(RunState.SUCCEEDED, Reason.EXITED)


def shell(script: str, **members: Any) -> CliProfile:
    """A profile of `sh -c`; what comes behind the script is $0, $1…"""
    return CliProfile("sh", ("-c", script), **members)


REPL = """
echo banner
while read line; do echo "$$ got $line"; echo END; done
"""


def repl(**members: Any) -> CliProfile:
    """A program that answers line by line, with its process id."""
    plain = shell(REPL, persistent=True, completion_marker=CompletionMarker("END"))
    return attrs.evolve(plain, **members)


class Agents:
    """An adapter with one profile, whose runs a test starts."""

    def __init__(self, adapter: CliAdapter, path: Path, make_told: Callable[[], Any]) -> None:
        self._adapter = adapter
        self._pool = LocalPool("here", ("cli",), directory=str(path))
        self._make_told = make_told

    def task(self, prompt: str | RunSpec, session: str = "", **profile: Any) -> tuple[Task, Any]:
        spec = RunSpec(Prompt(prompt)) if isinstance(prompt, str) else prompt
        if session:
            spec = attrs.evolve(spec, session=SessionId(session))
        if profile:
            spec = attrs.evolve(spec, native={"profile": profile})
        told = self._make_told()
        choice = choose(spec, self._pool)
        job = self._adapter.job(choice, spec)
        return Task(Work(RUN, spec, told, choice.session), job, "cli"), told

    def end(self, session: str) -> None:
        self._adapter.end_session(session)

    async def ask(self, prompt: str | RunSpec, session: str = "", **profile: Any) -> Any:
        task, told = self.task(prompt, session, **profile)
        await task.run()
        return told


Open = Callable[..., AbstractAsyncContextManager[Agents]]


@pytest.fixture
def agents(tmp_path: Path, told) -> Open:
    """Opens an adapter with one profile."""

    @asynccontextmanager
    async def open_agents(profile: CliProfile, most: int = 4) -> AsyncIterator[Agents]:
        def fault(error: BaseException) -> None:
            raise error

        async with open_sessions(tmp_path / "p", fault, most, 1000) as sessions:
            known = KnownSessions(tmp_path / "s")
            adapter = CliAdapter({"one": profile}, sessions, known, trio.Lock())
            yield Agents(adapter, tmp_path, type(told))

    return open_agents


def cancel(number: int = 1) -> Order:
    return Order(RUN, OrderNumber(number), CancelRun(RUN))


# --- one process a run


async def test_a_prompt_and_a_newline_on_standard_input(agents: Open) -> None:
    async with agents(shell("cat; echo err >&2")) as opened:
        told = await opened.ask("what?\nnow")
    assert told.text == "what?\nnow\n"
    assert [event.data for event in told.of(OutputProduced)] == [b"err\n"]
    assert told.outcome == DONE
    (started,) = told.of(RunStarted)
    assert told.notes[0]["pid"] == started.pid


async def test_a_prompt_as_the_last_argument_meets_no_shell(agents: Open) -> None:
    profile = CliProfile("printf", ("%s|", "first"), mode="argument")
    async with agents(profile) as opened:
        told = await opened.ask("$(ls) 'q' *\n")
    assert told.text == "first|$(ls) 'q' *\n|"


async def test_in_argument_mode_there_is_nothing_to_read(agents: Open) -> None:
    async with agents(shell("cat; echo end", mode="argument")) as opened:
        assert (await opened.ask("x")).text == "end\n"


async def test_environment_and_directory(agents: Open, tmp_path: Path) -> None:
    script = 'echo "$A|$B|$FLEETGATE_RUN"; pwd; test -n "$PATH"'
    async with agents(shell(script, env=("A=1", "B=x=y"))) as opened:
        told = await opened.ask("")
    assert told.text == f"1|x=y|{RUN}\n{tmp_path}\n"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("exit 3", Outcome(RunState.FAILED, Reason.EXITED, "exit code 3", exit_code=3)),
        (
            "kill -9 $$",
            Outcome(RunState.FAILED, Reason.EXITED, "died of SIGKILL", signal="SIGKILL"),
        ),
    ],
)
async def test_another_end_than_0_is_a_failure(agents: Open, script, outcome) -> None:
    async with agents(shell(script)) as opened:
        assert (await opened.ask("x")).outcome == outcome


async def test_a_program_that_reads_nothing_is_no_failure(agents: Open) -> None:
    async with agents(shell("exec <&-; echo done")) as opened:
        told = await opened.ask("x" * 1_000_000)
    assert (told.text, told.outcome) == ("done\n", DONE)


@pytest.mark.parametrize("terminal", [False, True])
async def test_a_program_that_is_not_there(agents: Open, terminal: bool) -> None:
    async with agents(CliProfile("no-such-program", terminal=terminal)) as opened:
        told = await opened.ask("x")
    assert told.outcome.reason is Reason.FAILED_TO_START
    assert "no-such-program" in told.outcome.message
    assert told.of(RunStarted) == []


async def test_a_cancel_ends_the_program_and_its_children(agents: Open) -> None:
    async with agents(shell("sleep 1000 & echo $!; wait")) as opened:
        task, told = opened.task("x")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task.run)
            await told.until(TextProduced)
            child = os.pidfd_open(int(told.text))
            task.give(cancel())
    await trio.lowlevel.wait_readable(child)
    os.close(child)
    assert told.outcome.state is RunState.CANCELED


async def test_its_timeout_ends_it(agents: Open, mock_clock: MockClock) -> None:
    async with agents(shell("echo on; sleep 1000")) as opened:
        spec = RunSpec(Prompt("x"), timeout=60_000_000_000)
        task, told = opened.task(spec)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task.run)
            await told.until(TextProduced)
            mock_clock.jump(60)
    assert told.outcome.reason is Reason.TIMED_OUT


@pytest.mark.parametrize(
    ("format", "written", "said"),
    [
        ("json", '{"text": "t"}', "t"),
        ("ndjson", '{"delta":"a"}\\n{"content":"b"}\\nplain\\n', "abplain\n"),
        ("stream-json", '{"text":"a"}\\n', "a"),
    ],
)
async def test_formats(agents: Open, format, written: str, said: str) -> None:
    async with agents(shell(f"printf '{written}'", output_format=format)) as opened:
        assert (await opened.ask("x")).text == said


async def test_what_a_program_is_not_told_is_said(agents: Open) -> None:
    async with agents(shell("cat")) as opened:
        told = await opened.ask(RunSpec(Prompt("x", system="be kind")))
    assert [event.code for event in told.of(Diagnosed)] == ["cli_prompt_only"]


async def test_a_command_for_a_profile_is_its_prompt(agents: Open) -> None:
    async with agents(shell("cat")) as opened:
        spec = RunSpec(ShellCommand(argv=("ls", "a b")), labels={"target": "one"})
        assert (await opened.ask(spec)).text == "ls 'a b'\n"


async def test_a_banner_is_discarded(agents: Open, mock_clock: MockClock, bell) -> None:
    profile = shell("echo banner; echo > bell; cat", startup_idle_timeout_ms=500)
    async with agents(profile) as opened:
        task, told = opened.task("hi")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task.run)
            await bell.rung()
            while not told.text:  # what stands in the pipe is read before all are blocked
                await wait_all_tasks_blocked()
                mock_clock.jump(1)
    assert told.text == "hi\n"


@pytest.mark.parametrize(
    "profile",
    [
        shell("echo early; echo > bell; cat"),
        shell("echo early; echo > bell; printf %s", mode="argument"),
        shell("echo early; echo > bell; cat", terminal=True),
        repl(args=("-c", "echo early; echo > bell; cat"), completion_marker=CompletionMarker("hi")),
    ],
    ids=["input", "argument", "terminal", "persistent"],
)
async def test_without_a_banner_all_that_is_written_is_the_answer(
    agents: Open, monkeypatch: pytest.MonkeyPatch, told, bell, profile: CliProfile
) -> None:
    async def slow_disk(self: Any, run: RunId, note: Any) -> None:
        """The program has written long before the run may be said to have started."""
        await bell.rung()

    monkeypatch.setattr(type(told), "annotate", slow_disk)
    async with agents(profile) as opened:
        told = await opened.ask("hi")
    assert isinstance(told.events[0], RunStarted)
    assert told.text.startswith("early\n")


async def test_a_program_that_never_falls_silent_has_no_banner(
    agents: Open, mock_clock: MockClock
) -> None:
    async with agents(shell("yes", startup_idle_timeout_ms=500)) as opened:
        task, told = opened.task("hi")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task.run)
            await told.until(RunStarted)
            mock_clock.jump(cli.STARTUP_WITHIN)
    assert told.outcome.message.startswith("startup_timeout: ")


# --- on a terminal


async def test_a_prompt_on_a_terminal_is_not_echoed_and_ends(agents: Open) -> None:
    async with agents(shell("test -t 0 && cat", terminal=True)) as opened:
        told = await opened.ask("one\ntwo")
    assert (told.text, told.outcome) == ("one\ntwo\n", DONE)


async def test_a_persistent_program_on_a_terminal(agents: Open) -> None:
    async with agents(repl(terminal=True)) as opened:
        first = await opened.ask("a", "s")
        second = await opened.ask("x" * 10_000, "s")
    assert first.text.endswith("got a\n")
    assert second.text.endswith("got " + "x" * 10_000 + "\n")
    assert second.text.split()[0] == first.text.split()[1]


async def test_control_characters_are_declined(agents: Open) -> None:
    async with agents(repl(terminal=True)) as opened:
        with pytest.raises(Declined, match="invalid_argument: the prompt holds control"):
            opened.task("a\x03")


# --- one process a session


async def test_a_session_has_one_process_and_another_has_its_own(agents: Open) -> None:
    async with agents(repl()) as opened:
        answers = [await opened.ask(prompt, session) for prompt, session in ("as", "bs", "ct")]
    words = [told.text.split() for told in answers]
    assert words[0][0] == "banner"
    assert words[0][1] == words[1][0] != words[2][1]
    assert words[1][1:] == ["got", "b"]
    assert [told.outcome for told in answers] == [KEPT] * 3
    assert answers[0].of(SessionOpened) == [SessionOpened("s")]


async def test_without_a_session_a_process_is_for_one_run(agents: Open, tmp_path: Path) -> None:
    async with agents(repl()) as opened:
        one, two = await opened.ask("a"), await opened.ask("b")
        assert one.text.split()[1] != two.text.split()[1]
        assert one.outcome == KEPT
        assert os.listdir(tmp_path / "p") == []


async def test_silence_ends_an_answer(agents: Open, mock_clock: MockClock) -> None:
    profile = repl(completion_marker=CompletionMarker(), response_idle_timeout_ms=200)
    async with agents(profile) as opened:
        task, told = opened.task("hi", "s")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task.run)
            while "END" not in told.text:
                await told.until(TextProduced, len(told.of(TextProduced)) + 1)
            await wait_all_tasks_blocked()
            mock_clock.jump(0.2)
    assert told.text.endswith("got hi\nEND\n")
    assert told.outcome == KEPT


async def test_a_cancel_kills_the_process_of_the_session(agents: Open) -> None:
    script = 'read a; echo "$$"; read b; echo END; read c'
    async with agents(repl(args=("-c", script))) as opened:
        task, told = opened.task("a", "s")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task.run)
            await told.until(TextProduced)
            process = os.pidfd_open(int(told.text))
            task.give(cancel())
        await trio.lowlevel.wait_readable(process)
        os.close(process)
        assert told.outcome.state is RunState.CANCELED
        again, later = opened.task("a", "s")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(again.run)
            await later.until(TextProduced)
            again.give(cancel())
        assert later.text != told.text


async def test_the_idle_process_of_a_session_that_was_ended_ends(agents: Open) -> None:
    async with agents(repl()) as opened:
        first, other = await opened.ask("a", "s"), await opened.ask("a", "t")
        process = os.pidfd_open(int(first.text.split()[1]))
        opened.end("s")
        await trio.lowlevel.wait_readable(process)
        os.close(process)
        again, same = await opened.ask("b", "s"), await opened.ask("b", "t")
    assert again.text.split()[0] == "banner"
    assert same.text.split()[0] == other.text.split()[1]


async def test_a_process_that_ends_is_the_end_of_its_answer(agents: Open) -> None:
    async with agents(repl(args=("-c", "read a; echo got $a; exit $a"))) as opened:
        good, bad = await opened.ask("0", "s"), await opened.ask("4", "s")
    assert (good.text, good.outcome) == ("got 0\n", DONE)
    assert bad.outcome.exit_code == 4


async def test_runs_of_a_session_wait_for_each_other(agents: Open) -> None:
    async with agents(repl()) as opened:
        first, told = opened.task("a", "s")
        second, later = opened.task("b", "s")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.run)
            nursery.start_soon(second.run)
    assert {told.text.split()[-1], later.text.split()[-1]} == {"a", "b"}


async def test_another_profile_or_directory_has_another_process(
    agents: Open, tmp_path: Path
) -> None:
    (tmp_path / "w").mkdir()
    async with agents(repl()) as opened:
        one = await opened.ask("a", "s")
        other = await opened.ask(RunSpec(Prompt("b"), ("w",)), "s")
    assert one.text.split()[1] != other.text.split()[1]


async def test_what_a_program_says_between_runs_is_nobody_s(agents: Open, bell) -> None:
    script = 'while read a; do echo "got $a"; echo END; echo stray; echo > bell; done'
    async with agents(repl(args=("-c", script))) as opened:
        first = await opened.ask("a", "s")
        await bell.rung()
        second = await opened.ask("b", "s")
    assert (first.text, second.text) == ("got a\n", "got b\n")


# --- sessions that are resumed


def resuming(**members: Any) -> CliProfile:
    args = ("-c", 'read p; echo "new $0 $p"', "{session_id}")
    again = ("-c", 'read p; echo "again $0 $p"; exit ${p#x}', "{session_id}")
    return CliProfile("sh", args, mode="resume", resume_args=again, **members)


async def test_a_session_that_exists_is_resumed_also_after_a_restart(agents: Open) -> None:
    async with agents(resuming()) as opened:
        assert (await opened.ask("0", "s")).text == "new s 0\n"
        assert (await opened.ask("0", "t")).text == "new t 0\n"
        told = await opened.ask("x3", "s")
        assert told.text == "again s x3\n"
        assert told.outcome.exit_code == 3
    async with agents(resuming()) as opened:
        assert (await opened.ask("0", "s")).text == "again s 0\n"


async def test_a_session_that_was_ended_is_not_resumed(agents: Open) -> None:
    async with agents(resuming()) as opened:
        for session in ("s", "t"):
            await opened.ask("0", session)
        opened.end("s")
        assert (await opened.ask("0", "t")).text == "again t 0\n"
        with pytest.raises(Declined, match="session_not_found"):
            opened.task("0", session="s", session_mode="require")
        assert (await opened.ask("0", "s")).text == "new s 0\n"


async def test_a_run_that_ends_while_it_is_canceled_does_not_bring_its_session_back(
    agents: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = cli.exit_outcome

    def canceled_just_now(code: int) -> Outcome:
        task.give(cancel())
        opened.end("s")
        return ends(code)

    async with agents(resuming()) as opened:
        task, told = opened.task("0", "s")
        with monkeypatch.context() as patched:
            patched.setattr(cli, "exit_outcome", canceled_just_now)
            await task.run()
        assert told.outcome == DONE
        assert (await opened.ask("0", "s")).text == "new s 0\n"


async def test_a_session_whose_first_run_failed_does_not_exist(agents: Open) -> None:
    async with agents(attrs.evolve(resuming(), args=("-c", "exit 1"))) as opened:
        assert (await opened.ask("0", "s")).outcome.exit_code == 1
        assert (await opened.ask("0", "s")).outcome.exit_code == 1


@pytest.mark.parametrize(
    ("session", "profile", "words"),
    [
        ("", {}, "invalid_argument: the profile one needs a session"),
        ("--yes", {}, "invalid_argument: a session id that begins with -"),
        ("s", {"session_mode": "require"}, "session_not_found: "),
    ],
)
async def test_sessions_that_are_declined(agents: Open, session, profile, words) -> None:
    async with agents(resuming()) as opened:
        with pytest.raises(Declined, match=words):
            opened.task("x", session, **profile)


async def test_a_session_that_must_exist_and_does(agents: Open) -> None:
    must = {"session": "s", "session_mode": "require"}
    async with agents(repl()) as opened:
        with pytest.raises(Declined, match="session_not_found"):
            opened.task("a", **must)
        await opened.ask("a", "s")
        assert (await opened.ask("b", **must)).text.endswith("got b\n")


async def test_a_pushed_profile(agents: Open) -> None:
    pushed = {"profiles": {"p": {"command": "cat", "response_idle_timeout_ms": 5.0}}}
    async with agents(repl()) as opened:
        assert (await opened.ask("hi", target="p", config=pushed)).text == "hi\n"
