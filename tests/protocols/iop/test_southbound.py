"""The edge's end of a node's link."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given as given_that
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, Admission, Held
from fleetgate.core.commands import Order
from fleetgate.core.errors import (
    InstanceConflict,
    RunNotFound,
    Unavailable,
    UnsupportedInput,
    WorkerFailed,
)
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import Epoch, OrderNumber, RunId, SessionId, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.worker import AccountReport, InputKind, ProviderReport, WorkerInfo
from fleetgate.protocols.api import (
    AnnounceWorker,
    Close,
    Established,
    Notify,
    Opening,
    Pause,
    Record,
    Report,
    ReportCapacity,
    Respond,
    Resume,
    Settle,
    Submit,
    Wake,
    WithdrawWorker,
    WorkerReady,
)
from fleetgate.protocols.bulk import Bulk, BulkConnection
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.foreign import Asked
from fleetgate.protocols.iop.given import _NO_WORD
from fleetgate.protocols.iop.names import BODY, KIND, SEQ, STREAM
from fleetgate.protocols.iop.settings import EdgeSettings, NodeSettings
from fleetgate.protocols.iop.southbound import EdgeConnection
from fleetgate.protocols.testing import SECOND, START, Playbook, Sent, outcome

TOKENS = {"secret": "n1", "ops": "ops"}
GRACE = 30 * SECOND
CONFIG = {
    "adapters": [
        {"type": "cli", "enabled": True, "cli": {"profiles": {"sh": {"command": "sh"}}}},
        {"type": "vllm", "enabled": False},
    ],
    "runtime": {"concurrency": 2, "workspace_root": "/work"},
}
PAYLOAD = w.NodeConfigPayload(
    (
        w.AdapterConfig("cli", True, cli=w.CLIAdapterConfig({"sh": w.CLIProfileConfig("sh")})),
        w.AdapterConfig("vllm"),
    ),
    w.NodeRuntimeConfig(2, "/work"),
)


def edge(**settings: Any) -> Playbook:
    connection = EdgeConnection(EdgeSettings(**settings))
    return Playbook(connection, decode=codec.decode_edge, encode=codec.encode_node)


OPENING = Opening("nodes", identify=TOKENS.get)


def info(**changes: Any) -> WorkerInfo:
    plain = WorkerInfo(
        WorkerId("nodes/n1"),
        "nodes",
        frozenset(InputKind),
        grace=GRACE,
        enforces_timeout=True,
        asks=True,
        detail={"alias": "n1"},
    )
    return attrs.evolve(plain, **changes)


def opened(play: Playbook) -> None:
    play.opened(OPENING).expect(Wake(START + 10 * SECOND))


def admit(play: Playbook, *held: Held, config: w.NodeConfigPayload | None = None) -> None:
    opened(play)
    play.receive(w.RegisterRequest("secret")).take()
    registered = w.RegisterResponse(
        True, "n1", "n1", config=w.NodeConfigPayload() if config is None else config
    )
    steps = play.reply(None, Admission(Epoch(1), held)).take()
    assert codec.decode_edge(steps[0].frame) == registered
    assert Established() in steps
    assert Resume() in steps


def start(run: str = "gui/r1", spec: c.RunSpec | None = None, number: int = 0) -> Order:
    given = spec or c.RunSpec(c.Prompt("hi"))
    command = c.StartRun(RunId(run), given, c.Origin("gui", "r1"))
    return Order(RunId(run), OrderNumber(number), command)


def request(run: str = "gui/r1", **changes: Any) -> w.RunRequest:
    plain = w.RunRequest(run, "cli", policy={}, input={"prompt": "hi"})
    return attrs.evolve(plain, **changes)


def given(play: Playbook, run: str = "gui/r1", **spec: Any) -> None:
    play.perform(start(run, c.RunSpec(c.Prompt("hi"), **spec))).take()


def finished(state: RunState, reason: Reason, message: str = "", **rest: Any) -> RunFinished:
    return RunFinished(Outcome(state, reason, message, **rest))


# --- registration


def test_a_node_registers_and_is_sent_its_configuration() -> None:
    with edge(config=CONFIG, alias="laptop") as play:
        opened(play)
        accepts = {"adapter": frozenset({"cli"})}
        worker = info(detail={"alias": "laptop"}, accepts=accepts)
        play.receive(w.RegisterRequest("secret")).expect(AnnounceWorker(worker), Pause())
        play.later(1).reply(None, Admission(Epoch(1), ())).expect(
            Sent(w.RegisterResponse(True, "n1", "laptop", "", PAYLOAD)),
            WorkerReady(256),
            Established(),
            Resume(),
            Wake(START + 16 * SECOND),
        )


def test_a_node_may_have_an_alias_and_a_configuration_of_its_own() -> None:
    own = NodeSettings("mine", {"runtime": {"concurrency": 7}})
    with edge(config=CONFIG, nodes={"n1": own}) as play:
        opened(play)
        play.receive(w.RegisterRequest("secret")).take()
        (sent, *_) = play.reply(None, Admission(Epoch(1), ())).take()
        config = w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(7))
        assert codec.decode_edge(sent.frame) == w.RegisterResponse(True, "n1", "mine", "", config)


def test_a_token_that_cannot_be_judged_now_may_come_again() -> None:
    def identify(token: str) -> str | None:
        raise Unavailable("try again")

    with edge() as play:
        play.opened(attrs.evolve(OPENING, identify=identify)).take()
        play.receive(w.RegisterRequest("secret")).expect(
            Sent(w.Error("unavailable", "try again")),
            Close(1001, "unavailable: try again", retry=True, status=14),
        )


@pytest.mark.parametrize("token", ["", "wrong", "ops"])
def test_a_token_that_names_no_node_is_refused_for_good(token: str) -> None:
    with edge(controllers=("ops",)) as play:
        opened(play)
        reason = "the token names no node"
        play.receive(w.RegisterRequest(token)).expect(
            Sent(w.RegisterResponse(False, reason=reason)),
            Close(1008, reason, retry=False, status=16),
        )


def test_where_anybody_may_control_a_token_registers_its_node_all_the_same() -> None:
    with edge(controllers=("*",)) as play:
        opened(play)
        (announce, _) = play.receive(w.RegisterRequest("secret")).take()
        assert announce.worker.id == "nodes/n1"


def violated(text: str) -> tuple[Sent, Close]:
    code = "protocol_violation"
    return Sent(w.Error(code, text)), Close(1008, f"{code}: {text}", status=9)


@pytest.mark.parametrize("first", [w.Heartbeat(1), w.RunEvent("r"), w.Unknown(), w.Error("x", "y")])
def test_anything_else_than_register_first_is_a_violation(first: Any) -> None:
    with edge() as play:
        opened(play)
        text = f"{type(first).__name__} came where the link is new"
        play.receive(first).fails(*violated(text), match=text)


def test_no_register_in_time_is_a_violation() -> None:
    with edge() as play:
        opened(play)
        play.tick().expect(*violated("no register came in time"))


def test_bytes_that_are_no_message_are_a_violation_before_and_after() -> None:
    with edge() as play:
        opened(play)
        error, close = violated("expected NodeMessage in protobuf; 1 bytes came that are none")
        play.receive(b"\xff").fails(error, close)
    with edge() as play:
        admit(play)
        play.receive(b"\xff").fails(error, WithdrawWorker("protocol_violation"), close)


def test_a_second_register_is_a_violation() -> None:
    with edge() as play:
        admit(play)
        text = "RegisterRequest came where the link is live"
        error, close = violated(text)
        play.receive(w.RegisterRequest("secret")).fails(
            error, WithdrawWorker("protocol_violation"), close
        )


@pytest.mark.parametrize("refusal", [Unavailable("later"), InstanceConflict("later")])
def test_a_node_that_the_core_does_not_admit_may_come_again(refusal: Any) -> None:
    with edge() as play:
        opened(play)
        play.receive(w.RegisterRequest("secret")).take()
        play.reply(None, refusal).expect(
            Sent(w.Error("unavailable", "later")), Close(1001, "unavailable: later", status=14)
        )


def test_a_newer_link_replaces_this_one_for_good() -> None:
    with edge() as play:
        admit(play)
        text = "a newer link of this node took over"
        play.fenced().expect(
            Sent(w.Error("replaced", text)), Close(4002, text, retry=False, status=10)
        )


def test_who_may_be_here_no_more_is_told_in_the_last_message() -> None:
    """A stream of bytes has no status, and its node would come again and again."""
    with edge() as play:
        admit(play)
        play.dismissed("the token was revoked").expect(
            Sent(w.Error("unauthenticated", "the token was revoked"))
        )


# --- life


def test_heartbeats_are_sent_after_silence_of_our_own_only() -> None:
    with edge() as play:
        admit(play)
        play.later(10)
        given(play)
        play.tick().expect(Wake(START + 25 * SECOND))
        play.receive(w.Heartbeat(1))
        play.tick().expect(Sent(w.Heartbeat(START + 25 * SECOND)), Wake(START + 40 * SECOND))


def test_anything_that_comes_is_a_sign_of_life() -> None:
    with edge() as play:
        admit(play)
        play.later(44).receive(w.Unknown()).expect(Report("iop_unknown_message", "from the node"))
        while not any(isinstance(step, Close) for step in play.tick().take()):
            pass
        assert play.now == START + (44 + 45) * SECOND


def test_death_is_told_and_its_reason_is_timeout() -> None:
    with edge(heartbeat=100.0) as play:
        admit(play)
        play.later(20).receive(w.Heartbeat(1))
        play.tick().expect(Wake(START + 65 * SECOND))
        text = "the node was silent for too long"
        play.tick().expect(
            Sent(w.Error("unavailable", text)),
            WithdrawWorker("timeout"),
            Close(1001, f"unavailable: {text}", status=14),
        )


def test_an_empty_message_and_an_unknown_event_are_counted_and_passed_over() -> None:
    with edge() as play:
        admit(play)
        play.receive(w.Unknown()).expect(Report("iop_unknown_message", "from the node"))
        play.receive(w.RunEvent("r", "paused")).expect(
            Report("iop_unknown_event_type", "from the node")
        )


# --- runs


def test_a_run_goes_to_the_node_and_its_events_come_back() -> None:
    with edge() as play:
        admit(play)
        play.perform(start()).expect(Sent(request()))
        run = RunId("gui/r1")
        play.receive(w.RunEvent("gui/r1", "start", timestamp=1)).expect(
            Record(run, (e.RunStarted(),), stamp=e.Stamp(1))
        )
        play.receive(w.RunEvent("gui/r1", "delta", "hello")).expect(
            Record(run, (e.TextProduced("hello"),))
        )
        play.receive(w.RunEvent("gui/r1", "complete", message="hello")).expect(
            Record(run, (finished(RunState.SUCCEEDED, Reason.EXITED, text="hello"),)),
            ReportCapacity(256),
        )


def test_a_run_on_an_adapter_that_is_not_enabled_is_refused_here() -> None:
    with edge(config=CONFIG) as play:
        admit(play, config=PAYLOAD)
        spec = c.RunSpec(c.Prompt("hi"), labels={"adapter": "vllm"})
        text = "unsupported_adapter: the adapter vllm is not enabled at node n1"
        play.perform(start(spec=spec)).expect(
            Record(RunId("gui/r1"), (finished(RunState.FAILED, Reason.REFUSED, text),)),
            ReportCapacity(256),
        )


def test_a_request_that_is_too_long_for_a_message_is_refused_here() -> None:
    with edge(max_message=200) as play:
        admit(play)
        (record, _) = play.perform(start(spec=c.RunSpec(c.Prompt("x" * 200)))).take()
        (end,) = record.events
        assert end.outcome.reason is Reason.REFUSED
        assert end.outcome.message.startswith("resource_exhausted: the request has ")


def test_a_run_id_above_the_limit_is_told_by_its_digest() -> None:
    long = "gui/" + "x" * 300
    with edge() as play:
        admit(play)
        (sent,) = play.perform(start(long)).take()
        id = codec.decode_edge(sent.frame).run_id
        assert id.startswith("sha256:")
        play.receive(w.RunEvent(id, "start")).expect(Record(RunId(long), (e.RunStarted(),)))
        cancel = Order(RunId(long), OrderNumber(1), c.CancelRun(RunId(long)))
        play.perform(cancel).expect(
            Sent(w.CancelRequest(id, "cli", "", "", 1)), Settle(RunId(long), OrderNumber(1))
        )


def test_a_node_has_no_more_runs_than_it_may() -> None:
    with edge(open_runs=2) as play:
        opened(play)
        play.receive(w.RegisterRequest("secret")).take()
        assert WorkerReady(2) in play.reply(None, Admission(Epoch(1), ())).take()
        given(play, "a/1")
        given(play, "a/2")
        play.receive(w.RunEvent("a/1", "cancelled")).take()
        play.receive(w.RunEvent("a/2", "error", error="boom")).expect(
            Record(RunId("a/2"), (finished(RunState.FAILED, Reason.ERROR, "boom"),)),
            ReportCapacity(2),
        )


FOREIGN = Report("iop_foreign_event", "of a run that this node does not have")


def asked(play: Playbook, event: w.RunEvent) -> Asked:
    """What the core is asked about an event."""
    run = RunId(event.run_id)
    question = Asked(run, event.type == "complete")
    play.receive(event).expect(Submit(c.DescribeRun(run), question))
    return question


def test_events_of_a_run_that_is_not_the_nodes_are_dropped_and_it_is_told_once() -> None:
    with edge() as play:
        admit(play)
        goes_on = asked(play, w.RunEvent("other/1", "delta", "x"))
        play.receive(w.RunEvent("other/1", "delta", "y"))
        nobody = RunNotFound("no run has the id other/1")
        play.reply(goes_on, nobody).expect(FOREIGN, Sent(w.CancelRequest("other/1")))
        play.receive(w.RunEvent("other/1", "delta", "z"))
        over = asked(play, w.RunEvent("other/2", "complete"))
        play.reply(over, nobody).expect(FOREIGN)
        play.receive(w.RunEvent("", "delta")).expect(FOREIGN)


def past(worker: str, state: RunState) -> Accepted:
    """The core's answer about a run of this worker."""
    origin = c.Origin("gui", "r1")
    run = Run(RunId("gui/r1"), c.RunSpec(c.Prompt("hi")), origin, 0, state=state)
    run = attrs.evolve(run, worker=WorkerId(worker))
    return Accepted(run, run)


def test_a_node_that_is_back_may_tell_again_how_its_runs_have_ended() -> None:
    """The gateway may have been started anew meanwhile: only the journal knows them."""
    with edge() as play:
        admit(play)
        over = asked(play, w.RunEvent("gui/r1", "complete"))
        play.reply(over, past("nodes/n1", RunState.SUCCEEDED))
        play.receive(w.RunEvent("gui/r1", "complete"))


def test_a_node_that_goes_on_with_a_run_that_has_ended_is_told_to_stop() -> None:
    with edge() as play:
        admit(play)
        goes_on = asked(play, w.RunEvent("gui/r1", "start"))
        play.reply(goes_on, past("nodes/n1", RunState.LOST)).expect(Sent(w.CancelRequest("gui/r1")))


@pytest.mark.parametrize(
    ("worker", "state"),
    [("nodes/n2", RunState.SUCCEEDED), ("nodes/n1", RunState.RUNNING)],
)
def test_the_end_of_somebody_elses_run_is_a_foreign_event(worker: str, state: RunState) -> None:
    with edge() as play:
        admit(play)
        over = asked(play, w.RunEvent("gui/r1", "complete"))
        play.reply(over, past(worker, state)).expect(FOREIGN)


def test_events_after_the_end_are_dropped() -> None:
    with edge() as play:
        admit(play)
        given(play)
        play.receive(w.RunEvent("gui/r1", "error", error="x")).take()
        play.receive(w.RunEvent("gui/r1", "delta", "late"))
        play.receive(w.RunEvent("gui/r1", "complete"))


@pytest.mark.limit("protocols/iop/foreign._REMEMBERED")
def test_many_ended_runs_are_not_remembered_for_ever() -> None:
    with edge() as play:
        admit(play)
        for number in range(1100):
            play.receive(w.RunEvent(f"x/{number}", "complete")).take()
        assert len(play.connection._runs.foreign._past) == 1024


def test_what_no_event_of_the_core_holds_is_reported_once() -> None:
    with edge() as play:
        admit(play)
        given(play)
        play.receive(w.RunEvent("gui/r1", "start")).take()
        trimmed = w.RunEvent("gui/r1", "delta", "x", metadata={"own": "y" * 20_000})
        run = RunId("gui/r1")
        text = "an event has a kind that is not known here, or more beside it than is kept"
        play.receive(trimmed).expect(
            Record(run, (e.TextProduced("x"),)), Report("iop_event_trimmed", text, run)
        )
        play.receive(trimmed).expect(Record(run, (e.TextProduced("x"),)))


# --- standard input that goes with the request


FED = c.RunSpec(c.ShellCommand(line="cat", stdin=b"in"))


def fed(play: Playbook) -> None:
    """A command with its input is given out, and the orders that say the same follow it."""
    play.perform(attrs.evolve(start(spec=FED), created=START)).take()
    run = RunId("gui/r1")
    for number, command in ((1, c.SendInput(run, b"in")), (2, c.CloseInput(run))):
        play.perform(Order(run, OrderNumber(number), command, number, START)).expect()


@pytest.mark.parametrize("ours", [True, False])
def test_a_command_s_input_is_settled_once_the_node_shows_if_it_reads_it(ours: bool) -> None:
    run = RunId("gui/r1")
    with edge() as play:
        admit(play)
        fed(play)
        metadata = {"gateway.seq": "1"} if ours else {}
        play.receive(w.RunEvent("gui/r1", "start", metadata=metadata)).take()
        steps = [] if ours else play.receive(w.RunEvent("gui/r1", "delta", "x")).take()
        if not ours:
            errors = [step.error for step in steps if isinstance(step, Settle)]
            assert [type(error) for error in errors] == [UnsupportedInput, UnsupportedInput]
        later = Order(run, OrderNumber(3), c.SendInput(run, b"more"), 3, START + 9)
        (settle,) = play.perform(later).take()
        assert isinstance(settle.error, UnsupportedInput)


def test_a_gateway_s_first_word_settles_the_input_that_it_was_given() -> None:
    run = RunId("gui/r1")
    with edge() as play:
        admit(play)
        fed(play)
        began = w.RunEvent("gui/r1", "start", metadata={"gateway.seq": "1"})
        play.receive(began).expect(
            Settle(run, OrderNumber(1)),
            Settle(run, OrderNumber(2)),
            Record(run, (e.RunStarted(),), 1),
        )


# --- refusals by the node


def test_a_refusal_without_a_start_is_the_end() -> None:
    with edge() as play:
        admit(play)
        given(play)
        text = "unsupported_adapter: no such thing"
        play.receive(w.RunEvent("gui/r1", "error", error=text)).expect(
            Record(RunId("gui/r1"), (finished(RunState.FAILED, Reason.REFUSED, text),)),
            ReportCapacity(256),
        )


def test_an_error_about_a_start_ends_it_and_about_a_run_at_work_does_not() -> None:
    with edge() as play:
        admit(play)
        given(play)
        given(play, "gui/r2")
        play.receive(w.RunEvent("gui/r2", "start")).take()
        play.receive(w.Error("conflict", "gui/r1: taken")).expect(
            Report("iop_node_error", "conflict: gui/r1: taken"),
            Record(
                RunId("gui/r1"), (finished(RunState.FAILED, Reason.REFUSED, "conflict: taken"),)
            ),
            ReportCapacity(255),
        )
        play.receive(w.Error("conflict", "gui/r2: taken")).expect(
            Report("iop_node_error", "conflict: gui/r2: taken")
        )
        play.receive(w.Error("not_found", "gui/r2: unknown")).expect(
            Report("iop_node_error", "not_found: gui/r2: unknown"),
            Record(RunId("gui/r2"), (finished(RunState.LOST, Reason.LOST, "not_found: unknown"),)),
            ReportCapacity(256),
        )
        play.receive(w.Error("internal", "fire")).expect(Report("iop_node_error", "internal: fire"))


# --- orders


@pytest.mark.parametrize(
    "command",
    [c.CancelRun(RunId("gui/r1")), c.SignalRun(RunId("gui/r1"), c.Signal.KILL)],
    ids=["cancel", "signal"],
)
def test_a_cancel_names_the_run_and_its_session(command: Any) -> None:
    with edge() as play:
        admit(play)
        given(play, session=SessionId("s"))
        play.perform(Order(RunId("gui/r1"), OrderNumber(1), command)).expect(
            Sent(w.CancelRequest("gui/r1", "cli", "", "s", 1)), Settle(RunId("gui/r1"), 1)
        )


def test_a_cancel_of_a_run_that_the_node_does_not_have_is_done() -> None:
    with edge() as play:
        admit(play)
        order = Order(RunId("gui/r1"), OrderNumber(1), c.CancelRun(RunId("gui/r1")))
        play.perform(order).expect(Settle(RunId("gui/r1"), OrderNumber(1)))


@pytest.mark.parametrize(
    "command",
    [
        c.SendInput(RunId("gui/r1"), b"x"),
        c.ResolveApproval(RunId("gui/r1"), "a", e.Decision.DENY),
    ],
    ids=["input", "approval"],
)
def test_what_a_node_cannot_be_told_is_refused(command: Any) -> None:
    with edge() as play:
        admit(play)
        given(play)
        (settle,) = play.perform(Order(RunId("gui/r1"), OrderNumber(1), command)).take()
        assert isinstance(settle.error, UnsupportedInput)


def test_a_sessions_end_is_told_as_such() -> None:
    with edge() as play:
        admit(play)
        play.end_session("s").expect(Sent(w.CancelRequest(session_id="s", action=2)))


def test_a_draining_edge_gives_nothing_more_out() -> None:
    with edge() as play:
        admit(play)
        play.drain().expect(ReportCapacity(0))


# --- timeouts


def test_a_run_that_its_node_does_not_end_in_time_is_ended_here() -> None:
    with edge(heartbeat=1000.0, dead_after=1000.0) as play:
        admit(play)
        given(play, timeout=20 * SECOND)
        play.later(1).receive(w.RunEvent("gui/r1", "start")).expect(
            Record(RunId("gui/r1"), (e.RunStarted(),)), Wake(START + 26 * SECOND)
        )
        text = "timeout: the node did not end it in time"
        play.tick().expect(
            Record(RunId("gui/r1"), (finished(RunState.FAILED, Reason.TIMED_OUT, text),)),
            Sent(w.CancelRequest("gui/r1")),
            ReportCapacity(256),
            Wake(START + 1000 * SECOND),
        )
        play.receive(w.RunEvent("gui/r1", "delta", "late"))


def test_a_run_that_ends_in_time_leaves_no_deadline() -> None:
    with edge(heartbeat=1000.0, dead_after=1000.0) as play:
        admit(play)
        given(play, timeout=20 * SECOND)
        play.receive(w.RunEvent("gui/r1", "start")).take()
        play.receive(w.RunEvent("gui/r1", "error", error="timeout: it is over")).expect(
            Record(
                RunId("gui/r1"),
                (finished(RunState.FAILED, Reason.TIMED_OUT, "timeout: it is over"),),
            ),
            ReportCapacity(256),
            Wake(START + 1000 * SECOND),
        )


# --- a node that returns


def held(run: str = "gui/r1", *orders: Order, **changes: Any) -> Held:
    spec = c.RunSpec(c.Prompt("hi"), timeout=60 * SECOND)
    plain = Run(RunId(run), spec, c.Origin("gui", "r1"), START, state=RunState.RUNNING)
    return Held(attrs.evolve(plain, **changes), orders)


def test_a_run_goes_on_once_the_node_says_something_of_it() -> None:
    with edge(heartbeat=1000.0, dead_after=1000.0) as play:
        admit(play, held(native_seq=3, started=START, accepted=True))
        old = w.RunEvent("gui/r1", "delta", "old", metadata={"gateway.seq": "3"})
        new = w.RunEvent("gui/r1", "delta", "new", metadata={"gateway.seq": "4"})
        play.receive(old).expect(Wake(START + 65 * SECOND))
        play.receive(new).expect(Record(RunId("gui/r1"), (e.TextProduced("new"),), 4))


def test_a_number_that_is_missing_is_told_as_a_gap() -> None:
    with edge() as play:
        admit(play, held(native_seq=3, started=START))
        far = w.RunEvent("gui/r1", "delta", "far", metadata={"gateway.seq": "7"})
        gap = e.GapFound(4, 6, "the node did not send them again")
        (record, *_) = play.receive(far).take()
        assert record == Record(RunId("gui/r1"), (gap, e.TextProduced("far")), 7)


def test_a_run_that_the_node_says_nothing_of_is_lost() -> None:
    with edge(heartbeat=1000.0, dead_after=1000.0) as play:
        admit(play, held())
        play.tick().expect(
            Record(RunId("gui/r1"), (finished(RunState.LOST, Reason.LOST, _NO_WORD),)),
            Sent(w.CancelRequest("gui/r1")),
            ReportCapacity(256),
            Wake(START + 1000 * SECOND),
        )


def test_a_run_is_never_sent_again_and_a_cancel_is() -> None:
    order = Order(RunId("gui/r1"), OrderNumber(1), c.CancelRun(RunId("gui/r1")))
    with edge() as play:
        opened(play)
        play.receive(w.RegisterRequest("secret")).take()
        steps = play.reply(None, Admission(Epoch(2), (held("gui/r1", order),))).take()
        sent = [codec.decode_edge(step.frame) for step in steps if hasattr(step, "frame")]
        assert sent[1:] == [w.CancelRequest("gui/r1", "", "", "", 1)]
        assert WorkerReady(255) in steps


# --- questions


USAGE = c.ReadUsage("gui", True, {"adapter": "cli", "target": "claude"}, SessionId("s"))


def test_usage_is_asked_under_an_id_of_our_own() -> None:
    native = {"iop": {"timeout_sec": 3, "metadata": {"a": "b", "n": 1}}}
    with edge() as play:
        admit(play)
        asked = w.NodeCommandRequest("ask 7", 1, "cli", "claude", "s", 3, {"a": "b"})
        play.ask(7, attrs.evolve(USAGE, native=native)).expect(
            Sent(asked), Wake(START + 3 * SECOND)
        )
        status = w.AgentUsageStatus("raw", "10%", metadata={"k": "v"})
        answer = w.NodeCommandResponse("ask 7", 1, "cli", usage_status=status)
        report = AccountReport(
            "cli", True, {"raw_output": "raw", "daily_limit": "10%", "metadata": {"k": "v"}}
        )
        play.receive(answer).expect(Respond(7, (report,)), Wake(START + 15 * SECOND))
        play.receive(answer).expect(Report("iop_unknown_response", "from the node"))


def test_a_node_that_answers_with_an_error_or_not_in_time() -> None:
    with edge() as play:
        admit(play)
        play.ask(1, c.ReadUsage("gui")).expect(
            Sent(w.NodeCommandRequest("ask 1", 1, "cli")),
        )
        (respond,) = play.receive(w.NodeCommandResponse("ask 1", error="no")).take()
        assert isinstance(respond.reports, WorkerFailed)
        assert respond.reports.message == "no"
        play.ask(2, USAGE).take()
        play.tick().take()
        (respond, *_) = play.tick().take()
        assert (respond.question_id, respond.reports.message) == (2, "timeout")


@pytest.mark.limit("protocols/iop/questions._MOST")
def test_too_many_questions_are_refused() -> None:
    with edge() as play:
        admit(play)
        for number in range(1024):
            play.ask(number, USAGE).take()
        (respond,) = play.ask(1024, USAGE).take()
        assert isinstance(respond.reports, Unavailable)


def test_what_a_node_can_run_is_known_without_asking() -> None:
    with edge(config=CONFIG) as play:
        admit(play, config=PAYLOAD)
        play.ask(1, c.ProbeWorkers("gui")).expect(Respond(1, (ProviderReport("cli", True),)))
    with edge(adapter="mock") as play:
        admit(play)
        play.ask(1, c.ProbeWorkers("gui")).expect(Respond(1, (ProviderReport("mock", True),)))


# --- what a node tells


def test_a_node_event_is_passed_on_as_the_nodes_own() -> None:
    with edge(alias="al") as play:
        opened(play)
        play.receive(w.RegisterRequest("secret")).take()
        play.reply(None, Admission(Epoch(1), ())).take()
        forged = w.EdgeNodeEvent("e", "node.config_applied", "edge", "n2", "other", "why")
        play.receive(forged).expect(
            Notify(
                {
                    "event_id": "e",
                    "type": "node.config_applied",
                    "source": "node",
                    "node_id": "n1",
                    "alias": "al",
                    "reason": "why",
                }
            )
        )


def test_the_end_of_the_link_is_the_drivers_to_tell() -> None:
    with edge() as play:
        admit(play)
        given(play)
        play.closed()


# --- the short way of texts and output

RUNS = ("gui/r1", "gui/r2", "stranger")
tables = st.one_of(
    st.just({}),
    st.just({}),
    st.fixed_dictionaries({}, optional={STREAM: st.sampled_from(["stdout", "stderr", "", "odd"])}),
    st.fixed_dictionaries(
        {STREAM: st.sampled_from(["stdout", "odd"])},
        optional={BODY: st.sampled_from(['{"offset":7}', '{"data_base64":"/w=="}', "{", ""])},
    ),
    st.dictionaries(st.sampled_from([KIND, BODY, "own"]), st.sampled_from(["", "state", "x"])),
)
deltas = st.builds(
    w.RunEvent,
    run_id=st.sampled_from([RUNS[0], *RUNS]),
    type=st.just("delta"),
    delta=st.sampled_from(["text", "", "ä€", "x" * 70_000]),
    metadata=tables,
    timestamp=st.integers(-1, 3),
    session_id=st.sampled_from(["", "", "", "s"]),
)
odd = st.one_of(
    st.builds(
        w.RunEvent,
        run_id=st.sampled_from(RUNS),
        type=st.sampled_from(["start", "delta", "complete", "other"]),
        delta=st.sampled_from(["", "text"]),
        message=st.sampled_from(["", "said"]),
        error=st.sampled_from(["", "bad"]),
        usage=st.sampled_from([None, None, w.Usage(), w.Usage(1, 2)]),
    ),
    st.sampled_from([w.Heartbeat(1), w.Unknown(), w.RegisterRequest("again")]),
)
numbers = st.sampled_from(["next", "next", "next", None, None, "0", "1", "9", "x"])


@given_that(
    st.lists(st.tuples(deltas | deltas | deltas | odd, numbers), max_size=12),
    st.booleans(),
    st.sampled_from(["", "s"]),
)
def test_what_a_node_says_comes_to_the_same_by_the_short_way_as_by_the_long_one(
    script: list[tuple[Any, str | None]], feeds: bool, session: str
) -> None:
    frames: list[bytes] = []
    seq = {RUNS[0]: 1, RUNS[1]: 0, RUNS[2]: 0}
    for message, numbered in script:
        if isinstance(message, w.RunEvent) and numbered is not None:
            id = message.run_id
            seq[id] += numbered == "next"
            own = {SEQ: str(seq[id]) if numbered == "next" else numbered}
            message = attrs.evolve(message, metadata={**message.metadata, **own})
        frames.append(codec.encode_node(message))
    frames.append(b"\xff")
    at_work = Run(RunId(RUNS[0]), c.RunSpec(c.Prompt("hi")), c.Origin("gui", "r1"), START)
    at_work = attrs.evolve(at_work, state=RunState.RUNNING, started=START, accepted=True)
    with edge() as short, edge() as long:
        for play in (short, long):
            admit(play, Held(at_work, ()))
            spec = c.RunSpec(c.Prompt("hi"), session=session or None)
            play.perform(attrs.evolve(start(RUNS[1], spec), created=START)).take()
            if feeds:
                feed = c.SendInput(RunId(RUNS[1]), b"hi")
                play.perform(Order(RunId(RUNS[1]), OrderNumber(1), feed, 1, START)).take()
            play.receive(w.RunEvent(RUNS[0], "start", metadata={SEQ: "1"})).take()
            play.receive(w.RunEvent(RUNS[1], "start")).take()
        by_short_way = outcome(short.connection, frames, short.now, bulk=True)
        assert by_short_way == outcome(long.connection, frames, long.now, bulk=False)


def test_texts_and_output_that_come_together_go_the_short_way() -> None:
    with edge() as play:
        admit(play)
        given(play)
        connection = play.connection
        assert isinstance(connection, BulkConnection)
        first = codec.encode_node(w.RunEvent("gui/r1", "delta", "first"))
        assert connection.receive_bulk([first], START) is None, "it is a start, too"
        play.receive(w.RunEvent("gui/r1", "start")).take()
        text = codec.encode_node(w.RunEvent("gui/r1", "delta", "text", timestamp=5))
        table = {STREAM: "stdout", SEQ: "1", BODY: '{"offset":3}'}
        output = codec.encode_node(w.RunEvent("gui/r1", "delta", "out", metadata=table))
        end = codec.encode_node(w.RunEvent("gui/r1", "complete"))
        taken = connection.receive_bulk([text, output, end, text], START)
        heard = [
            ((e.TextProduced("text"),), None, e.Stamp(5)),
            ((e.OutputProduced(e.Stream.STDOUT, b"out", 3),), 1, None),
        ]
        assert taken == Bulk(2, {RunId("gui/r1"): heard})
    with edge() as play:
        opened(play)
        connection = play.connection
        assert isinstance(connection, BulkConnection)
        assert connection.receive_bulk([text], START) is None, "nobody is registered"
