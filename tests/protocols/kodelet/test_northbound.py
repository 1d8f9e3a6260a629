"""The runner's side of a conversation: registering, heartbeats, the end (cases 29, 39)."""

from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.commands import RunSpec, ToolCall
from fleetgate.core.errors import NoRoute, Unavailable
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import Close, Established, Remember, Submit, Wake
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.testing import ask, no, rest, said, tell, yes
from fleetgate.protocols.testing import SECOND, Playbook, number, slot

STOPPED = RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED))


def one(play: Playbook) -> Any:
    (message,) = said(play.take())
    return message


def error(play: Playbook, frame: bytes) -> Any:
    play.receive(frame)
    return one(play)["error"]


# --- registering


def test_registration_then_a_heartbeat_at_once() -> None:
    with t.play_runner(display_name="demo", runner_id="old") as play:
        (message,) = said(t.dial(play))
        params = message["params"]
        assert (message["id"], message["method"]) == ("runner:1", "runner.register")
        assert params["runnerId"] == "old"
        assert params["host"]["instanceId"].startswith("host_")
        assert params["workspace"] == {"path": "/srv/project", "name": "project"}
        assert params["capabilities"] == {"concurrentRuns": True}
        play.receive(yes("runner:1", t.REGISTERED))
        steps = play.take()
        assert rest(steps)[1:] == [Established(), Wake(play.now + 15 * SECOND)]
        beat = {"runnerId": "R", "generation": 1, "state": "idle"}
        assert said(steps) == [
            {
                "method": "runner.heartbeat",
                "params": {**beat, "manifestDigest": params["manifestDigest"]},
            }
        ]


def test_case_29_a_stale_id_is_dropped_once() -> None:
    with t.play_runner(runner_id="old") as play:
        t.dial(play)
        play.receive(no("runner:1", -32002, "x", "runner_not_found"))
        again = one(play)
        assert again["id"] == "runner:2"
        assert "runnerId" not in again["params"]
        play.receive(no("runner:2", -32002, "x", "runner_not_found"))
        assert t.is_cut(play.take())


@pytest.mark.parametrize(
    "answer",
    [
        no("runner:1", -32001),
        no("runner:1", -32602),
        no("runner:1", -32002, "x", "run_not_active"),
        yes("runner:1", {**t.REGISTERED, "runnerId": " "}),
        yes("runner:1", {**t.REGISTERED, "generation": 0}),
        yes("runner:1", {**t.REGISTERED, "generation": "1"}),
        yes("runner:1", None),
    ],
)
def test_case_29_any_other_failure_drops_the_link_and_dials_again(answer: bytes) -> None:
    with t.play_runner(runner_id="old") as play:
        t.dial(play)
        play.receive(answer)
        (close,) = play.take()
        assert isinstance(close, Close)
        assert (close.code, close.retry) == (None, True)


def test_a_control_plane_that_does_not_answer_is_left() -> None:
    with t.play_runner() as play:
        t.dial(play)
        play.tick()
        assert t.is_cut(play.take())


def test_what_an_earlier_link_left_is_cancelled_first() -> None:
    runs = [
        Run(RunId(f"cp/r/{n}"), RunSpec(ToolCall("x")), c.Origin("cp", f"r/{n}"), 1)
        for n in range(2)
    ]
    with t.play_runner() as play:
        play.opened(t.NORTH).expect(Submit(c.ListRuns("cp", open_only=True), ("left", "")))
        play.reply(("left", ""), RunList(tuple(runs)))
        steps = play.take()
        assert [s.command.run for s in steps if isinstance(s, Submit)] == [r.id for r in runs]
        play.reply(("swept", ""), Accepted(runs[0], runs[0])).expect()
        play.reply(("swept", ""), Unavailable("no"))
        assert one(play)["method"] == "runner.register"


def test_a_core_that_lists_nothing_does_not_keep_us_away() -> None:
    with t.play_runner() as play:
        play.opened(t.NORTH).take()
        play.reply(("left", ""), Unavailable("no"))
        steps = play.take()
        assert steps[0].what == "kodelet_runs_not_swept"
        assert said(steps)[0]["method"] == "runner.register"


# --- heartbeats


def beat(play: Playbook) -> Any:
    play.tick()
    params = one(play)["params"]
    assert params.pop("manifestDigest").startswith("sha256:")
    assert (params.pop("runnerId"), params.pop("generation")) == ("R", 1)
    return params


def test_case_39_what_a_heartbeat_says() -> None:
    with t.attached(t.play_runner()) as play:
        assert beat(play) == {"state": "idle"}
        t.open_run(play, "b", "c1")
        assert beat(play) == {"state": "running", "activeRunId": "b", "activeRunIds": ["b"]}
        t.open_run(play, "a", "c2")
        assert beat(play) == {"state": "running", "activeRunIds": ["a", "b"]}
        play.receive(ask("x", "run.cancel", {"runId": "a"})).take()
        assert beat(play) == {"state": "running", "activeRunIds": ["a", "b"]}
        play.receive(ask("y", "run.cancel", {"runId": "b"})).take()
        assert beat(play) == {"state": "stopping", "activeRunIds": ["a", "b"]}


def test_an_interval_of_nothing_is_the_default() -> None:
    with t.play_runner() as play:
        t.dial(play)
        play.receive(yes("runner:1", {**t.REGISTERED, "heartbeatIntervalMs": 0}))
        assert Wake(play.now + 15 * SECOND) in play.take()


def test_drain_says_goodbye_and_closes() -> None:
    with t.attached(t.play_runner()) as play:
        play.drain()
        steps = play.take()
        assert said(steps) == [
            {
                "method": "runner.goodbye",
                "params": {"runnerId": "R", "generation": 1, "reason": "runner process stopped"},
            }
        ]
        assert rest(steps) == [Close(1000, "runner process stopped")]
    with t.play_runner() as play:
        t.dial(play)
        play.drain().expect()


@pytest.mark.parametrize("agreed", ["", "other"])
def test_w_2_4_a_control_plane_that_does_not_agree_is_left_for_good(agreed: str) -> None:
    with t.play_runner() as play:
        play.opened(attrs.evolve(t.NORTH, subprotocol=agreed))
        (close,) = play.take()
        assert isinstance(close, Close)
        assert (close.code, close.retry) == (1002, False)


def test_w_7_4_the_id_that_was_given_is_kept_before_it_is_used() -> None:
    """Whoever kills us in the first link would make us forget it, if we waited for its end."""
    with t.play_runner() as play:
        t.dial(play)
        play.receive(yes("runner:1", t.REGISTERED))
        first, *rest_of_them = play.take()
        assert isinstance(first, Remember)
        assert [each["method"] for each in said(rest_of_them)] == ["runner.heartbeat"]
        kept = first.text
    for settings, shown in (({}, "R"), ({"runner_id": "mine"}, "mine"), ({"path": "/b"}, None)):
        with t.play_runner(**settings) as play:
            play.opened(attrs.evolve(t.NORTH, remembered=kept)).take()
            play.reply(("left", ""), RunList(()))
            (message,) = said(play.take())
            assert message["params"].get("runnerId") == shown


# --- bad input


def test_what_is_no_message_drops_the_link() -> None:
    with t.attached(t.play_runner()) as play:
        play.receive(b"not json").fails(Close(None, slot()), match="no JSON-RPC message")


def test_the_end_of_the_link_asks_for_nothing() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        t.accept(play, t.execute(play))
        play.closed().expect()


def test_a_start_that_is_still_open_is_asked_again_and_not_told_to_have_failed() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        first = t.execute(play, "server:1")
        again = attrs.evolve(first, again=True)
        play.reply(first.reply_to, Unavailable("not in time", open=True)).expect(again)
        run = t.accept(play, first)
        play.deliver(number(run, STOPPED))
        assert [each["id"] for each in said(play.take())] == ["server:1"]


@pytest.mark.parametrize("how", ["ends", "is refused", "is cancelled"])
def test_case_11_a_call_that_waits_begins_when_another_ends(how: str) -> None:
    with t.attached(t.play_runner(requests=1)) as play:
        t.open_run(play)
        first = t.execute(play, "server:1")
        play.receive(ask("server:2", "nope", {})).expect()  # it waits for the slot
        play.receive(ask("server:3", "nope", {})).expect()
        if how == "is refused":
            play.reply(first.reply_to, NoRoute("none"))
        else:
            run = t.accept(play, first)
            if how == "is cancelled":
                play.receive(tell("operation.cancel", {"requestId": "server:1"})).take()
            play.deliver(number(run, STOPPED))
        assert [each["id"] for each in said(play.take())] == ["server:1", "server:2", "server:3"]
