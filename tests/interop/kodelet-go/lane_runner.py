"""A runner of ours under the control plane in Go, which checks each manifest's digest."""

from __future__ import annotations

from pathlib import Path

import pytest
from peers import Line, Peer, Start

TOKEN = "s3cret"


def begin(fake: Start, genuine: Start, folder: Path) -> tuple[Peer, str]:
    """The control plane, and the runner's id once it is registered."""
    plane = genuine("plane", "-token", TOKEN)
    address = plane.until(event="ready")["address"]
    work = folder / "work"
    work.mkdir()
    words = ("--workspace", str(work), "--state", str(folder / "state"), "--token", TOKEN)
    fake("kodelet-runner", "--server", address, *words)
    return plane, plane.until(event="link", state="up")["runner"]


def open_run(plane: Peer, runner: str, run: str, conv: str = "c1") -> Line:
    """Ask until the runner's first heartbeat has come; what became of the run."""
    said: list[Line] = []

    def taken() -> bool:
        plane.tell("open", runner=runner, run=run, conv=conv)
        said.append(
            plane.event(lambda line: line.get("run") == run or "heartbeat" in line.get("why", ""))
        )
        return bool(said[-1]["event"] != "bad")

    plane.until_true(taken, "the runner takes the run")
    assert said[-1]["state"] == "running", said[-1]
    return said[-1]


def result(plane: Peer, run: str, call: str) -> Line:
    return plane.until(event="result", run=run, call=call)


def test_a_session(fake: Start, genuine: Start, tmp_path: Path) -> None:
    """A runner of ours registers, opens a run whose digest holds, executes, and closes it."""
    plane, runner = begin(fake, genuine, tmp_path)
    first = open_run(plane, runner, "r1")
    plane.tell("tool", run="r1", call="t1", tool="echo")
    answer = result(plane, "r1", "t1")["result"]
    assert answer["input"] == {}
    assert answer["result"]["structured"]["success"] is True
    plane.tell("tool", run="r1", call="t2", tool="nosuch")
    assert result(plane, "r1", "t2")["result"]["result"]["structured"]["success"] is False
    plane.tell("close", run="r1")
    assert plane.until(event="run", run="r1", state="succeeded")
    assert open_run(plane, runner, "r2")["digest"] == first["digest"]


def test_updates(fake: Start, genuine: Start, tmp_path: Path) -> None:
    """A tool's updates come in order, and then its result."""
    plane, runner = begin(fake, genuine, tmp_path)
    open_run(plane, runner, "r1")
    plane.tell("tool", run="r1", call="t1", tool="stream")
    result(plane, "r1", "t1")
    updates = plane.said(event="update", run="r1")
    sequences = [each["sequence"] for each in updates]
    assert sequences
    assert sequences == sorted(set(sequences))


def test_giving_up(fake: Start, genuine: Start, tmp_path: Path) -> None:
    """A call is given up, a run is cancelled and closed, and its conversation opens again."""
    plane, runner = begin(fake, genuine, tmp_path)
    open_run(plane, runner, "r1")
    plane.tell("tool", run="r1", call="t1", tool="sleep")
    plane.tell("abort", run="r1", call="t1")
    assert "canceled" in result(plane, "r1", "t1")["why"]
    plane.tell("tool", run="r1", call="t2", tool="sleep")
    plane.tell("cancel", run="r1")
    assert result(plane, "r1", "t2")["code"] == -32000
    assert plane.until(event="run", run="r1", state="canceled")
    plane.tell("close", run="r1")
    assert plane.until(event="run", run="r1", state="succeeded")  # closed, as it was asked to be
    open_run(plane, runner, "r2")


def test_too_large_and_questions(fake: Start, genuine: Start, tmp_path: Path) -> None:
    """A result above 4 MiB is refused with its reason; a question of a tool is answered."""
    plane, runner = begin(fake, genuine, tmp_path)
    open_run(plane, runner, "r1")
    plane.tell("tool", run="r1", call="t1", tool="big")
    refused = result(plane, "r1", "t1")
    assert (refused["code"], refused["reason"]) == (-32000, "result_too_large")
    plane.tell("tool", run="r1", call="t2", tool="ask")
    assert "Bob" in str(result(plane, "r1", "t2")["result"])


def test_a_lost_link(fake: Start, genuine: Start, tmp_path: Path) -> None:
    """A link that is cut loses its runs; our runner comes back under its id, a generation on."""
    plane, runner = begin(fake, genuine, tmp_path)
    open_run(plane, runner, "r1")
    plane.tell("drop", runner=runner)
    assert plane.until(event="run", run="r1", state="lost")
    again = plane.until(event="link", state="up")
    assert (again["runner"], again["generation"]) == (runner, 2)
    open_run(plane, runner, "r2")


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_runner_that_is_not_let_in(
    fake: Start, genuine: Start, tmp_path: Path, token: str
) -> None:
    """A runner of ours without a token, or with a wrong one, hears 401, and dials no more."""
    plane = genuine("plane", "-token", TOKEN)
    address = plane.until(event="ready")["address"]
    words = ["--workspace", str(tmp_path), "--state", str(tmp_path / "state")]
    shown = ["--token", token] if token else []
    assert fake("kodelet-runner", "--server", address, *words, *shown).wait() == 3
    assert plane.said(event="link") == []
