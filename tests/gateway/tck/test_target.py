"""Targets: dialled, waited for, started."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.target import AwaitedTarget, Started, Wants, open_target
from fleetgate.transports.api import AddressError, DialFailed, Options
from fleetgate.transports.memory import memory_link_pair

KIT = kit_of("agency", "daemon")


async def test_a_target_that_listens_is_dialled_and_left(
    folder: Path, autojump_clock: MockClock
) -> None:
    address = f"unix:{folder}/none"
    opened = open_target(KIT, address, KIT.options(None), Wants({}))
    async with opened as target, AsyncExitStack() as stack:
        with pytest.raises(DialFailed):
            await target.link(stack, 1)
        with pytest.raises(OSError, match="No such file"):
            await target.stream(stack)


async def test_a_websocket_where_nobody_listens_is_a_failed_dial() -> None:
    kit = kit_of("rvbox", "server")
    opened = open_target(kit, "ws://127.0.0.1:1/agent", kit.options(kit.given()), Wants({}))
    async with opened as target, AsyncExitStack() as stack:
        with pytest.raises(DialFailed):
            await target.link(stack, 1)


async def test_an_address_that_is_none_is_said_at_once() -> None:
    with pytest.raises(AddressError):
        async with open_target(KIT, "nonsense", Options(), Wants({})):
            raise AssertionError("it was opened")


async def test_a_target_that_dials_is_waited_for_and_once_missed_not_as_long(
    autojump_clock: MockClock,
) -> None:
    target = AwaitedTarget("memory:x", Wants({}))
    for seconds in (45, 2):
        began = trio.current_time()
        with pytest.raises(Unmet, match="dials memory:x"):
            await target.link(AsyncExitStack(), 45)
        assert trio.current_time() - began == seconds


async def test_the_newest_link_is_taken_and_ends_with_its_attempt(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    target = AwaitedTarget("memory:x", Wants({}))
    (old, _), (new, far) = memory_link_pair(), memory_link_pair()
    nursery.start_soon(target.handle, old)
    await trio.testing.wait_all_tasks_blocked()
    nursery.start_soon(target.handle, new)
    await trio.testing.wait_all_tasks_blocked()
    async with AsyncExitStack() as stack:
        assert await target.link(stack, 1) is new
        with pytest.raises(Skipped):
            await target.link(stack, 1, binary=False)
    with pytest.raises(Exception, match="without a close"):
        await far.receive()
    await trio.testing.wait_all_tasks_blocked()
    assert not nursery.child_tasks


async def test_a_look_for_a_link_does_not_shorten_the_next_wait(
    autojump_clock: MockClock,
) -> None:
    target = AwaitedTarget("memory:x", Wants({}))
    async with AsyncExitStack() as stack:
        for arrive, within in ((0, "0 s"), (30, "30 s"), (30, "2 s")):
            with pytest.raises(Unmet, match=f"within {within}"):
                await target.link(stack, arrive)


async def test_a_want_is_a_command_with_its_words_filled_in(folder: Path) -> None:
    script = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
    command = f'{sys.executable} -c "{script}" {folder}/said {{prompt}}'
    assert await Wants({"run": command}).ask("run", {"prompt": "two words; $HOME"})
    assert (folder / "said").read_text() == "two words; $HOME"


@pytest.mark.parametrize("command", [f"{sys.executable} -c raise(SystemExit(3))", "/no/such/file"])
async def test_a_want_whose_command_fails_is_skipped(command: str) -> None:
    with pytest.raises(Skipped):
        await Wants({"run": command}).ask("run", {})


async def test_a_want_may_be_a_line_for_a_target_that_was_started() -> None:
    said: list[str] = []

    async def write(text: str) -> None:
        said.append(text)

    wants = Wants({}, write, {"run": '{"op":"start","run":"{run}"}'})
    assert await wants.ask("run", {"run": "r1"})
    assert said == ['{"op":"start","run":"r1"}\n']
    assert not await wants.ask("cancel", {})


async def test_a_started_target_is_started_again_when_it_has_ended() -> None:
    started = Started([sys.executable, "-c", "input()"])
    assert await started.ensure()
    assert not await started.ensure()
    await started.write("\n")
    with trio.fail_after(20):
        while not await started.ensure():  # noqa: ASYNC110 - it ends by itself, and says so to nobody
            await trio.sleep(0.01)
    await started.stop()
    await started.stop()
    with pytest.raises(Skipped, match="not running"):
        await started.write("x")
