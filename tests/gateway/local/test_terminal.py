"""Real programs on a terminal of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from fleetgate.gateway.local.launch import CannotStart, Launch
from fleetgate.gateway.local.process import ProcessGroup
from fleetgate.gateway.local.terminal import END, LONGEST_LINE, spawn_on_terminal, unfit


def launch(cwd: Path, *argv: str, **environment: str) -> Launch:
    return Launch(argv, str(cwd), {**os.environ, **environment}, True, False)


async def output_of(group: ProcessGroup) -> bytes:
    """All that it writes; a terminal whose last program is gone breaks."""
    data = b""
    try:
        while True:
            assert group.stdout is not None
            data += await group.stdout.receive_some()
    except trio.BrokenResourceError:
        return data


async def test_it_is_a_terminal_and_the_controlling_one(tmp_path: Path) -> None:
    script = "test -t 0 && test -t 1 && test -t 2 && echo yes > /dev/tty; stty size"
    group = await spawn_on_terminal(launch(tmp_path, "sh", "-c", script), gathers_lines=False)
    assert await output_of(group) == b"yes\n24 80\n"
    assert await group.reap() == 0
    await group.stop()


@pytest.mark.parametrize("gathers_lines", [True, False])
async def test_what_is_written_is_read_and_not_echoed(tmp_path: Path, gathers_lines: bool) -> None:
    line = b"x" * (LONGEST_LINE - 1) if gathers_lines else b"y" * 50_000
    script = "read line; echo ${#line}"
    group = await spawn_on_terminal(
        launch(tmp_path, "sh", "-c", script), gathers_lines=gathers_lines
    )
    assert group.stdin is not None
    await group.stdin.send_all(line + b"\n")
    assert await output_of(group) == f"{len(line)}\n".encode()
    await group.reap()
    await group.stop()


async def test_the_input_of_one_that_gathers_lines_has_an_end(tmp_path: Path) -> None:
    group = await spawn_on_terminal(launch(tmp_path, "cat"), gathers_lines=True)
    assert group.stdin is not None
    await group.stdin.send_all(b"one\n" + END)
    assert await output_of(group) == b"one\n"
    await group.reap()
    await group.stop()


async def test_it_is_stopped_with_its_children(tmp_path: Path) -> None:
    group = await spawn_on_terminal(
        launch(tmp_path, "sh", "-c", "sleep 1000 & echo $!; wait"), gathers_lines=False
    )
    assert group.stdout is not None
    child = os.pidfd_open(int(await group.stdout.receive_some()))
    await group.stop()
    await trio.lowlevel.wait_readable(child)
    os.close(child)


@pytest.mark.parametrize("program", ["no-such-program", "./none", "/tmp"])
async def test_a_program_that_is_not_there_is_said_before(tmp_path: Path, program: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(CannotStart, match="cannot be executed"):
        await spawn_on_terminal(launch(tmp_path, program), gathers_lines=True)
    assert set(os.listdir("/proc/self/fd")) <= before  # what is left of others may be collected


async def test_a_program_is_found_in_the_directory_and_on_the_run_s_own_path(
    tmp_path: Path,
) -> None:
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o700)
    for named in (launch(tmp_path, "./mine"), launch(tmp_path, "mine", PATH=str(tmp_path))):
        group = await spawn_on_terminal(named, gathers_lines=True)
        assert await output_of(group) == b"mine\n"
        await group.reap()
        await group.stop()


@pytest.mark.limit("gateway/local/terminal.LONGEST_LINE")
@pytest.mark.parametrize(
    ("prompt", "gathers_lines", "words"),
    [
        (b"a\tb\nc", True, None),
        ("ü\u2028".encode(), True, None),
        (b"x" * (LONGEST_LINE - 1) + b"\n" + b"x" * 10, True, None),
        (b"x" * LONGEST_LINE, True, "a line of the prompt has 4095 bytes or more"),
        (b"x" * LONGEST_LINE, False, None),
        (b"a\x03b", False, "holds control characters"),
        (b"a\x1b[A", False, "holds control characters"),
        (b"a\r", True, "holds control characters"),
        (b"a\x7f", True, "holds control characters"),
    ],
)
def test_prompts_for_a_terminal(prompt: bytes, gathers_lines: bool, words: str | None) -> None:
    said = unfit(prompt, gathers_lines=gathers_lines)
    assert (said is None) if words is None else (said is not None and words in said)
