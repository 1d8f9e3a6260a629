import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.commands import CloseInput, Order, SendInput, SignalRun
from fleetgate.core.commands import Signal as S
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.gateway.local import stdin
from fleetgate.gateway.local.stdin import InputQueue

RUN = RunId("gui/run-1")


def order(number: int, data: bytes | None, newline: bool = False) -> Order:
    command = CloseInput(RUN) if data is None else SendInput(RUN, data, newline)
    return Order(RUN, OrderNumber(number), command, number)


async def test_all_that_waits_is_joined() -> None:
    queue = InputQueue()
    orders = (order(1, b"a\xff"), order(2, b"b", newline=True), order(3, b""))
    for each in orders:
        queue.put(each)
    batch = await queue.take()
    assert (batch.data, batch.orders, batch.through) == (b"a\xffb\n", orders, 3)
    assert not batch.closes


async def test_the_end_ends_a_batch() -> None:
    queue = InputQueue()
    queue.put(order(1, b"a"))
    queue.put(order(2, None))
    batch = await queue.take()
    assert (batch.data, batch.through, batch.closes) == (b"a", 2, True)


async def test_it_waits_for_the_first(autojump_clock: trio.abc.Clock) -> None:
    queue = InputQueue()
    with trio.move_on_after(1) as patience:
        await queue.take()
    assert patience.cancelled_caught
    queue.put(order(1, b"kept"))
    assert (await queue.take()).data == b"kept"
    with trio.move_on_after(1) as patience:
        await queue.take()
    assert patience.cancelled_caught


@pytest.mark.limit("gateway/local/stdin.BATCH_SIZE")
@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=20))
def test_batches_are_bounded_and_complete(sizes: list[int]) -> None:
    async def scenario() -> None:
        queue = InputQueue()
        inputs = [bytes([65 + place]) * size for place, size in enumerate(sizes)]
        for number, data in enumerate(inputs, 1):
            queue.put(order(number, data))
        written = b""
        through = 0
        while through < len(inputs):
            batch = await queue.take()
            assert [each.input for each in batch.orders] == list(
                range(through + 1, batch.through + 1)
            )
            assert len(batch.data) < 64 + 40
            through = batch.through
            written += batch.data
        assert written == b"".join(inputs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stdin, "BATCH_SIZE", 64)
        trio.run(scenario)


async def test_the_rest_can_be_taken_back() -> None:
    queue = InputQueue()
    queue.put(order(1, b"a"))
    queue.put(order(2, None))
    assert [each.input for each in queue.rest()] == [1, 2]
    assert queue.rest() == ()


async def test_only_inputs_wait_here() -> None:
    queue = InputQueue()
    queue.put(Order(RUN, OrderNumber(1), SignalRun(RUN, S.KILL)))
    with pytest.raises(TypeError, match="SignalRun"):
        await queue.take()
