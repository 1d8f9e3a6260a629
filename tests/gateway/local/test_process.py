import os
import signal
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from fleetgate.core.ids import RunId
from fleetgate.core.json import Json
from fleetgate.gateway.local import process
from fleetgate.gateway.local.launch import MARK, CannotStart, Launch
from fleetgate.gateway.local.process import (
    LONGEST_PATH,
    ProcessGroup,
    boot_id,
    kill_recorded,
    left_in,
    spawn,
    start_time,
)

RUN = RunId("gui/run-1")


def launch(*argv: str, cwd: str = "/", takes_input: bool = True, **env: str) -> Launch:
    environment = {**os.environ, **env}
    return Launch(argv, cwd, environment, takes_input, merge_stderr=False)


@asynccontextmanager
async def running(*argv: str, **options):
    group = await spawn(launch(*argv, **options))
    try:
        yield group
    finally:
        await group.stop()


async def read_line(group: ProcessGroup) -> bytes:
    assert group.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        line += await group.stdout.receive_some()
    return line[:-1]


async def wait_gone(descriptor: int) -> None:
    """Wait until the process of a pidfd has ended."""
    await trio.lowlevel.wait_readable(descriptor)
    os.close(descriptor)


async def test_it_leads_a_group_and_session_of_its_own() -> None:
    async with running("cat") as group:
        assert os.getpgid(group.pid) == os.getsid(group.pid) == group.pid != os.getpgrp()


async def test_exit_code_and_signal() -> None:
    async with running("sh", "-c", "exit 3") as group:
        await group.wait_ended()
        assert await group.reap() == 3
    async with running("sh", "-c", "kill -HUP $$") as group:
        await group.wait_ended()
        assert await group.reap() == -signal.SIGHUP


async def test_an_ended_leader_keeps_its_number_until_it_is_reaped() -> None:
    async with running("true") as group:
        await group.wait_ended()
        assert start_time(group.pid) is not None
        assert group.signal(signal.SIGKILL)
        assert await group.reap() == 0
        assert start_time(group.pid) is None


async def test_no_signal_is_sent_once_it_is_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running("true") as group:
        await group.reap()
        monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("sent to a stranger"))
        assert group.signal(signal.SIGTERM)


async def test_a_signal_reaches_children_too() -> None:
    async with running("sh", "-c", "sleep 1000 & echo $!; wait") as group:
        child = os.pidfd_open(int(await read_line(group)))
        assert group.signal(signal.SIGTERM)
        await wait_gone(child)
        assert await group.reap() == -signal.SIGTERM


async def test_a_group_that_we_may_not_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    async with running("cat") as group:
        with monkeypatch.context() as patched:
            patched.setattr(os, "killpg", refuse)
            assert not group.signal(signal.SIGTERM)


async def test_stop_asks_all_of_them_to_end() -> None:
    group = await spawn(launch("sh", "-c", "sleep 1000 & echo $!; wait"))
    child = os.pidfd_open(int(await read_line(group)))
    await group.stop()
    await wait_gone(child)
    assert start_time(group.pid) is None


async def test_stop_kills_those_that_ignore_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_WITHIN", 0.0)
    group = await spawn(launch("sh", "-c", "trap '' TERM; sleep 1000 & echo $!; wait"))
    child = os.pidfd_open(int(await read_line(group)))
    await group.stop()
    await wait_gone(child)
    assert start_time(group.pid) is None


async def test_stop_finds_children_of_an_ended_leader() -> None:
    group = await spawn(launch("sh", "-c", "sleep 1000 & echo $!"))
    child = os.pidfd_open(int(await read_line(group)))
    await group.wait_ended()
    await group.stop()
    await wait_gone(child)


async def test_stop_is_shielded() -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        group = None
        with trio.CancelScope(shield=True):
            group = await spawn(launch("cat"))
        await group.stop()
    assert start_time(group.pid) is None


async def test_without_input_it_reads_nothing() -> None:
    async with running("cat", takes_input=False) as group:
        assert group.stdin is None
        await group.wait_ended()
        assert await group.reap() == 0


@pytest.mark.parametrize(
    ("argv", "cwd", "why"),
    [
        (("/no/such/secret-tool", "arg"), "/", r"program '/no/such/secret-tool' .*\(ENOENT\)"),
        (("/",), "/", r"\(EACCES\)"),
        (("true",), "/no/such/directory", r"working directory .*\(ENOENT\)"),
        (("true", "x" * 200_000), "/", r"\(E2BIG\)"),
        (("true", "a\0b"), "/", "no program can be given"),
        (("true", "\ud800"), "/", "no program can be given"),
    ],
)
async def test_why_it_cannot_start(argv: tuple[str, ...], cwd: str, why: str) -> None:
    with pytest.raises(CannotStart, match=why):
        await spawn(launch(*argv, cwd=cwd))


async def test_a_file_without_a_format(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"neither shebang nor ELF")
    program.chmod(0o700)
    with pytest.raises(CannotStart, match="ENOEXEC"):
        await spawn(launch(str(program)))


async def test_left_in_takes_what_is_there_and_no_more() -> None:
    reader, writer = os.pipe()
    async with trio.lowlevel.FdStream(reader) as stream, trio.lowlevel.FdStream(writer) as sink:
        assert list(left_in(stream)) == []
        await sink.send_all(b"abc")
        pieces = left_in(stream)
        assert next(pieces) == b"abc"
        await sink.send_all(b"later")
        assert list(pieces) == []


# --- after a crash


def crashed(*argv: str, **env: str) -> subprocess.Popen[bytes]:
    """A group as an earlier process of ours would have left it."""
    return subprocess.Popen(
        argv,
        env={**os.environ, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def note(pid: int, changes: dict[str, Json] | None = None) -> Json:
    return {"pid": pid, "start": start_time(pid), "boot": boot_id()} | (changes or {})


def test_a_recorded_group_is_killed() -> None:
    with crashed("cat") as left:
        assert kill_recorded(RUN, note(left.pid))
        assert left.wait() == -signal.SIGKILL


async def test_what_is_noted_finds_the_group() -> None:
    async with running("cat") as group:
        assert kill_recorded(RUN, group.note())
        assert await group.reap() == -signal.SIGKILL


@pytest.mark.parametrize(
    "changes", [{"start": 1}, {"start": None}, {"boot": "another"}, {"pid": "1"}, {"pid": True}]
)
def test_another_process_is_never_killed(changes: dict[str, Json]) -> None:
    with crashed("cat") as stranger:
        assert not kill_recorded(RUN, note(stranger.pid, changes))
        assert stranger.communicate(b"alive") == (b"alive", None)


def test_a_group_member_is_not_its_leader() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        assert not kill_recorded(RUN, note(stranger.pid))
        assert stranger.communicate(b"alive") == (b"alive", None)


@pytest.mark.parametrize("value", [None, 7, [], {}, {"pid": 5}])
def test_a_note_that_says_nothing(value: Json) -> None:
    assert not kill_recorded(RUN, value)


LEADERLESS = "sleep 1000 & echo $!"


async def test_a_marked_group_without_its_leader_is_killed() -> None:
    with crashed("sh", "-c", LEADERLESS, **{MARK: RUN}) as left:
        assert left.stdout is not None
        member = os.pidfd_open(int(left.stdout.readline()))
        noted = note(left.pid)
        left.wait()
        assert kill_recorded(RUN, noted)
        await wait_gone(member)
        assert not kill_recorded(RUN, noted)


def test_an_unmarked_group_without_its_leader_is_left_alone() -> None:
    with crashed("sh", "-c", LEADERLESS, **{MARK: "gui/other"}) as left:
        assert left.stdout is not None
        member = int(left.stdout.readline())
        noted = note(left.pid)
        left.wait()
        assert not kill_recorded(RUN, noted)
        os.kill(member, signal.SIGKILL)


@pytest.mark.limit("gateway/local/process.LONGEST_PATH")
async def test_so_much_of_a_programs_path_is_repeated() -> None:
    with pytest.raises(CannotStart) as refused:
        await spawn(launch("/" + "x" * 9_000))
    assert "x" * (LONGEST_PATH - 1) + "'" in str(refused.value)
    assert "x" * LONGEST_PATH not in str(refused.value)
