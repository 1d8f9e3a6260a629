"""Runs that take their time to open: held meanwhile, one at a time, and given up (W 9.1 to 9.3)."""

from typing import Any

import pytest

from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.northbound import RunnerConnection
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.testing import ask, said, tell
from fleetgate.protocols.kodelet.wire import RunOpen
from fleetgate.protocols.testing import SECOND, Playbook


def takes(asked: RunOpen) -> float:
    return 2.0 if asked.conversation_id.startswith("slow") else 0.0


def play_slow() -> Playbook:
    return Playbook(RunnerConnection(RunnerSettings(workspace="/srv/project"), takes))


def open_(id: str, run: str, conversation: str) -> bytes:
    return ask(id, "run.open", {"runId": run, "conversationId": conversation})


def answers(play: Playbook) -> dict[str, Any]:
    """What is answered, by the request's id: the error's code, or the result."""
    return {
        each["id"]: each["error"]["code"] if "error" in each else each["result"]
        for each in said(play.take())
        if "id" in each
    }


def test_a_run_that_opens_is_held_and_nothing_can_be_done_in_it() -> None:
    with t.attached(play_slow()) as play:
        play.receive(open_("o", "r1", "slow")).take()
        play.receive(open_("again", "r1", "c"))
        assert answers(play) == {"again": -32001}
        play.receive(open_("other", "r2", "slow"))
        assert answers(play) == {"other": -32003}
        for method in ("command.execute", "lifecycle.dispatch"):
            play.receive(ask("x", method, {"runId": "r1", "event": "agent.start"}))
            (refused,) = said(play.take())
            assert refused["error"] == {
                "code": -32000,
                "message": "runner environment is not ready",
            }
        play.tick()
        assert answers(play)["o"]["runId"] == "r1"
        play.receive(ask("y", "lifecycle.dispatch", {"runId": "r1", "event": "agent.start"}))
        assert answers(play) == {"y": {}}


def test_case_39_a_heartbeat_names_it() -> None:
    with t.attached(play_slow()) as play:
        play.now += 14 * SECOND
        play.receive(open_("o", "r1", "slow")).take()
        play.tick()
        (beat,) = said(play.take())
        assert beat["params"]["state"] == "running"
        assert beat["params"]["activeRunIds"] == ["r1"]


def test_one_opens_at_a_time() -> None:
    with t.attached(play_slow()) as play:
        for number, conversation in enumerate(("slow1", "quick", "slow2")):
            play.receive(open_(f"o{number}", f"r{number}", conversation)).take()
        play.tick()
        assert list(answers(play)) == ["o0", "o1"]
        play.tick()
        assert list(answers(play)) == ["o2"]


@pytest.mark.parametrize(
    ("frame", "answered"),
    [
        (tell("operation.cancel", {"requestId": "o0"}), {"o0": -32000}),
        (ask("c", "run.cancel", {"runId": "r0"}), {"c": None, "o0": -32000}),
        (ask("c", "run.close", {"runId": "r0"}), {"o0": -32000, "c": None}),
    ],
)
def test_one_that_is_given_up_is_gone_and_the_next_one_opens(
    frame: bytes, answered: dict[str, Any]
) -> None:
    with t.attached(play_slow()) as play:
        play.receive(open_("o0", "r0", "slow0")).take()
        play.receive(open_("o1", "r1", "slow1")).take()
        play.now += SECOND
        given_up = play.now
        play.receive(frame)
        assert answers(play) == answered
        play.receive(ask("d", "run.close", {"runId": "r0"}))
        assert answers(play) == {"d": -32002}
        play.tick()
        assert list(answers(play)) == ["o1"]
        assert play.now == given_up + 2 * SECOND


def test_one_that_waits_in_line_can_be_given_up_too() -> None:
    with t.attached(play_slow()) as play:
        for number in range(3):
            play.receive(open_(f"o{number}", f"r{number}", f"slow{number}")).take()
        play.receive(ask("c", "run.close", {"runId": "r1"}))
        assert answers(play) == {"o1": -32000, "c": None}
        play.receive(tell("operation.cancel", {"requestId": "nobody's"})).take()
        play.tick()
        assert list(answers(play)) == ["o0"]
        play.tick()
        assert list(answers(play)) == ["o2"]
