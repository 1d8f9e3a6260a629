from __future__ import annotations

import os
import pty
import sys
import tty
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import trio

from fleetgate.transports.api import Link, Options
from fleetgate.transports.stdio import StdioLink
from fleetgate.transports.testing import LinkTraits, check_link

OPTIONS = Options(framing="text_lines", close_timeout=0.5)


@asynccontextmanager
async def piped() -> AsyncGenerator[tuple[Link, Link], None]:
    """Two links over two pipes, as between a parent and its child."""
    (read_a, write_a), (read_b, write_b) = os.pipe(), os.pipe()
    near, far = StdioLink(OPTIONS, (read_a, write_b)), StdioLink(OPTIONS, (read_b, write_a))
    # As in a child that has no other copies: the link's end of the pipe is the last one.
    for number in (read_a, write_a, read_b, write_b):
        os.close(number)
    yield near, far
    await near.close(None)
    await far.close(None)


async def test_it_is_a_link() -> None:
    await check_link(piped, LinkTraits())


CHILD = """
import trio
from fleetgate.transports.api import Options
from fleetgate.transports.open import open_listener

async def echo(link):
    async for frame in link:
        await link.send(frame.upper())

async def main():
    async with open_listener("stdio:", Options(framing="text_lines")) as listener:
        assert listener.addresses == ("stdio:",)
        await listener.serve(echo)
        await listener.serve(echo)

trio.run(main)
"""


async def test_a_child_serves_its_standard_streams_and_ends_with_them() -> None:
    done = await trio.run_process(
        [sys.executable, "-c", CHILD], stdin=b"one\ntwo\n", capture_stdout=True
    )
    assert done.stdout == b"ONE\nTWO\n"


async def test_files_work_too(tmp_path: Path) -> None:
    given, made = tmp_path / "in", tmp_path / "out"
    given.write_bytes(b"one\ntwo\n")
    with given.open("rb") as reading, made.open("wb") as writing:
        await trio.run_process([sys.executable, "-c", CHILD], stdin=reading, stdout=writing)
    assert made.read_bytes() == b"ONE\nTWO\n"


async def test_a_terminal_blocks_again_afterwards() -> None:
    """Both descriptors of a terminal are one open file: what is restored must be what was."""
    controller, terminal = pty.openpty()
    tty.setraw(terminal)
    second = os.dup(terminal)
    try:
        link = StdioLink(OPTIONS, (terminal, second))
        assert not os.get_blocking(terminal)
        await link.send(b"prompt")
        assert os.read(controller, 100) == b"prompt\n"
        os.write(controller, b"answer\n")
        assert await link.receive() == b"answer"
        await link.aclose()
        assert os.get_blocking(terminal)
        assert os.get_blocking(second)
    finally:
        for number in (controller, terminal, second):
            os.close(number)


async def test_there_is_one_link_to_dial() -> None:
    script = partial(trio.run_process, [sys.executable, "-c", DIALLING], stdin=b"in\n")
    done = await script(capture_stdout=True)
    assert done.stdout == b"out in\n"


DIALLING = """
import trio
from fleetgate.transports.api import DialFailed, Options
from fleetgate.transports.open import open_dialer

async def main():
    async with open_dialer("stdio:", Options(framing="text_lines")) as dialer:
        link = await dialer.dial()
        try:
            await dialer.dial()
        except DialFailed:
            await link.send(b"out " + await link.receive())
        await link.aclose()

trio.run(main)
"""
