"""The node's end of its link."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, AccountList, RunList
from fleetgate.core.errors import (
    Conflict,
    NoRoute,
    RunNotFound,
    SessionNotFound,
    Unavailable,
)
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId, Seq, SessionId
from fleetgate.core.run import Run
from fleetgate.core.worker import AccountReport
from fleetgate.protocols.api import (
    Ack,
    Close,
    Established,
    Follow,
    Notify,
    Opening,
    Report,
    Send,
    Submit,
    Unfollow,
    Wake,
)
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.names import BODY
from fleetgate.protocols.iop.northbound import NodeConnection
from fleetgate.protocols.iop.settings import NorthSettings
from fleetgate.protocols.iop.translate import to_spec
from fleetgate.protocols.testing import SECOND, START, Playbook, Sent, number

OPENING = Opening("edge", token="secret", entropy=bytes(15) + b"\x07")
PREFIX = OPENING.entropy.hex()
CLI = w.CLIAdapterConfig({"sh": w.CLIProfileConfig("sh", ("-i",), response_idle_timeout_ms=9)})
CONFIG = w.NodeConfigPayload(
    (w.AdapterConfig("cli", True, cli=CLI), w.AdapterConfig("vllm", False)),
    w.NodeRuntimeConfig(2, "/work"),
)
RUN = RunId("edge/r1")


def node(**settings: Any) -> Playbook:
    connection = NodeConnection(NorthSettings(**settings))
    return Playbook(connection, decode=codec.decode_node, encode=codec.encode_edge)


def opened(play: Playbook) -> None:
    play.opened(OPENING).expect(Sent(w.RegisterRequest("secret")), Wake(START + 10 * SECOND))


def live(play: Playbook, config: w.NodeConfigPayload | None = None, *runs: Run) -> None:
    opened(play)
    play.receive(w.RegisterResponse(True, "n1", "one", config=config)).take()
    play.reply(("open", None), RunList(runs)).take()


def profile(**changes: Any) -> dict[str, Any]:
    plain = {
        "adapter": "cli",
        "target": "sh",
        "config": {},
        "workspace_root": "",
        "session": "",
        "session_mode": "create",
    }
    return plain | changes


def asked(**changes: Any) -> w.RunRequest:
    return attrs.evolve(w.RunRequest("r1", "cli", "sh", input={"prompt": "hi"}), **changes)


def run_of(request: w.RunRequest, **changes: Any) -> Run:
    spec = to_spec(request, profile=profile(session=request.session_id))
    plain = Run(RunId(f"edge/{request.run_id}"), spec, c.Origin("edge", request.run_id), START)
    return attrs.evolve(plain, **changes)


def start_of(
    request: w.RunRequest, exists: bool = False, where: str = "", **changes: Any
) -> Submit:
    given = profile(**{"session": request.session_id} | changes)
    spec = to_spec(request, profile=given)
    if where:
        spec = attrs.evolve(spec, workspace=(where,))
    start = c.StartRun(RunId("edge/r1"), spec, c.Origin("edge", "r1"))
    return Submit(c.StartRunIf(start, session_exists=exists), ("start", (request, spec)))


def started(play: Playbook, request: w.RunRequest | None = None) -> None:
    """A run is accepted."""
    request = request or asked()
    (submit,) = play.receive(request).take()
    play.reply(submit.reply_to, Accepted(None, run_of(request))).expect(Follow(RUN, Seq(0)))


def event(type: str, seq: int = 0, **members: Any) -> w.RunEvent:
    metadata = {**({"gateway.seq": str(seq)} if seq else {}), **members.pop("metadata", {})}
    return w.RunEvent("r1", type, timestamp=START, node_id="n1", metadata=metadata, **members)


# --- registering


def test_a_node_registers_takes_its_configuration_up_and_says_so() -> None:
    with node() as play:
        opened(play)
        play.later(1).receive(w.RegisterResponse(True, "n1", "one", config=CONFIG)).expect(
            Established(),
            Submit(c.LimitLink("edge", 2), ("limited", True)),
            Submit(c.ListRuns("edge", unacknowledged=True), ("open", None)),
            Wake(START + 16 * SECOND),
        )
        told = w.EdgeNodeEvent(
            f"{PREFIX}-1", "node.config_applied", "node", "n1", "one", timestamp=play.now
        )
        play.reply(("limited", True), Accepted()).expect(Sent(told))
        play.reply(("open", None), RunList(()))


def test_a_registration_without_a_configuration_restricts_nothing_and_is_not_told() -> None:
    with node() as play:
        opened(play)
        steps = play.receive(w.RegisterResponse(True, "n1")).take()
        assert Submit(c.LimitLink("edge", None), ("limited", False)) in steps
        play.reply(("limited", False), Accepted())


def test_a_negative_bound_is_no_missing_bound() -> None:
    """The edge is told, and no run is taken; the bound of before stands for those that wait."""
    config = w.NodeConfigPayload(runtime=w.NodeRuntimeConfig(-1))
    said = "runtime.concurrency must be 0 (no bound) or above; -1 came"
    with node() as play:
        opened(play)
        steps = play.receive(w.RegisterResponse(True, "n1", config=config)).take()
        told = [codec.decode_node(step.frame) for step in steps if isinstance(step, Send)]
        assert told == [w.Error("invalid_argument", said)]
        assert not any(
            isinstance(step, Submit) and isinstance(step.command, c.LimitLink) for step in steps
        )
        (submit,) = play.receive(asked()).take()
        play.reply(submit.reply_to, RunNotFound("no")).expect(
            Sent(event("error", error=f"invalid_argument: {said}"))
        )


def test_an_adapter_that_is_not_known_is_reported_and_does_not_stop_the_others() -> None:
    config = w.NodeConfigPayload((w.AdapterConfig("quantum", True), *CONFIG.adapters))
    with node() as play:
        opened(play)
        steps = play.receive(w.RegisterResponse(True, "n1", config=config)).take()
        text = "the adapter type quantum is not known here"
        assert codec.decode_node(steps[1].frame) == w.Error("unsupported_adapter", text)
        known = profile(config={"profiles": {"sh": codec.to_json(CLI.profiles["sh"])}})
        play.receive(asked()).expect(start_of(asked(), **known))
        (submit,) = play.receive(asked(adapter="quantum")).take()
        assert isinstance(submit.command, c.DescribeRun)


@pytest.mark.parametrize("config", [None, w.NodeConfigPayload()])
def test_a_refused_registration_is_final(config: Any) -> None:
    with node() as play:
        opened(play)
        play.receive(w.RegisterResponse(False, reason="who?", config=config)).expect(
            Close(1000, "the edge refused the registration: who?", retry=False)
        )


def test_an_edge_that_does_not_answer_is_left() -> None:
    with node() as play:
        opened(play)
        play.tick().expect(Close(None, "the edge did not answer the registration"))


def test_what_an_edge_may_not_say_ends_the_link_and_it_is_dialled_again() -> None:
    with node() as play:
        opened(play)
        text = "RunRequest came where the link is new"
        play.receive(asked()).fails(Close(1000, text))
    with node() as play:
        live(play)
        text = "RegisterResponse came where the link is live"
        play.receive(w.RegisterResponse(True, "n1")).fails(Close(1000, text))
    with node() as play:
        live(play)
        play.receive(b"\xff").fails(
            Close(1000, "expected EdgeMessage in protobuf; 1 bytes came that are none")
        )


def test_a_configuration_that_cannot_be_kept_ends_the_link() -> None:
    with node() as play:
        opened(play)
        play.receive(w.RegisterResponse(True, "n1", config=CONFIG)).take()
        play.reply(("limited", True), Unavailable("the journal fails")).expect(
            Close(None, "the edge's configuration is not applied: the journal fails")
        )
    with node() as play:
        opened(play)
        play.receive(w.RegisterResponse(True, "n1")).take()
        play.reply(("open", None), Unavailable("no")).expect(
            Close(None, "the runs of earlier links cannot be told on")
        )


def test_who_was_replaced_does_not_dial_again() -> None:
    with node() as play:
        live(play)
        play.receive(w.Error("replaced", "by a newer one")).expect(
            Report("iop_replaced", "replaced: by a newer one"),
            Close(1000, "replaced: by a newer one", retry=False),
        )


def test_who_may_be_there_no_more_does_not_dial_again() -> None:
    with node() as play:
        live(play)
        play.receive(w.Error("unauthenticated", "revoked")).expect(
            Report("iop_unauthenticated", "unauthenticated: revoked"),
            Close(1000, "unauthenticated: revoked", retry=False),
        )


def test_other_errors_of_the_edge_are_reported() -> None:
    with node() as play:
        live(play)
        play.receive(w.Error("unavailable", "soon")).expect(
            Report("iop_edge_error", "unavailable: soon")
        )
        play.receive(w.Unknown()).expect(Report("iop_unknown_message", "from the edge"))


def test_a_node_tells_its_own_watchers_of_the_edge() -> None:
    with node() as play:
        live(play)
        about = w.EdgeNodeEvent("e", "node.connected", "edge", "n2")
        play.receive(about).expect(Notify(codec.to_json(about)))
        gone = {
            "event_id": f"{PREFIX}-1",
            "type": "edge.disconnected",
            "source": "node",
            "node_id": "n1",
            "alias": "one",
            "reason": "cut",
            "timestamp": START,
        }
        play.closed("cut").expect(Notify(gone))
    with node() as play:
        opened(play)
        play.closed("cut")


# --- life


def test_heartbeats_go_out_after_silence_and_a_silent_edge_is_dead() -> None:
    with node() as play:
        live(play)
        play.tick().expect(Sent(w.Heartbeat(START + 15 * SECOND)), Wake(START + 30 * SECOND))
        play.receive(w.Heartbeat(1))
        while not any(isinstance(step, Close) for step in play.tick().take()):
            pass
        assert play.now == START + 60 * SECOND


# --- runs


def test_a_run_is_started_followed_and_told() -> None:
    with node() as play:
        live(play, CONFIG)
        known = {
            "config": {"profiles": {"sh": codec.to_json(CLI.profiles["sh"])}},
            "workspace_root": "/work",
        }
        play.receive(asked()).expect(start_of(asked(), where="/work", **known))
        play.reply(("start", (asked(), None)), Accepted(None, run_of(asked()))).expect(
            Follow(RUN, Seq(0))
        )
        events = (
            e.RunAssigned("local/w", 1),
            e.RunStarted(),
            e.TextProduced("hi"),
            RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, text="hi")),
        )
        body = '{"reason":"exited","state":"succeeded","text":"hi"}'
        play.deliver(number(RUN, *events)).expect(
            Sent(event("start", 2)),
            Sent(event("delta", 3, delta="hi")),
            Sent(event("complete", 4, message="hi", metadata={"gateway.body": body})),
            Unfollow(RUN),
        )
        play.deliver(number(RUN, e.TextProduced("late"), first=5))


def test_a_session_that_must_exist_is_asked_for_as_such() -> None:
    request = asked(session_id="s", session_mode=2)
    with node() as play:
        live(play)
        play.receive(request).expect(start_of(request, exists=True, session_mode="require"))
        play.reply(("start", (request, None)), SessionNotFound("no session s")).expect(
            Sent(
                w.RunEvent(
                    "r1",
                    "error",
                    error="session_not_found: no session s",
                    timestamp=START,
                    session_id="s",
                    node_id="n1",
                )
            )
        )


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (asked(timeout_sec=-1), "invalid_argument"),
        (asked(session_mode=99), "invalid_argument"),
        (asked(input={"command": 5}), "invalid_argument"),
        (asked(workspace="../etc"), "workspace_outside_root"),
        (asked(workspace="/etc"), "workspace_outside_root"),
        (asked(session_id="s" * 257), "invalid_argument"),
        (asked(adapter="vllm"), "unsupported_adapter"),
    ],
    ids=["timeout", "mode", "input", "dots", "outside", "session", "adapter"],
)
def test_what_is_wrong_with_a_new_run_is_one_event_without_a_start(
    request_: w.RunRequest, code: str
) -> None:
    with node() as play:
        live(play, CONFIG)
        (submit,) = play.receive(request_).take()
        assert submit.command == c.DescribeRun(RUN)
        (sent,) = play.reply(submit.reply_to, RunNotFound("none")).take()
        told = codec.decode_node(sent.frame)
        assert (told.type, told.error.partition(":")[0]) == ("error", code)


def test_fault_25_what_is_wrong_with_a_second_request_leaves_the_run_alone() -> None:
    text = "the run exists with another request; choose a new id"
    with node() as play:
        live(play)
        (submit,) = play.receive(asked(timeout_sec=-1)).take()
        play.reply(submit.reply_to, Accepted(run_of(asked()), run_of(asked()))).expect(
            Sent(w.Error("conflict", f"r1: {text}"))
        )
        (submit,) = play.receive(asked(timeout_sec=-1)).take()
        (sent,) = play.reply(submit.reply_to, Unavailable("later")).take()
        assert codec.decode_node(sent.frame).error == "unavailable: later"


@pytest.mark.limit("protocols/iop/northbound._QUOTED", "protocols/iop/wire.MAX_ID")
@pytest.mark.parametrize(("id", "shown"), [("", ""), ("x" * 257, "x" * 128)])
def test_an_id_that_is_none_is_an_error_of_the_link(id: str, shown: str) -> None:
    with node() as play:
        live(play)
        (sent,) = play.receive(asked(run_id=id)).take()
        error = codec.decode_node(sent.frame)
        assert error.code == "invalid_argument"
        assert error.message.startswith(f"{shown}: ")


def test_the_same_request_again_attaches_and_another_is_a_conflict() -> None:
    with node(retained=10) as play:
        live(play)
        known = run_of(asked(), last_seq=Seq(25), started=START)
        (submit,) = play.receive(asked()).take()
        play.reply(submit.reply_to, Accepted(known, known)).expect(Follow(RUN, Seq(15)))
        other = asked(workspace="/elsewhere")
        (submit,) = play.receive(other).take()
        (submit,) = play.reply(submit.reply_to, Conflict("another")).take()
        assert submit.command == c.DescribeRun(RUN)
        text = "r1: the run exists with another request; choose a new id"
        play.reply(submit.reply_to, Accepted(known, known)).expect(Sent(w.Error("conflict", text)))


def test_a_request_is_the_same_whatever_was_configured_meanwhile() -> None:
    with node() as play:
        live(play, CONFIG)
        known = run_of(asked())
        (submit,) = play.receive(asked()).take()
        (submit,) = play.reply(submit.reply_to, Conflict("by its profile")).take()
        play.reply(submit.reply_to, Accepted(known, known)).expect(Follow(RUN, Seq(0)))
        (submit,) = play.receive(asked()).take()
        (submit,) = play.reply(submit.reply_to, Conflict("by its profile")).take()
        (sent,) = play.reply(submit.reply_to, RunNotFound("gone")).take()
        assert codec.decode_node(sent.frame).code == "conflict"


def test_a_start_that_is_still_open_is_asked_again_and_not_told_to_have_failed() -> None:
    """Found by `just chaos-seeds --pair iop-rvbox --seed 19`: a clock leapt during a commit, the
    edge was told that its run had failed, and it was done all the same."""
    with node() as play:
        live(play)
        (submit,) = play.receive(asked()).take()
        again = attrs.evolve(submit, again=True)
        for _ in range(2):
            play.reply(submit.reply_to, Unavailable("not in time", open=True)).expect(again)
        play.reply(submit.reply_to, Accepted(None, run_of(asked()))).expect(Follow(RUN, Seq(0)))


def test_a_refusal_of_the_core_is_one_event() -> None:
    with node() as play:
        live(play)
        (submit,) = play.receive(asked(background=True)).take()
        play.reply(submit.reply_to, NoRoute("no way")).expect(
            Sent(
                w.RunEvent(
                    "r1",
                    "error",
                    error="unavailable: no way",
                    timestamp=START,
                    background=True,
                    node_id="n1",
                )
            )
        )


def test_an_event_above_the_limit_goes_without_what_only_a_gateway_reads() -> None:
    with node(max_message=500) as play:
        live(play)
        started(play)
        asks = e.ToolCalled("t", {"x": "y" * 600})
        steps = play.deliver(number(RUN, e.RunStarted(), asks)).take()
        told = codec.decode_node(steps[1].frame)
        assert told.metadata == {"gateway.seq": "2", "gateway.kind": "tool_call"}


# --- cancels


@pytest.mark.parametrize("action", [0, 1])
def test_a_cancel_ends_the_run(action: int) -> None:
    request = w.CancelRequest("r1", action=action)
    with node() as play:
        live(play)
        play.receive(request).expect(Submit(c.CancelRun(RUN), ("cancel", request)))
        play.reply(("cancel", request), Accepted())
        play.receive(request).take()
        play.reply(("cancel", request), RunNotFound("no such run")).expect(
            Sent(w.Error("not_found", "r1: no such run"))
        )


def test_a_session_is_ended_as_such() -> None:
    request = w.CancelRequest("r9", session_id="s", action=2)
    with node() as play:
        live(play)
        play.receive(request).expect(Submit(c.EndSession(SessionId("s")), ("cancel", request)))
        play.reply(("cancel", request), SessionNotFound("no s")).expect(
            Sent(w.Error("session_not_found", "r9: no s"))
        )


def test_a_cancel_with_an_unknown_action_is_refused() -> None:
    with node() as play:
        live(play)
        play.receive(w.CancelRequest("r1", action=99)).expect(
            Sent(w.Error("invalid_argument", "r1: action 99 is not known"))
        )
        play.receive(w.CancelRequest("r1", action=2)).expect(
            Sent(w.Error("session_not_found", "r1: session_id must name a session to terminate"))
        )
        play.receive(w.CancelRequest("x" * 300)).expect(
            Sent(w.Error("invalid_argument", f"{'x' * 128}: run_id may have 256 bytes"))
        )


# --- after a reconnect


def test_the_runs_of_earlier_links_are_told_again() -> None:
    waits = run_of(asked(run_id="r2"))
    works = run_of(asked(), state=RunState.RUNNING, last_seq=Seq(2), started=START)
    with node() as play:
        opened(play)
        play.receive(w.RegisterResponse(True, "n1")).take()
        queued = w.RunEvent(
            "r2",
            "delta",
            metadata={
                "gateway.kind": "state",
                "gateway.body": '{"detail":"queued","state":"queued"}',
            },
            timestamp=START,
            node_id="n1",
        )
        play.reply(("open", None), RunList((works, waits))).expect(
            Follow(RUN, Seq(0)), Sent(queued), Follow(waits.id, Seq(0))
        )


def test_fault_23_an_end_counts_as_heard_once_the_link_has_stood_and_not_before() -> None:
    with node(heartbeat=1000.0) as play:
        live(play)
        started(play)
        end = RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED))
        play.deliver(number(RUN, e.RunStarted(), end)).take()
        play.later(44).receive(w.Heartbeat(1))
        play.later(1).receive(w.Heartbeat(2)).expect(Ack(RUN, Seq(2)))
        play.later(1).receive(w.Heartbeat(3))


# --- questions


def ask(id: str = "q1", **changes: Any) -> w.NodeCommandRequest:
    return attrs.evolve(w.NodeCommandRequest(id, 1, "cli", "sh", "s"), **changes)


def answer(request: w.NodeCommandRequest, error: str = "", status: Any = None) -> Sent:
    return Sent(
        w.NodeCommandResponse(request.request_id, request.type, "cli", "sh", "s", status, error)
    )


def test_usage_is_asked_of_one_worker() -> None:
    with node() as play:
        live(play)
        command = c.ReadUsage(
            "edge",
            one=True,
            labels={"adapter": "cli", "target": "sh"},
            session=SessionId("s"),
            native={"iop": {"type": 1, "adapter": "cli", "target": "sh", "session_id": "s"}},
            within=31 * SECOND,
        )
        play.receive(ask()).expect(Submit(command, ("inquiry", ask())))
        report = AccountReport("cli", True, {"raw_output": "raw", "metadata": {"k": "v"}})
        play.receive(ask()).expect(answer(ask(), "duplicate request id"))
        play.reply(("inquiry", ask()), AccountList((report,)))


def test_an_answer_in_time_and_one_too_late() -> None:
    with node(heartbeat=1000.0, dead_after=1000.0) as play:
        live(play)
        (submit, wake) = play.receive(ask(timeout_sec=3)).take()
        assert wake == Wake(START + 3 * SECOND)
        report = AccountReport("cli", True, {"raw_output": "raw", "metadata": {"k": "v"}})
        status = w.AgentUsageStatus("raw", metadata={"k": "v"})
        steps = play.reply(submit.reply_to, AccountList((report,))).take()
        told = codec.decode_node(steps[0].frame)
        assert (told.usage_status, told.error) == (status, "")
        (submit, _) = play.receive(ask(timeout_sec=3)).take()
        (sent, _) = play.tick().take()
        assert codec.decode_node(sent.frame).error == "timeout"
        play.reply(submit.reply_to, AccountList((report,)))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (ask(type=0), "unsupported command type 0"),
        (ask(type=99), "unsupported command type 99"),
        (ask(timeout_sec=-1), "invalid_argument: timeout_sec must be 0 or above"),
        (ask("x" * 257), "invalid_argument: request_id may have 256 bytes"),
    ],
    ids=["unspecified", "unknown", "negative", "long"],
)
def test_a_question_that_is_wrong_is_answered(request_: Any, error: str) -> None:
    with node() as play:
        live(play)
        (sent,) = play.receive(request_).take()
        assert codec.decode_node(sent.frame).error == error


def test_usage_of_an_adapter_that_is_not_enabled_is_nobody_s() -> None:
    with node() as play:
        live(play, CONFIG)
        (sent,) = play.receive(ask(adapter="vllm")).take()
        said = codec.decode_node(sent.frame).error
        assert said == "unsupported_adapter: the adapter vllm is not enabled here"
        submit, *_ = play.receive(ask(adapter="")).take()
        assert submit.command.labels == {"target": "sh"}


def test_usage_of_a_session_that_is_not_known_says_so() -> None:
    with node() as play:
        live(play)
        submit, *_ = play.receive(ask()).take()
        (sent,) = play.reply(submit.reply_to, SessionNotFound("none")).take()
        assert codec.decode_node(sent.frame).error == "session_not_found: none"


@pytest.mark.parametrize("cwd", ["/etc", "../..", "a/../../.."])
def test_a_command_s_directory_stays_in_the_root_too(cwd: str) -> None:
    body = json.dumps({"input": {"cwd": cwd}})
    request = w.RunRequest("r1", "cli", "", "w", None, {"command": "ls"}, metadata={BODY: body})
    with node() as play:
        live(play, CONFIG)
        (submit,) = play.receive(request).take()
        (sent,) = play.reply(submit.reply_to, RunNotFound("no")).take()
        assert codec.decode_node(sent.frame).error.startswith("workspace_outside_root: ")


@pytest.mark.limit("protocols/iop/inquiries._MOST")
def test_too_many_questions_are_refused() -> None:
    with node() as play:
        live(play)
        for each in range(256):
            play.receive(ask(f"q{each}")).take()
        (sent,) = play.receive(ask("one more")).take()
        assert codec.decode_node(sent.frame).error.startswith("resource_exhausted: ")
