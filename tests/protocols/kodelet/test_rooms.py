"""A runner's workspace: what has changed in it, and its one terminal."""

from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted
from fleetgate.core.commands import ShellCommand
from fleetgate.core.errors import NoRoute, RunEnded, Unavailable
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.protocols.api import Ack, Follow, Submit, Unfollow
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.testing import ask, frame, rest, said, tell
from fleetgate.protocols.kodelet.workspace import MAX_DIFF, MAX_INPUT, encoded
from fleetgate.protocols.testing import Playbook, number

SETTINGS: Any = {"git_diff": ("git", "diff"), "terminal": ("/bin/bash", "-i")}


def attached() -> Any:
    return t.attached(t.play_runner(**SETTINGS))


def one(play: Playbook) -> Any:
    (message,) = said(play.take())
    return message


def asked(play: Playbook, method: str, params: Any = None, id: str = "s:1") -> None:
    play.receive(ask(id, f"workspace.{method}", params if params is not None else {}))


def started(play: Playbook) -> Submit:
    (submit,) = rest(play.take())
    assert isinstance(submit, Submit)
    return submit


def out(text: bytes) -> e.OutputProduced:
    return e.OutputProduced(e.Stream.STDOUT, text)


def over(code: int | None, state: RunState = RunState.SUCCEEDED) -> RunFinished:
    return RunFinished(Outcome(state, Reason.EXITED, exit_code=code))


def test_what_is_offered_is_said_at_the_registration() -> None:
    with t.play_runner(**SETTINGS) as play:
        (message,) = said(t.dial(play))
        assert message["params"]["capabilities"] == {
            "concurrentRuns": True,
            "workspaceGitDiff": True,
            "workspaceTerminal": True,
        }


@pytest.mark.parametrize("method", ["git.diff", "terminal.open", "terminal.read", "terminal.x"])
def test_what_is_not_offered_is_not_known(method: str) -> None:
    with t.attached(t.play_runner()) as play:
        asked(play, method)
        assert one(play)["error"]["code"] == -32601


def test_a_method_that_never_was() -> None:
    with attached() as play:
        asked(play, "terminal.signal")
        assert one(play)["error"]["code"] == -32601


# --- git diff


def begin_diff(play: Playbook) -> RunId:
    asked(play, "git.diff")
    submit = started(play)
    assert isinstance(submit.command, c.StartRun)
    given = submit.command.spec.input
    assert given == ShellCommand(argv=("git", "diff"), cwd="/srv/project")
    play.reply(submit.reply_to, Accepted(None, None))
    play.expect(Follow(submit.command.run, Seq(0)))
    return submit.command.run


@pytest.mark.limit("protocols/kodelet/workspace.MAX_DIFF")
@pytest.mark.parametrize(
    ("text", "code", "more"),
    [
        (b"", 0, {"hasDiff": False}),
        (b"+a\n", 1, {"hasDiff": True}),
        (b"x" * (MAX_DIFF + 1), 0, {"hasDiff": True, "truncated": True}),
    ],
)
def test_a_diff(text: bytes, code: int, more: Any) -> None:
    with attached() as play:
        run = begin_diff(play)
        play.deliver(number(run, e.RunStarted(), out(text), over(code)))
        steps = play.take()
        assert rest(steps) == [Ack(run, 3), Unfollow(run)]
        (answer,) = said(steps)
        assert answer["result"] == {
            "cwd": "/srv/project",
            "diff": text[:MAX_DIFF].decode(),
            "exitCode": code,
            **more,
        }


def test_a_diff_whose_start_is_still_open_is_asked_again() -> None:
    with attached() as play:
        asked(play, "git.diff")
        first = started(play)
        again = attrs.evolve(first, again=True)
        play.reply(first.reply_to, Unavailable("not in time", open=True)).expect(again)


def test_a_diff_that_fails_is_refused_or_cancelled() -> None:
    with attached() as play:
        play.deliver(number(begin_diff(play), over(128, RunState.FAILED)))
        assert one(play)["error"] == {"code": -32603, "message": "git diff failed: exit code 128"}
        asked(play, "git.diff")
        play.reply(started(play).reply_to, NoRoute("no route"))
        assert one(play)["error"]["code"] == -32603
        run = begin_diff(play)
        play.receive(tell("operation.cancel", {"requestId": "s:1"}))
        assert isinstance(started(play).command, c.CancelRun)
        play.deliver(number(run, over(None, RunState.CANCELED)))
        assert one(play)["error"] == {"code": -32000, "message": "context canceled"}
        play.receive(frame(id="x", method="workspace.git.diff"))
        assert one(play)["error"]["code"] == -32602


# --- the terminal


def begin_terminal(play: Playbook) -> tuple[RunId, str]:
    asked(play, "terminal.open", {"rows": 10})
    submit = started(play)
    assert isinstance(submit.command, c.StartRun)
    assert submit.command.spec.interactive
    asked(play, "terminal.open", id="s:2")
    assert one(play)["error"]["code"] == -32000
    play.reply(submit.reply_to, Accepted(None, None))
    (answer,) = said(play.take())
    opened = answer["result"]
    assert opened["sessionId"].startswith("terminal-")
    assert (opened["name"], opened["cwd"], opened["writeCursor"]) == ("bash", "/srv/project", 0)
    return submit.command.run, opened["sessionId"]


def read(play: Playbook, session: str, cursor: int, id: str = "r:1", **more: Any) -> None:
    asked(play, "terminal.read", {"sessionId": session, "cursor": cursor, **more}, id)


def test_a_terminal_is_read_at_once_later_and_to_its_end() -> None:
    with attached() as play:
        run, session = begin_terminal(play)
        play.deliver(number(run, e.RunStarted(), out(b"$ "))).expect()
        read(play, session, 0)
        assert one(play)["result"] == {"data": encoded(b"$ "), "nextCursor": 2}
        read(play, session, 2)
        play.take()
        play.deliver(number(run, out(b"ls"), first=3))
        assert one(play)["result"] == {"data": encoded(b"ls"), "nextCursor": 4}
        read(play, session, 4)
        play.take()
        play.deliver(number(run, over(3), first=4))
        assert one(play)["result"] == {"nextCursor": 4, "exited": True, "exitCode": 3}
        asked(play, "terminal.input", {"sessionId": session, "data": ""})
        assert one(play)["error"] == {"code": -32000, "message": "terminal session is closed"}
        asked(play, "terminal.open")
        assert isinstance(started(play).command, c.StartRun)


def test_a_read_waits_so_long_and_can_be_given_up() -> None:
    with attached() as play:
        _, session = begin_terminal(play)
        read(play, session, 0, waitMs=1)
        play.take()
        play.tick()
        assert one(play) == {"id": "r:1", "result": {"nextCursor": 0}}
        read(play, session, 0, "r:2")
        play.take()
        play.receive(tell("operation.cancel", {"requestId": "r:2"}))
        assert one(play)["error"]["message"] == "context canceled"


@pytest.mark.limit("protocols/kodelet/workspace.MAX_INPUT")
@pytest.mark.parametrize(
    ("method", "params", "code", "text"),
    [
        ("terminal.read", {"sessionId": " "}, -32602, "terminal session id is required"),
        ("terminal.read", {"sessionId": "x"}, -32603, "terminal session was not found"),
        ("terminal.read", {"cursor": 1}, -32603, "terminal cursor is ahead of available output"),
        ("terminal.input", {"data": "?"}, -32602, "expected base64"),
        ("terminal.input", {"data": encoded(b"x" * (MAX_INPUT + 1))}, -32603, "exceeds 65536"),
        ("terminal.resize", {"rows": "1"}, -32602, "an integer"),
    ],
)
def test_errors(method: str, params: Any, code: int, text: str) -> None:
    with attached() as play:
        _, session = begin_terminal(play)
        asked(play, method, {"sessionId": session, **params})
        error = one(play)["error"]
        assert error["code"] == code
        assert text in error["message"]


def test_input_and_size_are_orders_of_the_run() -> None:
    with attached() as play:
        run, session = begin_terminal(play)
        asked(play, "terminal.input", {"sessionId": session, "data": encoded(b"ls\n")})
        submit = started(play)
        assert submit.command == c.SendInput(run, b"ls\n")
        play.reply(submit.reply_to, Accepted(None, None))
        assert one(play) == {"id": "s:1", "result": None}
        asked(play, "terminal.resize", {"sessionId": session, "rows": 900, "cols": 0})
        submit = started(play)
        assert submit.command == c.ResizeTerminal(run, 400, 100)
        play.reply(submit.reply_to, RunEnded("x"))
        assert one(play)["error"]["code"] == -32603


def test_opening_it_again_gives_the_same_one_its_new_size() -> None:
    with attached() as play:
        run, session = begin_terminal(play)
        asked(play, "terminal.open", {"rows": 3, "cols": 4})
        steps = play.take()
        assert said(steps)[0]["result"]["sessionId"] == session
        assert rest(steps)[0].command == c.ResizeTerminal(run, 3, 4)


def test_a_terminal_that_does_not_start_leaves_room_for_another() -> None:
    with attached() as play:
        asked(play, "terminal.open")
        play.reply(started(play).reply_to, NoRoute("no route"))
        assert one(play)["error"]["code"] == -32603
        begin_terminal(play)
