"""Calls under way, apart from the connection that they came by."""

from typing import Any

import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted
from fleetgate.core.commands import RunSpec, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.core.times import nanos
from fleetgate.protocols.api import Report, Submit
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.operation import OpenRun, Operation
from fleetgate.protocols.kodelet.operations import UPDATE, Operations
from fleetgate.protocols.kodelet.peer import Answered, Peer
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.showing import PACE
from fleetgate.protocols.kodelet.testing import no, said, tell, yes
from fleetgate.protocols.kodelet.transcript import DISPLAY_LIMIT, Transcript, Work
from fleetgate.protocols.kodelet.wire import RunOpen
from fleetgate.protocols.testing import START, Playbook, number

RUN = RunId("cp/r1/x-1")
SAID = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))


class Bench:
    def __init__(self, limit: int = 100) -> None:
        self.peer = Peer("runner", RunnerSettings())
        self.deadlines = Deadlines()
        self.operations = Operations(self.peer, RunnerSettings(), self.deadlines)
        self.owner = OpenRun(RunOpen("r1", "c1"))
        self.peer.receive(t.ask("server:7", "tool.execute", {}))
        self.peer.take()
        work = Work("echo", {}, "/", START)
        self.operation = Operation(
            "server:7", self.owner, RUN, work, "t1", Transcript(limit), wants_updates=True
        )
        (self.submit,) = self.operations.start(self.operation, RunSpec(ToolCall("echo")), "cp")

    def deliver(self, *events: e.Event, now: int = START) -> list[object]:
        self.operations.deliver(number(RUN, *events), now)
        return t.said(self.peer.flush())


def test_a_start_names_its_origin() -> None:
    bench = Bench()
    assert isinstance(bench.submit, Submit)
    assert bench.submit.command.origin.native_run == "r1/x-1"
    assert bench.owner.operations == {"server:7"}


def test_updates_are_paced_and_the_last_snapshot_is_never_forgotten() -> None:
    bench = Bench()
    assert len(bench.deliver(e.TextProduced("a"))) == 1
    assert bench.deliver(e.TextProduced("b")) == []
    assert bench.deadlines.due(START + nanos(0.05)) == [f"{UPDATE}server:7"]
    bench.operations.update("server:7", START + nanos(0.05))
    (update,) = t.said(bench.peer.flush())
    assert update["params"]["result"]["displayOutput"] == "ab"
    assert update["params"]["sequence"] == 2


def test_an_update_that_shows_much_is_followed_by_the_next_later() -> None:
    bench = Bench(limit=1 << 20)
    (update,) = bench.deliver(e.TextProduced("a" * 3 * PACE))
    assert len(update["params"]["result"]["displayOutput"]) == 3 * PACE
    assert bench.deliver(e.TextProduced("b")) == []
    assert bench.deadlines.due(START + nanos(6 * 0.05)) == []
    assert bench.deadlines.due(START + nanos(7 * 0.05)) == [f"{UPDATE}server:7"]


def test_what_an_update_would_not_show_is_no_news() -> None:
    bench = Bench(limit=1 << 20)
    first, second = (
        bench.deliver(e.TextProduced("a" * n), now=START * at)
        for n, at in ((DISPLAY_LIMIT, 1), (1, 2))
    )
    assert [len(each["params"]["result"]["displayOutput"]) for each in (*first, *second)] == [
        DISPLAY_LIMIT,
        DISPLAY_LIMIT,
    ]
    assert bench.deliver(e.TextProduced("c"), now=START * 3) == []
    assert bench.deadlines.due(START * 9) == []


def test_an_update_that_is_too_long_for_a_message_costs_nothing_but_itself() -> None:
    with t.attached(t.play_runner(message_limit=2000)) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play, wantUpdates=True))
        play.deliver(number(run, e.TextProduced("a" * 2000))).expect()
        play.deliver(number(run, e.TextProduced("b"), first=2)).expect()
        end = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED))
        play.deliver(number(run, end, first=3))
        (answer,) = said(play.take())
        assert answer["error"]["data"] == {"reason": "result_too_large"}


def test_the_result_takes_the_place_of_an_update_that_waits() -> None:
    bench = Bench()
    bench.deliver(e.TextProduced("a"))
    end = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED))
    (answer,) = bench.deliver(e.TextProduced("b"), end)
    assert answer["result"]["result"]["displayOutput"] == "ab"
    assert bench.owner.operations == set()
    assert bench.deadlines.due(START * 2) == []
    bench.operations.update("server:7", START)
    assert bench.peer.flush() == []


def test_strangers_are_passed_over() -> None:
    bench = Bench()
    assert bench.operations.deliver(number("other", e.TextProduced("x")), START) == ()
    assert bench.operations.deliver((), START) == ()
    assert bench.operations.cancel("nobody") == ()
    assert bench.operations.answered(Answered(("notify",))) == ()


def one(play: Playbook) -> Any:
    (message,) = said(play.take())
    return message


# --- the UI

ASKED = e.ApprovalRequested("ap-1", "Run it?", {"command": "rm"})


def interactive(play: Playbook) -> RunId:
    caps = {"interactiveUI": True, "persistentSurfaces": False}
    t.open_run(play, clientCapabilities=caps)
    submit = t.execute(play)
    assert isinstance(submit.command, c.StartRun)
    assert submit.command.spec.approvals
    return t.accept(play, submit)


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (yes("runner:2", {"status": "submitted", "confirmed": True}), e.Decision.ALLOW_ONCE),
        (yes("runner:2", {"status": "submitted"}), e.Decision.DENY),
        (yes("runner:2", {"status": "unavailable"}), e.Decision.DENY),
        (no("runner:2", -32002, "inactive"), e.Decision.DENY),
    ],
)
def test_w_15_8_an_approval_is_a_question(answer: bytes, decision: e.Decision) -> None:
    with t.attached(t.play_runner()) as play:
        run = interactive(play)
        play.deliver(number(run, ASKED))
        message = one(play)
        assert (message["id"], message["method"]) == ("runner:2", "ui.confirm")
        assert message["params"]["owner"] == {"extensionId": "fleetgate", "generation": 1}
        question = message["params"]["request"]
        assert question["id"].startswith("runner-ui-")
        assert (question["title"], question["message"]) == ("Run it?", '{"command":"rm"}')
        play.receive(answer)
        (submit,) = play.take()
        assert submit.command == c.ResolveApproval(run, "ap-1", decision)


def test_an_approval_that_is_answered_elsewhere_is_withdrawn() -> None:
    with t.attached(t.play_runner()) as play:
        run = interactive(play)
        play.deliver(number(run, ASKED)).take()
        play.deliver(number(run, e.ApprovalResolved("ap-1", e.Decision.DENY)))
        assert one(play) == {"method": "operation.cancel", "params": {"requestId": "runner:2"}}
        play.receive(yes("runner:2", {"status": "submitted"})).expect()


def test_without_anybody_an_approval_is_denied() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play))
        play.deliver(number(run, ASKED))
        (submit,) = play.take()
        assert submit.command == c.ResolveApproval(run, "ap-1", e.Decision.DENY)


def test_an_unreadable_answer_counts_as_no() -> None:
    with t.attached(t.play_runner()) as play:
        run = interactive(play)
        play.deliver(number(run, ASKED)).take()
        play.receive(yes("runner:2", {"status": 1}))
        report, submit = play.take()
        assert report.what == "kodelet_unreadable_answer"
        assert submit.command.decision is e.Decision.DENY


def test_a_decision_that_no_worker_hears_of_is_for_the_operator_to_see() -> None:
    with t.attached(t.play_runner()) as play:
        run = interactive(play)
        play.deliver(number(run, ASKED)).take()
        play.receive(yes("runner:2", {"status": "submitted"}))
        (submit,) = play.take()
        play.reply(submit.reply_to, UnsupportedInput("cannot be told"))
        play.expect(Report("kodelet_decision_not_carried", "cannot be told", run))
        play.reply(submit.reply_to, Accepted()).expect()


def test_a_diagnosis_is_a_notice() -> None:
    with t.attached(t.play_runner()) as play:
        run = interactive(play)
        play.deliver(number(run, e.Diagnosed("careful")))
        assert one(play)["method"] == "ui.notify"
        play.receive(yes("runner:2", {"status": "submitted"})).expect()


def test_without_a_pause_everything_that_is_said_is_an_update_ahead_of_the_result() -> None:
    with t.attached(t.play_runner(update_every=0)) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play, wantUpdates=True))
        play.deliver(number(run, *(e.TextProduced(each) for each in "abc"), SAID))
        *updates, result = said(play.take())
        shown = [each["params"]["result"]["assistantFacing"] for each in updates]
        assert [each.split("\n")[1] for each in shown] == ["a", "ab", "abc"]
        assert [each["params"]["sequence"] for each in updates] == [1, 2, 3]
        assert result["id"] == "server:7"


def test_w_12_4_input_for_a_surface_that_is_not_there() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        play.receive(tell("ui.surface.input", {"runId": "r1"}))
        assert one(play)["method"] == "run.environmentError"
        for frame in (
            tell("ui.surface.resize", {"runId": "zz"}),
            tell("ui.surface.resize", {"runId": 1}),
            tell("other", {}),
        ):
            play.receive(frame).expect()
