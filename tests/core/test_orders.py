"""Commands to open runs: numbered, bounded, handed over in order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted
from fleetgate.core.errors import (
    ApprovalNotFound,
    Conflict,
    InvalidArgument,
    ResourceExhausted,
    RunEnded,
    Unavailable,
    UnsupportedInput,
)
from fleetgate.core.events import RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    OneWay,
    describe,
    hub_on,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.journal.api import Journal, JournalConflict, JournalFailing
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.limits import Limits
from fleetgate.core.times import SECOND

# --- orders


async def test_orders_come_in_order_and_inputs_are_numbered(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await hub.submit(c.SendInput(run, b"a"))
    await hub.submit(c.SignalRun(run, c.Signal.INTERRUPT))
    await hub.submit(c.CloseInput(run))
    await wait_all_tasks_blocked()
    assert worker.port.numbers(run) == [0, 1, 2, 3]
    assert [order.input for order in worker.port.orders] == [0, 1, 0, 2]
    with pytest.raises(InvalidArgument, match="closed"):
        await hub.submit(c.SendInput(run, b"late"))


async def test_a_worker_that_is_told_to_stop_is_not_told_again(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)

    async def cancel(key: str | None = None) -> Accepted:
        answer = await hub.submit(c.CancelRun(run), key=key)
        assert isinstance(answer, Accepted)
        await wait_all_tasks_blocked()
        return answer

    before = [(await cancel(key)).run for key in (None, None, "k")]
    assert [run.canceling for run in before if run] == [False, True, True]
    assert worker.port.numbers(run) == [0, 1]
    worker.settle(run, OrderNumber(1), Unavailable("it cannot stop now"))
    await wait_all_tasks_blocked()
    await cancel("k")  # which was accepted, and is performed no second time
    assert worker.port.numbers(run) == [0, 1]
    await cancel()
    assert worker.port.numbers(run) == [0, 1, 2]


async def test_stdin_of_the_spec_becomes_the_first_inputs(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub, spec=c.RunSpec(c.ShellCommand(argv=("cat",), stdin=b"abc")))
    await wait_all_tasks_blocked()
    commands = [order.command for order in worker.port.orders][1:]
    assert commands == [c.SendInput(run, b"abc"), c.CloseInput(run)]


@pytest.mark.limit("Limits.order_size")
async def test_an_input_that_is_too_large_is_refused(hub: Hub) -> None:
    run = await started(hub)
    with pytest.raises(InvalidArgument, match="in pieces"):
        await hub.submit(c.SendInput(run, bytes(Limits().order_size + 1)))


async def test_long_stdin_is_given_in_pieces_and_endless_stdin_is_refused(
    journal: Journal,
) -> None:
    async with hub_on(journal, Limits(order_size=4, run_input=10)) as hub:
        worker = HandWorker(hub, worker_info(numbered_input=True))
        await worker.join()
        run = await started(hub, spec=c.RunSpec(c.ShellCommand(line="cat", stdin=b"0123456789")))
        await wait_all_tasks_blocked()
        commands = [order.command for order in worker.port.orders][1:]
        pieces = [each.data for each in commands if isinstance(each, c.SendInput)]
        assert pieces == [b"0123", b"4567", b"89"]
        assert commands[-1] == c.CloseInput(run)
        with pytest.raises(InvalidArgument, match="10 bytes, 11 came"):
            await started(hub, "b", c.RunSpec(c.ShellCommand(line="cat", stdin=b"0123456789a")))


@pytest.mark.limit("Limits.run_input")
async def test_I9_so_many_bytes_of_input_wait(journal: Journal) -> None:
    async with hub_on(journal, Limits(run_input=10)) as hub:
        run = await started(hub)
        await hub.submit(c.SendInput(run, b"0123456789"))
        with pytest.raises(ResourceExhausted, match="10 bytes of unconfirmed"):
            await hub.submit(c.SendInput(run, b"x"))


@pytest.mark.limit("Limits.run_orders")
async def test_I9_a_run_takes_so_many_unconfirmed_orders(journal: Journal) -> None:
    async with hub_on(journal, Limits(run_orders=2)) as hub:
        run = await started(hub)
        await hub.submit(c.SendInput(run, b"a"))
        await hub.submit(c.SendInput(run, b"b"))
        with pytest.raises(ResourceExhausted):
            await hub.submit(c.SendInput(run, b"c"))


@pytest.mark.limit("Limits.open_runs")
async def test_I9_so_many_runs_are_open(journal: Journal) -> None:
    async with hub_on(journal, Limits(open_runs=1)) as hub:
        await started(hub, "one")
        with pytest.raises(ResourceExhausted):
            await started(hub, "two")


async def test_a_refused_order_is_told(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    await hub.submit(c.ResizeTerminal(run, 24, 80))
    worker.settle(run, OrderNumber(1), InvalidArgument("no terminal here"))
    events = await read_until(hub, run, 2)
    assert events[-1].event == e.Diagnosed("no terminal here", "invalid_argument")
    worker.settle(run, OrderNumber(1))


async def test_approvals_are_resolved_once(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.ApprovalRequested("a", "Bash"))
    await read_until(hub, run, 2)
    assert (await describe(hub, run)).state is RunState.WAITING
    with pytest.raises(ApprovalNotFound, match="open approvals: a"):
        await hub.submit(c.ResolveApproval(run, "b", e.Decision.DENY))
    await hub.submit(c.ResolveApproval(run, "a", e.Decision.ALLOW_ONCE))
    assert worker.port.numbers(run) == [0, 1]
    assert (await describe(hub, run)).state is RunState.RUNNING
    with pytest.raises(ApprovalNotFound):
        await hub.submit(c.ResolveApproval(run, "a", e.Decision.DENY))


# --- scripts


class ToTheDeaf(OneWay):
    def hears_decisions(self, pool: str) -> bool:
        return False


async def test_a_decision_that_no_worker_hears_of_is_refused_and_not_recorded(
    hub: Hub, worker: HandWorker
) -> None:
    hub.router = ToTheDeaf()
    run = await started(hub)
    worker.record(run, e.RunStarted(), e.ApprovalRequested("a", "May I?"))
    await read_until(hub, run, 3)
    with pytest.raises(UnsupportedInput, match="workers of pool cannot be told of a decision"):
        await hub.submit(c.ResolveApproval(run, "a", e.Decision.ALLOW_ONCE), key="k")
    with pytest.raises(ApprovalNotFound):
        await hub.submit(c.ResolveApproval(run, "b", e.Decision.ALLOW_ONCE))
    assert (await describe(hub, run)).approvals == ("a",)
    worker.record(run, e.ApprovalResolved("a", e.Decision.DENY))
    (own,) = await read_until(hub, run, 4, after=3)
    assert own.event == e.ApprovalResolved("a", e.Decision.DENY)
    assert worker.port.numbers(run) == [0]


async def test_a_run_waits_for_its_script(hub: Hub, worker: HandWorker) -> None:

    data = b"echo hi\n"
    script = c.Script(len(data), hashlib.sha256(data).digest())
    run = await started(hub, spec=c.RunSpec(c.ShellCommand(script=script)))
    await read_until(hub, run, 1)
    assert worker.port.orders == []
    with pytest.raises(InvalidArgument):
        await hub.submit(c.SupplyScript(run, b"other"))
    await hub.submit(c.SupplyScript(run, data))
    await read_until(hub, run, 2)
    first = worker.port.orders[0].command
    assert isinstance(first, c.StartRun)
    assert isinstance(first.spec.input, c.ShellCommand)
    assert first.spec.input.script == attrs.evolve(script, data=data)


async def test_commands_that_are_given_up_leave_no_hole_in_the_numbers(
    autojump_clock: MockClock,
) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
    ):
        worker = HandWorker(hub, worker_info(numbered_input=True))
        await worker.join()
        run = await started(hub)
        await trio.sleep(1)
        store = journal.store

        async def stall(groups: object) -> Mapping[int, JournalConflict]:
            await trio.sleep(10)
            raise JournalFailing("I/O error")

        journal.store = stall  # type: ignore[method-assign]
        async with trio.open_nursery() as nursery:
            for text in (b"a", b"b"):
                nursery.start_soon(refused, hub, c.SendInput(run, text))
        journal.store = store  # type: ignore[method-assign]
        await trio.sleep(60)
        await hub.submit(c.SendInput(run, b"c"))
        inputs = [order for order in worker.port.orders if order.input]
        assert [order.input for order in inputs] == [1]
        assert inputs[0].command == c.SendInput(run, b"c")


async def refused(hub: Hub, command: c.Command) -> None:
    with pytest.raises(Unavailable):
        await hub.submit(command)


# --- keys


async def test_i6_a_script_that_comes_again_under_its_key_is_accepted_again(
    hub: Hub, worker: HandWorker
) -> None:
    data = b"echo hi"
    script = c.Script(len(data), hashlib.sha256(data).digest())
    run = await started(hub, spec=c.RunSpec(c.ShellCommand(script=script)))
    for _ in range(2):
        await hub.submit(c.SupplyScript(run, data), key="upload")
    with pytest.raises(Conflict):
        await hub.submit(c.SupplyScript(run, data), key="another")
    await wait_all_tasks_blocked()
    assert worker.port.numbers(run) == [0]


@pytest.mark.parametrize("restarted", [False, True])
async def test_i6_a_key_is_known_behind_the_runs_end(journal: Journal, restarted: bool) -> None:
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        await hub.submit(c.SendInput(run, b"x"), key="k")
        worker.record(run, DONE)
        await wait_all_tasks_blocked()
        assert run not in hub._ledger.slots
        if not restarted:
            await repeat(hub, run)
    async with hub_on(journal) as hub:
        await repeat(hub, run)


async def repeat(hub: Hub, run: RunId) -> None:
    answer = await hub.submit(c.SendInput(run, b"x"), key="k")
    assert answer == Accepted(await describe(hub, run), await describe(hub, run))
    for key in ("other", None):
        with pytest.raises(RunEnded):
            await hub.submit(c.SendInput(run, b"x"), key=key)


async def test_i6_a_signal_that_ended_a_waiting_run_is_accepted_again_under_its_key(
    hub: Hub,
) -> None:
    run = await started(hub)
    for _ in range(2):
        await hub.submit(c.SignalRun(run, c.Signal.TERMINATE), key="k")
    await wait_all_tasks_blocked()
    assert (await hub.submit(c.SignalRun(run, c.Signal.TERMINATE), key="k")) is not None
    with pytest.raises(RunEnded):
        await hub.submit(c.SignalRun(run, c.Signal.TERMINATE), key="l")


async def test_i6_a_refused_command_leaves_no_key(hub: Hub) -> None:
    run = await started(hub, spec=c.RunSpec(c.Prompt("x")))
    for _ in range(2):
        with pytest.raises(InvalidArgument):
            await hub.submit(c.SendInput(run, b"x"), key="k")
    assert hub._ledger.slots[run].keys == {}


@pytest.mark.limit("Limits.run_keys")
async def test_I9_so_many_keys_are_remembered_here_and_in_the_journal(journal: Journal) -> None:
    async with hub_on(journal, Limits(run_keys=2)) as hub:
        run = await started(hub)
        for key in ("c", "b", "a", "a"):
            await hub.submit(c.SendInput(run, key.encode()), key=key)
        assert list(hub._ledger.slots[run].keys) == ["b", "a"]
        assert (await describe(hub, run)).inputs == 3
        (known,) = await journal.open_runs()
        assert list(known.keys) == ["b", "a"]
    async with hub_on(journal, Limits(run_keys=2)) as hub:
        await hub.submit(c.SendInput(run, b"d"), key="d")
        assert list(hub._ledger.slots[run].keys) == ["a", "d"]
