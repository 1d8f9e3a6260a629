"""A workspace's changes and its terminal, as runs of the core."""

from typing import Any

import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.commands import RunSpec, Signal, ToolCall
from fleetgate.core.errors import UnsupportedInput, WorkerFailed
from fleetgate.core.events import Reason, RunFinished, RunState
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.protocols.api import Record, Settle, Steps
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.testing import no, rest, said, yes
from fleetgate.protocols.kodelet.workspace import MAX_INPUT, encoded
from fleetgate.protocols.testing import Playbook

RUN = RunId("gui/r1")
OFFERS = {"concurrentRuns": True, "workspaceGitDiff": True, "workspaceTerminal": True}
DIFF = RunSpec(ToolCall("workspace.git.diff"))
TERMINAL = RunSpec(ToolCall("workspace.terminal", {"rows": 5, "cols": "x"}), interactive=True)
OPENED = {"sessionId": "s1", "cwd": "/w", "name": "bash", "pid": 7, "replayCursor": 3}


def events(steps: Steps) -> list[e.Event]:
    return [event for step in steps if isinstance(step, Record) for event in step.events]


def ending(steps: Steps) -> e.Outcome:
    last = events(steps)[-1]
    assert isinstance(last, RunFinished)
    return last.outcome


def begin(play: Playbook, spec: RunSpec) -> Any:
    play.perform(t.start_order(spec=spec))
    (message,) = said(play.take())
    return message


def reading(play: Playbook) -> str:
    """A terminal that is open and read from; the id of the read."""
    opening = begin(play, TERMINAL)
    assert opening["method"] == "workspace.terminal.open"
    assert opening["params"] == {"rows": 5}
    play.receive(yes(opening["id"], OPENED))
    steps = play.take()
    assert events(steps) == [e.RunStarted(pid=7)]
    (message,) = said(steps)
    assert message["params"] == {"sessionId": "s1", "cursor": 3}
    return str(message["id"])


def offering() -> Any:
    return t.ready(t.play_control_plane(), capabilities=OFFERS)


@pytest.mark.parametrize("spec", [DIFF, TERMINAL])
def test_what_a_runner_does_not_offer_is_refused_and_nothing_is_sent(spec: RunSpec) -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order(spec=spec))
        steps = play.take()
        assert said(steps) == []
        assert ending(steps).reason is Reason.REFUSED
        assert "0.5.36" in ending(steps).message


def test_a_diff_is_the_run_s_text() -> None:
    with offering() as play:
        asked = begin(play, DIFF)
        assert (asked["method"], asked["params"]) == ("workspace.git.diff", {})
        found = {"cwd": "/w", "diff": "+a\n", "hasDiff": True, "exitCode": 0, "truncated": True}
        play.receive(yes(asked["id"], found))
        steps = play.take()
        assert events(steps)[:2] == [e.RunStarted(), e.TextProduced("+a\n")]
        assert ending(steps).text == "+a\n"
        assert any(isinstance(event, e.Diagnosed) for event in events(steps))


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (lambda id: no(id, -32603, "no repository"), RunState.FAILED),
        (lambda id: yes(id, []), RunState.LOST),
        (lambda id: yes(id, {"exitCode": "1"}), RunState.LOST),
    ],
)
def test_a_diff_that_fails(answer: Any, state: RunState) -> None:
    with offering() as play:
        play.receive(answer(begin(play, DIFF)["id"]))
        assert ending(play.take()).state is state


def test_a_terminal_is_read_from_until_it_has_ended() -> None:
    with offering() as play:
        id = reading(play)
        play.receive(yes(id, {"data": encoded(b"$ "), "nextCursor": 5}))
        steps = play.take()
        assert events(steps) == [e.OutputProduced(e.Stream.STDOUT, b"$ ", 3)]
        (again,) = said(steps)
        assert again["params"]["cursor"] == 5
        play.receive(yes(again["id"], {"nextCursor": 5}))
        (again,) = said(play.take())
        late = {"data": encoded(b"x"), "nextCursor": 10, "truncated": True}
        play.receive(yes(again["id"], late))
        steps = play.take()
        assert [type(event).__name__ for event in events(steps)] == ["Diagnosed", "OutputProduced"]
        over = {"nextCursor": 10, "exited": True, "exitCode": 2}
        play.receive(yes(said(steps)[0]["id"], over))
        assert (ending(play.take()).exit_code) == 2


@pytest.mark.parametrize(
    "output",
    [
        {"data": encoded(b"ab"), "nextCursor": 4},
        {"data": encoded(b"ab"), "nextCursor": 9},
        {"data": "?", "nextCursor": 3},
    ],
)
def test_output_that_does_not_go_on_where_it_ended_is_no_answer(output: Any) -> None:
    with offering() as play:
        play.receive(yes(reading(play), output))
        assert ending(play.take()).state is RunState.LOST


def order(number: int, command: c.RunCommand) -> c.Order:
    return t.order("gui/r1", number, command)


def test_input_and_size_go_to_the_terminal_and_are_settled_by_its_answer() -> None:
    with offering() as play:
        reading(play)
        play.perform(order(1, c.SendInput(RUN, b"ls", newline=True)))
        (sent,) = said(play.take())
        assert sent["params"] == {"sessionId": "s1", "data": encoded(b"ls\n")}
        play.receive(yes(sent["id"])).expect(Settle(RUN, OrderNumber(1)))
        play.perform(order(2, c.ResizeTerminal(RUN, 10, 20)))
        (sent,) = said(play.take())
        assert sent["params"] == {"sessionId": "s1", "rows": 10, "cols": 20}
        play.receive(no(sent["id"], -32000, "terminal session is closed"))
        (settled,) = play.take()
        assert isinstance(settled.error, WorkerFailed)
        play.perform(order(3, c.SignalRun(RUN, Signal.INTERRUPT)))
        assert said(play.take())[0]["params"]["data"] == encoded(b"\x03")


def test_long_input_goes_in_pieces_and_the_last_one_settles_it() -> None:
    with offering() as play:
        reading(play)
        play.perform(order(1, c.SendInput(RUN, b"x" * (MAX_INPUT + 1))))
        first, second = said(play.take())
        play.receive(yes(first["id"])).expect()
        play.receive(yes(second["id"])).expect(Settle(RUN, OrderNumber(1)))


def test_a_cancel_lets_the_terminal_go_which_lives_on() -> None:
    with offering() as play:
        id = reading(play)
        play.perform(order(1, c.CancelRun(RUN)))
        steps = play.take()
        assert rest(steps)[0] == Settle(RUN, OrderNumber(1))
        assert ending(steps).state is RunState.CANCELED
        (stop,) = said(steps)
        assert stop == {"method": "operation.cancel", "params": {"requestId": id}}


def test_what_a_workspace_has_no_word_for() -> None:
    with offering() as play:
        begin(play, DIFF)
        play.perform(order(1, c.SendInput(RUN, b"x")))
        (settled,) = play.take()
        assert isinstance(settled.error, UnsupportedInput)


@pytest.mark.parametrize("spec", [DIFF, TERMINAL])
def test_the_end_of_the_link_loses_it(spec: RunSpec) -> None:
    with offering() as play:
        begin(play, spec)
        play.closed("cut")
        assert ending(play.take()).state is RunState.LOST


def test_a_newcomer_s_admission_deals_with_it() -> None:
    with offering() as play:
        begin(play, DIFF)
        play.fenced().take()
        play.closed().expect()


@pytest.mark.limit("protocols/kodelet/errands._PIECE")
def test_i9_a_long_diff_comes_in_pieces() -> None:
    with offering() as play:
        asked = begin(play, DIFF)
        found = {"cwd": "/w", "diff": "é" * 40_000, "hasDiff": True, "exitCode": 0}
        play.receive(yes(asked["id"], found))
        steps = play.take()
        texts = [each.text for each in events(steps) if isinstance(each, e.TextProduced)]
        assert [len(text) for text in texts] == [16_384, 16_384, 7_232]
        assert "".join(texts) == "é" * 40_000
        assert ending(steps).text is None
