"""The thread of a connection that writes."""

import threading
from contextlib import closing

import pytest
import trio

from fleetgate.core.journal.thread import Caller


async def test_calls_are_made_in_one_thread_of_their_own() -> None:
    with closing(Caller("journal")) as caller:
        threads = [await caller.call(threading.current_thread) for _ in range(3)]
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()
    assert threads[0].name == "journal"
    assert not threads[0].is_alive()


async def test_what_a_call_raises_is_raised_here() -> None:
    def fails() -> None:
        raise LookupError("there")

    with closing(Caller("journal")) as caller:
        with pytest.raises(LookupError, match="there"):
            await caller.call(fails)
        assert await caller.call(lambda: 7) == 7


async def test_a_call_that_is_cancelled_is_waited_for() -> None:
    begun, may_end = threading.Event(), threading.Event()
    ended: list[str] = []

    def slow() -> None:
        begun.set()
        may_end.wait()
        ended.append("slow")

    with closing(Caller("journal")) as caller:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(caller.call, slow)
            await trio.to_thread.run_sync(begun.wait)
            nursery.cancel_scope.cancel()
            assert ended == []
            may_end.set()
        assert ended == ["slow"]
