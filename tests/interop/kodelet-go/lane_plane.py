"""A runner in Go at a control plane of ours."""

from __future__ import annotations

import pytest
from peers import Line, Peer, Start

TOKEN = "s3cret"


def begin(fake: Start, genuine: Start) -> tuple[Peer, Peer, str]:
    """Both, and the runner's id once it is ready."""
    plane = fake("kodelet-control-plane", "--listen", "127.0.0.1:0", "--token", TOKEN)
    address = plane.until(event="ready")["address"]
    runner = genuine("runner", "-at", address, "-token", TOKEN)
    return plane, runner, ready(plane)


def ready(plane: Peer, generation: int = 1) -> str:
    """The id of the one runner, once it takes runs."""

    def idle(answer: Line) -> list[str]:
        return [
            str(each["id"])
            for each in answer["runners"]
            if each["status"] == "idle" and each["generation"] == generation
        ]

    answer = plane.ask_until(lambda said: bool(idle(said)), "the runner is idle", op="runners")
    (runner,) = idle(answer)
    return runner


def open_run(plane: Peer, runner: str, run: str, conv: str = "c1") -> Line:
    answer = plane.ask("open", runner=runner, run=run, conv=conv, caps={"interactiveUI": True})
    assert answer["ok"], answer
    return answer["manifest"]


def call(plane: Peer, run: str, tool: str, **how: object) -> Line:
    return plane.ask("tool", run=run, call=f"{run}-{tool}", tool=tool, **how)


def test_a_session(fake: Start, genuine: Start) -> None:
    """A runner registers, opens a run whose digest holds, calls tools, and closes it."""
    plane, _, runner = begin(fake, genuine)
    manifest = open_run(plane, runner, "r1")
    assert [each["name"] for each in manifest["tools"]] == [
        "ask", "big", "echo", "sleep", "stream", "stubborn",
    ]  # fmt: skip
    answer = call(plane, "r1", "echo", input={"a": [1.5, "<é>", None]})
    assert answer["result"]["input"] == {"a": [1.5, "<é>", None]}
    assert answer["result"]["result"]["assistantFacing"] == "echoed"
    failed = call(plane, "r1", "nosuch")["result"]["result"]
    assert failed["structured"]["success"] is False
    assert plane.ask("close", run="r1")["run"]["status"] == "succeeded"
    assert open_run(plane, runner, "r2")["digest"] == manifest["digest"]


def test_updates(fake: Start, genuine: Start) -> None:
    """A tool's updates come in order, each the whole so far, and then its result."""
    plane, _, runner = begin(fake, genuine)
    open_run(plane, runner, "r1")
    sent = plane.send(op="tool", run="r1", call="t1", tool="stream", updates=True)
    seen: list[tuple[int, str]] = []
    while "ok" not in (line := plane.answer(sent)):
        update = line["update"]
        seen.append((update["sequence"], update["result"]["assistantFacing"]))
    assert seen == [(1, "a"), (2, "ab"), (3, "abc")]
    assert line["result"]["result"]["assistantFacing"] == "abc"


def test_giving_up(fake: Start, genuine: Start) -> None:
    """A call is given up, a run is cancelled and closed, and its conversation opens again."""
    plane, _, runner = begin(fake, genuine)
    open_run(plane, runner, "r1")
    sent = plane.send(op="tool", run="r1", call="t1", tool="sleep")
    assert plane.ask("abort", reason=sent)["ok"]
    assert plane.answer(sent)["error"]["code"] == "no_answer"
    hanging = plane.send(op="tool", run="r1", call="t2", tool="sleep")
    assert plane.ask("cancel", run="r1")["ok"]
    assert plane.answer(hanging)["error"]["code"] == "-32000"
    assert plane.ask("close", run="r1", status="canceled")["run"]["status"] == "canceled"
    open_run(plane, runner, "r2")


def test_too_large_and_questions(fake: Start, genuine: Start) -> None:
    """A result above 4 MiB is refused with its reason; a question of a tool is answered."""
    plane, _, runner = begin(fake, genuine)
    open_run(plane, runner, "r1")
    error = call(plane, "r1", "big")["error"]
    assert (error["code"], error["data"]) == ("-32000", {"reason": "result_too_large"})
    answer = call(plane, "r1", "ask")
    assert plane.until(event="ui")["method"] == "ui.input"
    assert '"submitted"' in answer["result"]["result"]["assistantFacing"]


def test_a_lost_link(fake: Start, genuine: Start) -> None:
    """A link that is cut loses its runs; the runner comes back under its id, a generation on."""
    plane, peer, runner = begin(fake, genuine)
    open_run(plane, runner, "r1")
    peer.tell("drop")
    assert plane.until(event="transport_end")["runner"] == runner
    assert plane.ask("run", run="r1")["run"]["status"] == "lost"
    assert ready(plane, 2) == runner
    open_run(plane, runner, "r2")


@pytest.mark.parametrize(
    ("tool", "state"), [("echo", "succeeded"), ("nosuch", "failed"), ("big", "failed")]
)
def test_a_run_of_ours(fake: Start, genuine: Start, tool: str, state: str) -> None:
    """A run of the fleet is a call at the runner, and ends as that does."""
    plane, _, _ = begin(fake, genuine)
    assert plane.ask("start", run="r1", input={"tool": tool, "arguments": {}})["ok"]
    assert plane.ask("wait", run="r1")["state"] == state


def test_a_runner_that_is_not_let_in(fake: Start, genuine: Start) -> None:
    """A runner with a wrong token hears 401, and dials no more."""
    plane = fake("kodelet-control-plane", "--listen", "127.0.0.1:0", "--token", TOKEN)
    address = plane.until(event="ready")["address"]
    runner = genuine("runner", "-at", address, "-token", "wrong")
    assert "401" in runner.until(event="final")["why"]
    assert runner.wait() == 3
