"""An attempt's links, and what it is told."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.peer import Patience, Peer, Skipped, Unmet
from fleetgate.gateway.tck.seen import Seen
from fleetgate.transports.api import DialFailed, Link
from fleetgate.transports.memory import memory_link_pair


class Nobody:
    """A target with memory links, or none."""

    address = "memory:x"

    def __init__(self, *, there: bool = True) -> None:
        self.there = there
        self.far: list[Link] = []

    async def link(self, stack: AsyncExitStack, arrive: float, **changes: Any) -> Link:
        if not self.there:
            raise DialFailed("nobody listens at memory:x")
        near, far = memory_link_pair()
        stack.push_async_callback(near.close, None)
        self.far.append(far)
        return near

    async def stream(self, stack: AsyncExitStack) -> trio.abc.Stream | None:
        if not self.there:
            raise OSError("no such socket")
        return None

    async def want(self, what: str, **details: str) -> bool:
        return False


def attempt_at(target: Nobody) -> Attempt:
    class Ours(Attempt):
        protocol = "agency"

    return Ours(target, None, Patience(), Seen())


async def test_links_end_with_the_attempt(autojump_clock: MockClock) -> None:
    target = Nobody()
    attempt = attempt_at(target)
    await attempt.peer(Peer)
    await attempt.close()
    with pytest.raises(Exception, match="without a close"):
        await target.far[0].receive()


async def test_a_target_that_is_not_there_is_unmet(autojump_clock: MockClock) -> None:
    attempt = attempt_at(Nobody(there=False))
    with pytest.raises(Unmet, match="nobody listens"):
        await attempt.peer(Peer)
    with pytest.raises(Unmet, match="no such socket"):
        await attempt.raw()


async def test_odd_bytes_need_a_byte_stream(autojump_clock: MockClock) -> None:
    with pytest.raises(Skipped, match="no byte stream"):
        await attempt_at(Nobody()).raw()


async def test_what_nobody_can_be_asked_for_is_noted(autojump_clock: MockClock) -> None:
    attempt = attempt_at(Nobody())
    await attempt.want("run", prompt="p")
    assert attempt.notes == ["nothing is given for --on run: somebody must do it by hand"]
    assert attempt.seen.frames[0].text.startswith("wanted of the target: run")


async def test_names_are_new_each_time(autojump_clock: MockClock) -> None:
    attempt = attempt_at(Nobody())
    assert len({attempt.name() for _ in range(100)}) == 100
