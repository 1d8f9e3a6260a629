"""An agency client drives an rvbox host, in virtual time on links in memory."""

from __future__ import annotations

import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import RunList
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.hub import Hub
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.core.times import SECOND

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
FAILED = e.RunFinished(Outcome(RunState.FAILED, Reason.EXITED, exit_code=3))
CANCELED = e.RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, signal="SIGTERM"))


def out(text: str, offset: int = 0) -> e.OutputProduced:
    return e.OutputProduced(Stream.STDOUT, text.encode(), offset)


async def test_output_of_a_command_arrives_as_text_and_its_end_as_the_end(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted(pid=7), out("hello "), out("world\n", 6), OK)
    outcome = await bridge.ended(run)
    assert outcome.state is RunState.SUCCEEDED
    assert bridge.texts(run) == "hello world\n"
    bridge.check(run)


async def test_a_command_that_fails_says_how(agency_to_rvbox, autojump_clock) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    bridge.say(await bridge.given(), e.RunStarted(), FAILED)
    outcome = await bridge.ended(run)
    assert (outcome.state, outcome.exit_code) == (RunState.FAILED, 3)
    bridge.check(run)


async def test_input_reaches_the_command_once_and_in_order(agency_to_rvbox, autojump_clock) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted())
    for text in (b"one", b"two", b"three"):
        await bridge.controller.hub.submit(c.SendInput(run, text, newline=True))
    await trio.sleep(1)
    got = [o.command for o in bridge.worker.port.orders if isinstance(o.command, c.SendInput)]
    assert [(each.data, each.newline) for each in got] == [
        (b"one", True),
        (b"two", True),
        (b"three", True),
    ]
    bridge.say(at_host, e.InputAccepted(3), OK)
    await bridge.ended(run)
    bridge.check(run)


async def test_a_cancel_becomes_a_signal_and_comes_back_as_canceled(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted())
    await trio.sleep(1)
    await bridge.controller.hub.submit(c.CancelRun(run))
    await trio.sleep(1)
    signals = [o.command for o in bridge.worker.port.orders if isinstance(o.command, c.SignalRun)]
    assert [each.signal for each in signals] == [c.Signal.TERMINATE]
    bridge.say(at_host, CANCELED)
    assert (await bridge.ended(run)).state is RunState.CANCELED
    bridge.check(run)


async def test_many_runs_at_once_keep_apart(agency_to_rvbox, autojump_clock) -> None:
    bridge = agency_to_rvbox
    runs = {name: await bridge.start(name, prompt=name) for name in map(str, range(12))}
    for name in runs:
        at_host = await bridge.given(name)
        bridge.say(at_host, e.RunStarted(), *(out(f"{name}.", 0) for _ in range(20)), OK)
    for name, run in runs.items():
        await bridge.ended(run)
        assert bridge.texts(run) == f"{name}." * 20
        bridge.check(run)


@pytest.mark.parametrize("where", ["controller", "gateway-north", "gateway-south", "host"])
async def test_fault_20_a_cut_link_loses_and_repeats_nothing(
    agency_to_rvbox, autojump_clock, where: str
) -> None:
    bridge = agency_to_rvbox
    member, entry = {
        "controller": (bridge.controller, "fleet"),
        "gateway-north": (bridge.gateway, "gui"),
        "gateway-south": (bridge.gateway, "hosts"),
        "host": (bridge.host, "server"),
    }[where]
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted())
    written = 0
    for round_ in range(10):
        text = f"{round_}\n"
        bridge.say(at_host, out(text, written))
        written += len(text)
        if round_ % 3 == 0:
            member.cut(entry)
        await trio.sleep(round_ % 4)
    bridge.say(at_host, OK)
    await bridge.ended(run)
    assert bridge.texts(run) == "".join(f"{n}\n" for n in range(10))
    bridge.check(run)


@pytest.mark.parametrize("pause", [0, 0.2, 40])
async def test_a_restarted_gateway_goes_on_where_it_was(
    agency_to_rvbox, autojump_clock, pause: float
) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted(), out("before\n"))
    await trio.sleep(pause)
    await bridge.gateway.stop()
    bridge.say(at_host, out("while it was gone\n", 7))
    await trio.sleep(pause)
    await bridge.nursery.start(bridge.gateway.run)
    bridge.say(at_host, out("after\n", 25), OK)
    await bridge.ended(run)
    assert bridge.texts(run) == "before\nwhile it was gone\nafter\n"
    await bridge.given()
    bridge.check(run)


async def test_fault_11_a_drained_gateway_leaves_its_runs_at_work_and_picks_them_up(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted(), out("before\n"))
    await trio.sleep(2)
    await bridge.gateway.drain()
    ended = [
        reason for seen in bridge.gateway.seen.entries.values() for reason in seen.named("down")
    ]
    assert ended == ["this side stops"] * 2
    await bridge.gateway.stop()
    assert not bridge.worker.port.numbers(at_host)[1:], "nothing was asked of the run"
    bridge.say(at_host, out("meanwhile\n", 7))
    await bridge.nursery.start(bridge.gateway.run)
    bridge.say(at_host, out("after\n", 17), OK)
    await bridge.ended(run)
    assert bridge.texts(run) == "before\nmeanwhile\nafter\n"
    bridge.check(run)


async def test_a_run_started_while_no_host_is_there_waits_for_one(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    await bridge.host.stop()
    run = await bridge.start()
    await trio.sleep(100)
    assert not (await bridge.seen(run)).state.terminal
    await bridge.nursery.start(bridge.host.run)
    await bridge.join()
    bridge.say(await bridge.given(), OK)
    await bridge.ended(run)
    bridge.check(run)


async def test_a_host_says_that_a_command_waits_before_it_has_a_worker(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    await bridge.host.stop()
    await bridge.nursery.start(bridge.host.run)
    run = await bridge.start()
    await trio.sleep(10)
    at_gateway = await the_run_of(bridge.gateway.hub)
    assert (at_gateway.accepted, at_gateway.native_seq) == (True, 1)
    await bridge.controller.hub.submit(c.CancelRun(run))
    assert (await bridge.ended(run)).state is RunState.CANCELED
    bridge.check(run)


async def test_a_queue_expiry_counts_while_no_host_is_there(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    await bridge.host.stop()
    shell = c.ShellCommand(line="true")
    spec = c.RunSpec(shell, native={"rvbox": {"queue_expiry_ms": 20_000}})
    run = RunId("gui/waits")
    await bridge.gateway.hub.submit(c.StartRun(run, spec, c.Origin("gui", "waits")))
    await trio.sleep(19)
    assert not (await the_run_of(bridge.gateway.hub)).state.terminal
    await trio.sleep(2)
    outcome = (await the_run_of(bridge.gateway.hub)).outcome
    assert outcome is not None
    assert outcome.reason is Reason.EXPIRED


async def the_run_of(hub: Hub) -> Run:
    answer = await hub.submit(c.ListRuns())
    assert isinstance(answer, RunList)
    (run,) = answer.runs
    return run


async def test_a_timeout_at_the_host_is_timed_out_at_the_client(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    timed_out = Outcome(RunState.FAILED, Reason.TIMED_OUT, "after 2 s", signal="SIGTERM")
    bridge.say(await bridge.given(), e.RunStarted(), e.RunFinished(timed_out))
    outcome = await bridge.ended(run)
    assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.TIMED_OUT)
    assert outcome.message == "the run timed out: after 2 s"
    bridge.check(run)


async def test_a_character_that_was_cut_in_two_is_whole_at_the_client(
    agency_to_rvbox, autojump_clock
) -> None:
    """Fault 2: bytes inside, decoding only where text is needed."""
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    data = "smörgåsbord – 🍞".encode()
    bridge.say(at_host, e.RunStarted())
    for at in range(len(data)):
        bridge.say(at_host, e.OutputProduced(Stream.STDOUT, data[at : at + 1], at))
    bridge.say(at_host, OK)
    await bridge.ended(run)
    assert bridge.texts(run) == data.decode()
    bridge.check(run)


async def test_a_run_that_takes_a_day_is_not_forgotten(agency_to_rvbox, autojump_clock) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start(timeout=3 * 24 * 3600 * SECOND)
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted())
    await trio.sleep(24 * 3600)
    bridge.say(at_host, out("morning\n"), OK)
    await bridge.ended(run)
    assert bridge.texts(run) == "morning\n"
    bridge.check(run)


async def test_a_full_disk_refuses_new_work_and_loses_nothing_accepted(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted(), out("before\n"))
    await trio.sleep(5)
    bridge.gateway.journal.fail("database or disk is full")
    bridge.say(at_host, out("while it is full\n", 7))
    await trio.sleep(5)
    refused = await bridge.start("r2", prompt="two")
    outcome = await bridge.ended(refused)
    assert outcome.state is RunState.FAILED
    assert "disk is full" in outcome.message
    assert "while it is full" not in bridge.texts(run)
    await trio.sleep(300)
    bridge.gateway.journal.fail(None)
    bridge.say(at_host, out("after\n", 24), OK)
    await bridge.ended(run)
    assert bridge.texts(run) == "before\nwhile it is full\nafter\n"
    bridge.check(run)
    accepted = await bridge.start("r3", prompt="three")
    bridge.say(await bridge.given("three"), OK)
    assert (await bridge.ended(accepted)).state is RunState.SUCCEEDED


async def test_a_run_that_the_gateway_ended_by_itself_is_stopped_and_forgotten(
    agency_to_rvbox, autojump_clock
) -> None:
    bridge = agency_to_rvbox
    run = await bridge.start()
    at_host = await bridge.given()
    bridge.say(at_host, e.RunStarted())
    await trio.sleep(1)
    hub = bridge.gateway.hub
    (slot,) = hub._ledger.slots.values()
    hub._deadlines._give_up(slot)
    assert (await bridge.ended(run)).reason is Reason.TIMED_OUT
    signals = [o.command for o in bridge.worker.port.orders if isinstance(o.command, c.SignalRun)]
    assert [each.signal for each in signals] == [c.Signal.TERMINATE]
    books = [
        driver._connection._desk.books.by_uuid
        for keeper in bridge.gateway._house.keepers
        for driver in keeper.drivers
        if driver.worker is not None
    ]
    assert [len(each) for each in books] == [1]
    bridge.say(at_host, CANCELED)
    await trio.sleep(5)
    assert [len(each) for each in books] == [0]
    assert bridge.host.hub._ledger.slots == {}
    bridge.check(run)
