"""EdgeControl: one call each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, AccountList
from fleetgate.core.errors import (
    Conflict,
    NoRoute,
    NotAccepted,
    ResourceExhausted,
    RunNotFound,
    SessionNotFound,
    Stopping,
    Unavailable,
    UnsupportedInput,
)
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import Epoch, RunId, Seq, SessionId, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.watchers import Happening, WorkerNotice
from fleetgate.core.worker import AccountReport, InputKind, WorkerInfo
from fleetgate.protocols.api import (
    Close,
    Connection,
    Follow,
    Opening,
    Report,
    SpeakOn,
    Submit,
    Wake,
    WatchWorkers,
)
from fleetgate.protocols.bulk import Bulk, BulkConnection
from fleetgate.protocols.iop import ADAPTER, codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.control import ControlCall, Either, InFlight
from fleetgate.protocols.iop.settings import EdgeSettings, NorthSettings
from fleetgate.protocols.iop.translate import to_spec
from fleetgate.protocols.testing import SECOND, START, Playbook, Sent, number

ANSWERS = {
    "Run": w.RunEvent,
    "Attach": w.RunEvent,
    "Cancel": w.CancelResponse,
    "Command": w.NodeCommandResponse,
    "WatchNodes": w.EdgeNodeEvent,
}
OK = Close(1000, "", status=0)
RUN = RunId("edge/r1")
FIVE = bytes(15) + b"\x05"


def opening(method: str, **changes: Any) -> Opening:
    plain = Opening("edge", path=f"/iop.EdgeControl/{method}", peer="1.2.3.4:5", entropy=FIVE)
    return attrs.evolve(plain, **changes)


def call(method: str, connection: Connection | None = None, **settings: Any) -> Playbook:
    made = connection or ControlCall(NorthSettings(**settings))
    kind: Any = ANSWERS.get(method, w.RunEvent)
    return Playbook(made, decode=lambda f: codec.decode(kind, f), encode=codec.encode)


def opened(play: Playbook, method: str, **changes: Any) -> None:
    play.opened(opening(method, **changes)).expect(Wake(START + 10 * SECOND))


def refused(code: str, text: str, status: int) -> Close:
    return Close(1008, f"{code}: {text}", status=status)


def asked(**changes: Any) -> w.RunRequest:
    return attrs.evolve(w.RunRequest("r1", "cli", "sh", input={"prompt": "hi"}), **changes)


def start_of(request: w.RunRequest, exists: bool = False) -> Submit:
    start = c.StartRun(RUN, to_spec(request, placed=True), c.Origin("edge", "r1"))
    return Submit(c.StartRunIf(start, session_exists=exists, worker_here=True), "run")


def run_of(request: w.RunRequest | None = None, **changes: Any) -> Run:
    spec = to_spec(request or asked(), placed=True)
    return attrs.evolve(Run(RUN, spec, c.Origin("edge", "r1"), START), **changes)


def event(type: str, seq: int = 0, **members: Any) -> w.RunEvent:
    metadata = {**({"gateway.seq": str(seq)} if seq else {}), **members.pop("metadata", {})}
    return w.RunEvent("r1", type, timestamp=START, metadata=metadata, **members)


DONE = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED))
BODY = {"gateway.body": '{"reason":"exited","state":"succeeded"}'}


# --- who may call


@pytest.mark.parametrize("method", [*ANSWERS])
def test_a_call_without_a_token_is_refused_where_there_are_tokens(method: str) -> None:
    text = (
        "a bearer token of a controller is needed in the metadata `authorization`; beside nodes,"
        " the edge's `controllers` say whose tokens those are"
    )
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic good"}):
        with call(method) as play:
            play.opened(
                opening(method, guarded=True, headers=headers, identify={"good": "ops"}.get)
            ).expect(refused("unauthenticated", text, 16))


def test_a_call_whose_token_cannot_be_judged_now_may_come_again() -> None:
    def identify(token: str) -> str | None:
        raise Unavailable("try again")

    with call("Run") as play:
        play.opened(opening("Run", **{**NODE, "identify": identify})).expect(
            refused("unavailable", "try again", 14)
        )


NODE: dict[str, Any] = {
    "guarded": True,
    "headers": {"authorization": "Bearer good"},
    "identify": {"good": "n1"}.get,
}


@pytest.mark.parametrize("controllers", [("n1",), ("ops", "n1"), ("*",)])
def test_a_token_that_is_named_is_enough(controllers: tuple[str, ...]) -> None:
    with call("Run", ControlCall(EdgeSettings(), controllers)) as play:
        opened(play, "Run", **NODE)


@pytest.mark.parametrize("controllers", [(), ("ops",), ("n",)])
def test_a_node_s_token_starts_nothing_unless_it_is_named(controllers: tuple[str, ...]) -> None:
    with call("Run", ControlCall(EdgeSettings(), controllers)) as play:
        (close,) = play.opened(opening("Run", **NODE)).take()
        assert close.status == 16


def test_any_token_is_shown_in_vain_where_it_is_not_known() -> None:
    wrong = {**NODE, "headers": {"authorization": "Bearer wrong"}}
    with call("Run", ControlCall(EdgeSettings(), ("*",))) as play:
        (close,) = play.opened(opening("Run", **wrong)).take()
        assert close.status == 16


def test_a_method_that_there_is_not_is_refused() -> None:
    with call("Stop") as play:
        play.opened(opening("Stop")).expect(refused("unsupported_input", "no such method", 12))


def test_a_call_without_a_request_ends() -> None:
    with call("Run") as play:
        opened(play, "Run")
        play.tick().expect(refused("invalid_argument", "no request came in time", 3))


def test_bytes_that_are_no_request_end_the_call() -> None:
    with call("Run") as play:
        opened(play, "Run")
        text = "expected RunRequest in protobuf; 1 bytes came that are none"
        play.receive(b"\xff").expect(refused("invalid_argument", text, 3))


def test_a_second_request_is_passed_over() -> None:
    with call("Run") as play:
        opened(play, "Run")
        play.receive(asked()).take()
        play.receive(asked()).expect(Report("iop_second_request", "a call has one"))


# --- Run


def test_a_run_is_told_from_its_start_to_its_end() -> None:
    with call("Run") as play:
        opened(play, "Run")
        play.receive(asked()).expect(SpeakOn(), start_of(asked()))
        play.reply("run", Accepted(None, run_of())).expect(Follow(RUN, Seq(0)))
        node = {"node_id": "n7"}
        play.deliver(
            number(
                RUN,
                e.RunAssigned(WorkerId("nodes/n7"), Epoch(1)),
                e.RunStarted(),
                e.SessionOpened("native"),
                e.TextProduced("hi"),
            )
        ).expect(
            Sent(event("start", 2, **node)),
            Sent(
                event(
                    "delta",
                    3,
                    session_id="native",
                    metadata={
                        "gateway.kind": "session",
                        "gateway.body": '{"native_session":"native"}',
                    },
                    **node,
                )
            ),
            Sent(event("delta", 4, delta="hi", session_id="native", **node)),
        )
        play.deliver(number(RUN, DONE, first=5)).expect(
            Sent(event("complete", 5, session_id="native", metadata=BODY, **node)), OK
        )


def test_a_session_is_filled_in_before_the_node_names_it() -> None:
    request = asked(session_id="s")
    with call("Run") as play:
        opened(play, "Run")
        play.receive(request).take()
        play.reply("run", Accepted(None, run_of(request))).take()
        play.deliver(number(RUN, e.RunStarted())).expect(Sent(event("start", 1, session_id="s")))


def test_a_background_run_ends_its_call_with_the_start() -> None:
    request = asked(background=True)
    with call("Run") as play:
        opened(play, "Run")
        play.receive(request).take()
        play.reply("run", Accepted(None, run_of(request))).take()
        play.deliver(number(RUN, e.RunStarted(), e.TextProduced("x"))).expect(
            Sent(event("start", 1, background=True)), OK
        )
        play.closed()


def test_a_run_that_was_refused_has_no_start_and_ends_the_call_well() -> None:
    refusal = Outcome(RunState.FAILED, Reason.REFUSED, "unsupported_adapter: none such")
    with call("Run") as play:
        opened(play, "Run")
        play.receive(asked(background=True)).take()
        play.reply("run", Accepted(None, run_of(asked(background=True)))).take()
        (sent, close) = play.deliver(number(RUN, RunFinished(refusal))).take()
        told = codec.decode(w.RunEvent, sent.frame)
        assert (told.type, told.error) == ("error", "unsupported_adapter: none such")
        assert close == OK


@pytest.mark.parametrize(
    ("refusal", "code", "status"),
    [
        (Unavailable("x"), "unavailable", 14),
        (NoRoute("x"), "unavailable", 14),
        (Stopping("x"), "unavailable", 14),
        (ResourceExhausted("x"), "resource_exhausted", 8),
        (SessionNotFound("x"), "session_not_found", 5),
        (NotAccepted("x"), "unsupported_adapter", 12),
        (Conflict("x"), "conflict", 6),
        (UnsupportedInput("x"), "unsupported_input", 12),
    ],
)
def test_a_refusal_of_the_core_is_a_status(refusal: Any, code: str, status: int) -> None:
    with call("Run") as play:
        opened(play, "Run")
        play.receive(asked()).take()
        play.reply("run", refusal).expect(refused(code, "x", status))


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (asked(run_id=""), "run_id must not be empty"),
        (asked(run_id="r" * 257), "run_id may have 256 bytes"),
        (asked(session_id="ü" * 129), "session_id may have 256 bytes"),
        (asked(timeout_sec=-1), "timeout_sec must be 0 (none) or above"),
        (asked(session_mode=99), "session_mode 99 is not known"),
    ],
)
def test_a_request_that_is_wrong_is_a_status(request_: w.RunRequest, text: str) -> None:
    with call("Run") as play:
        opened(play, "Run")
        play.receive(request_).expect(refused("invalid_argument", text, 3))


def test_a_request_that_would_be_too_long_at_a_node_is_refused() -> None:
    with call("Run", max_message=100) as play:
        opened(play, "Run")
        (close,) = play.receive(asked(target="t" * 80)).take()
        assert close.status == 8


def test_what_a_node_is_sent_has_the_run_s_own_name() -> None:
    long = asked(target="t" * 80)
    size = len(codec.encode_edge(long))
    with call("Run", max_message=size) as play:
        opened(play, "Run")
        (close,) = play.receive(long).take()
        assert close.status == 8


def test_the_session_that_must_exist_and_the_node_are_for_the_core_to_find() -> None:
    request = asked(session_id="s", session_mode=2, metadata={"gateway.node": "n7"})
    with call("Run") as play:
        opened(play, "Run")
        (_, submit) = play.receive(request).take()
        assert submit == start_of(request, exists=True)
        assert submit.command.start.spec.labels["gateway.node"] == "n7"


@pytest.mark.parametrize("configured", [True, False])
def test_a_client_that_goes_away_ends_its_run_only_if_configured(configured: bool) -> None:
    with call("Run", cancel_on_disconnect=configured) as play:
        opened(play, "Run")
        play.receive(asked()).take()
        play.reply("run", Accepted(None, run_of())).take()
        play.closed()
        cancel = Submit(c.CancelRun(RUN, reason="its control client went away"))
        play.expect(*((cancel,) if configured else ()))


@pytest.mark.parametrize("how", ["background", "drained", "over", "attach"])
def test_a_run_outlives_its_call_otherwise(how: str) -> None:
    method = "Attach" if how == "attach" else "Run"
    request: Any = asked(background=how == "background")
    with call(method, cancel_on_disconnect=True) as play:
        opened(play, method)
        play.receive(w.AttachRequest("r1") if how == "attach" else request).take()
        play.reply("run", Accepted(None, run_of())).take()
        if how == "drained":
            play.drain()
        if how == "over":
            play.deliver(number(RUN, DONE)).take()
        play.closed()


def test_an_event_above_the_limit_is_cut() -> None:
    with call("Run", max_message=400) as play:
        opened(play, "Run")
        play.receive(asked()).take()
        play.reply("run", Accepted(None, run_of())).take()
        calls = e.ToolCalled("t", "y" * 600)
        steps = play.deliver(number(RUN, e.RunStarted(), calls)).take()
        assert codec.decode(w.RunEvent, steps[1].frame).metadata.keys() == {
            "gateway.seq",
            "gateway.kind",
        }


# --- Attach


def attached(play: Playbook, after: int, run: Run) -> Any:
    opened(play, "Attach")
    describe = Submit(c.DescribeRun(RUN), "run")
    play.receive(w.AttachRequest("r1", after)).expect(SpeakOn(), describe)
    return play.reply("run", Accepted(run, run))


def test_events_that_were_seen_are_not_sent_again() -> None:
    run = run_of(last_seq=Seq(3), state=RunState.RUNNING, started=START)
    with call("Attach") as play:
        attached(play, 2, run).expect(Follow(RUN, Seq(0)))
        events = (e.RunStarted(), e.TextProduced("a"), e.TextProduced("b"), DONE)
        play.deliver(number(RUN, *events)).expect(
            Sent(event("delta", 3, delta="b")), Sent(event("complete", 4, metadata=BODY)), OK
        )


def test_far_into_a_run_the_telling_begins_there() -> None:
    run = run_of(last_seq=Seq(5000), state=RunState.RUNNING, started=START)
    with call("Attach") as play:
        attached(play, 4000, run).expect(Follow(RUN, Seq(4000)))
        play.deliver(number(RUN, e.TextProduced("x"), first=4001)).expect(
            Sent(event("delta", 4001, delta="x"))
        )


def test_beyond_the_end_an_open_run_waits_and_a_finished_one_ends() -> None:
    done = run_of(last_seq=Seq(4), state=RunState.SUCCEEDED)
    for after in (4, 99, (1 << 64) - 1):
        with call("Attach") as play:
            attached(play, after, done).expect(OK)
    with call("Attach") as play:
        attached(play, 99, run_of(last_seq=Seq(4))).expect(Follow(RUN, Seq(4)))
        play.deliver(number(RUN, e.TextProduced("x"), first=5))
        play.deliver(number(RUN, DONE, first=6)).expect(OK)


def test_an_unknown_run_is_not_found() -> None:
    with call("Attach") as play:
        opened(play, "Attach")
        play.receive(w.AttachRequest("r1")).take()
        play.reply("run", RunNotFound("no run")).expect(refused("not_found", "no run", 5))
    for id, text in (("", "run_id must not be empty"), ("x" * 257, "run_id may have 256 bytes")):
        with call("Attach") as play:
            opened(play, "Attach")
            play.receive(w.AttachRequest(id)).expect(refused("invalid_argument", text, 3))


# --- Cancel


def test_a_cancel_is_answered_and_the_call_ends_well() -> None:
    with call("Cancel") as play:
        opened(play, "Cancel")
        play.receive(w.CancelRequest("r1")).expect(SpeakOn(), Submit(c.CancelRun(RUN), "cancel"))
        play.reply("cancel", Accepted()).expect(Sent(w.CancelResponse(True)), OK)


def test_a_cancel_that_cannot_be_is_answered_all_the_same() -> None:
    with call("Cancel") as play:
        opened(play, "Cancel")
        play.receive(w.CancelRequest(session_id="s", action=2)).expect(
            SpeakOn(), Submit(c.EndSession(SessionId("s")), "cancel")
        )
        play.reply("cancel", SessionNotFound("no s")).expect(
            Sent(w.CancelResponse(error=w.Error("session_not_found", "no s"))), OK
        )
    with call("Cancel") as play:
        opened(play, "Cancel")
        play.receive(w.CancelRequest("r1", action=7)).expect(
            Sent(w.CancelResponse(error=w.Error("invalid_argument", "action 7 is not known"))), OK
        )


# --- Command


def ask(**changes: Any) -> w.NodeCommandRequest:
    return attrs.evolve(w.NodeCommandRequest("q1", 1, "cli"), **changes)


def answer(error: str = "", status: Any = None, type: int = 1) -> Sent:
    return Sent(w.NodeCommandResponse("q1", type, "cli", "", "", status, error))


def test_usage_comes_from_a_node() -> None:
    request = ask(metadata={"gateway.node": "n7"}, timeout_sec=5)
    with call("Command") as play:
        opened(play, "Command")
        (speak, submit, wake) = play.receive(request).take()
        assert (speak, wake) == (SpeakOn(), Wake(START + 5 * SECOND))
        assert submit.command.labels == {"adapter": "cli", "gateway.node": "n7"}
        status = w.AgentUsageStatus("raw", weekly_limit="3")
        report = AccountReport("cli", True, {"raw_output": "raw", "weekly_limit": "3"})
        play.reply("command", AccountList((report,))).expect(answer(status=status), OK)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (AccountList((AccountReport("a", False, error="no"),)), "no"),
        (AccountList(()), "usage is not supported here"),
    ],
)
def test_why_there_is_no_usage_is_said(reply: Any, error: str) -> None:
    with call("Command") as play:
        opened(play, "Command")
        play.receive(ask()).take()
        play.reply("command", reply).expect(answer(error), OK)


def test_a_question_that_no_node_can_be_asked_is_a_status() -> None:
    with call("Command") as play:
        opened(play, "Command")
        play.receive(ask()).take()
        play.reply("command", Unavailable("none")).expect(refused("unavailable", "none", 14))


@pytest.mark.parametrize(
    ("usage", "raw"), [({"cost": 1}, '{"cost":1}'), ("text", "text"), (None, "null")]
)
def test_usage_in_other_words_is_its_text(usage: Any, raw: str) -> None:
    with call("Command") as play:
        opened(play, "Command")
        play.receive(ask()).take()
        reply = AccountList((AccountReport("a", True, usage),))
        play.reply("command", reply).expect(answer(status=w.AgentUsageStatus(raw)), OK)


def test_a_command_times_out() -> None:
    with call("Command") as play:
        opened(play, "Command")
        play.receive(ask()).take()
        assert play.wake == START + 30 * SECOND
        play.tick().expect(answer("timeout"), OK)


@pytest.mark.parametrize("type", [0, 9])
def test_an_unknown_command_has_its_own_answer(type: int) -> None:
    with call("Command") as play:
        opened(play, "Command")
        play.receive(ask(type=type)).expect(
            answer(f"unsupported command type {type}", type=type), OK
        )


def test_a_command_that_is_wrong_is_a_status() -> None:
    with call("Command") as play:
        opened(play, "Command")
        text = "timeout_sec must be 0 or above"
        play.receive(ask(timeout_sec=-1)).expect(refused("invalid_argument", text, 3))


def test_a_request_id_is_in_flight_once_for_each_connection_of_a_client() -> None:
    shared = InFlight()
    calls = [ControlCall(NorthSettings(), (), shared) for _ in range(4)]
    with call("Command", calls[0]) as first:
        opened(first, "Command")
        first.receive(ask()).take()
        with call("Command", calls[1]) as second:
            opened(second, "Command")
            second.receive(ask()).expect(answer("duplicate request id"), OK)
            second.closed()
        with call("Command", calls[2]) as other:
            opened(other, "Command", peer="1.2.3.4:6")
            assert SpeakOn() in other.receive(ask()).take()
        first.reply("command", Unavailable("x")).take()
        with call("Command", calls[3]) as again:
            opened(again, "Command")
            assert SpeakOn() in again.receive(ask()).take()


def test_without_an_address_nobody_is_taken_for_another() -> None:
    shared = InFlight()
    for _ in range(2):
        assert shared.take(opening("Command", peer=""), "q") is not None


# --- WatchNodes


def worker(name: str, alias: str = "") -> WorkerInfo:
    detail = {"alias": alias} if alias else None
    return WorkerInfo(WorkerId(f"nodes/{name}"), "nodes", frozenset(InputKind), detail=detail)


def notice(what: Happening, name: str, reason: str = "") -> WorkerNotice:
    return WorkerNotice(what, worker(name, f"{name}!"), START, reason)


def told(at: int, type: str, name: str, reason: str = "") -> Sent:
    id = f"{FIVE.hex()}-{at}"
    return Sent(w.EdgeNodeEvent(id, type, "edge", name, f"{name}!", reason, {}, START))


def test_nodes_are_watched_from_now_on() -> None:
    with call("WatchNodes") as play:
        opened(play, "WatchNodes")
        play.receive(w.WatchNodesRequest()).expect(SpeakOn(), WatchWorkers())
        play.noticed(notice(Happening.PRESENT, "a"))
        play.noticed(notice(Happening.CONNECTED, "b")).expect(told(1, "node.connected", "b"))
        for at, (came, reason) in enumerate(
            [("the peer closed the link", "closed"), ("timeout", "timeout")], 2
        ):
            play.noticed(notice(Happening.DISCONNECTED, "b", came)).expect(
                told(at, "node.disconnected", "b", reason)
            )
        play.noticed(notice(Happening.LOST, "b")).expect(told(4, "node.lost", "b"))


def test_those_who_are_here_are_told_first_if_asked_for_and_all_leave_with_the_edge() -> None:
    with call("WatchNodes") as play:
        opened(play, "WatchNodes")
        play.receive(w.WatchNodesRequest(True)).take()
        play.noticed(notice(Happening.PRESENT, "a")).expect(told(1, "node.connected", "a"))
        play.noticed(notice(Happening.CONNECTED, "b")).expect(told(2, "node.connected", "b"))
        play.drain().expect(
            told(3, "node.disconnected", "a", "shutdown"),
            told(4, "node.disconnected", "b", "shutdown"),
        )
        play.drain()


def test_a_watch_of_runs_hears_of_no_nodes() -> None:
    with call("Run") as play:
        opened(play, "Run")
        play.noticed(notice(Happening.CONNECTED, "b"))
        play.drain()


# --- which of the two a link is


def test_the_path_tells_a_call_from_a_link() -> None:
    with call("Cancel", ADAPTER.northbound.open(NorthSettings())) as play:
        opened(play, "Cancel")
        play.receive(w.CancelRequest("r1")).take()
        play.reply("cancel", Accepted()).take()
    with Playbook(ADAPTER.southbound.open(EdgeSettings())) as play:
        play.opened(Opening("nodes", path="/iop.NodeLink/Connect")).take()
        play.receive(codec.encode_node(w.RegisterRequest("x"))).take()


def test_every_call_of_the_driver_goes_to_the_one_that_it_is() -> None:
    made: list[str] = []

    class Inner(Connection):
        def __getattribute__(self, name: str) -> Any:
            made.append(name)
            return lambda *_: ()

    either: Any = Either(Inner(), ControlCall(NorthSettings()))
    names = [name for name in vars(Connection) if not name.startswith("_")]
    for name in names:
        count = getattr(Connection, name).__code__.co_argcount - 1
        getattr(either, name)(*(Opening("x") for _ in range(count)))
    assert made == names


def test_the_short_way_is_that_of_the_one_that_it_is() -> None:
    class Inner(BulkConnection):
        def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
            return Bulk(1, {RunId(frames[0].decode()): ()})

        def deliver_bulk(self, batch: Sequence[e.Recorded], now: int) -> Sequence[bytes] | None:
            return [b"delivered"]

    link, call = (
        Either(inner, ControlCall(NorthSettings()))
        for inner in (Inner(), ControlCall(NorthSettings()))
    )
    assert link.receive_bulk([b"r1"], START) == Bulk(1, {RunId("r1"): ()})
    assert link.deliver_bulk((), START) == [b"delivered"]
    assert call.receive_bulk([b"r1"], START) is None
    assert call.deliver_bulk((), START) is None
