"""Slash commands and lifecycle events at a runner."""

from typing import Any

from fleetgate.core import events as e
from fleetgate.core.commands import Prompt
from fleetgate.core.errors import NoRoute
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.testing import ask, said
from fleetgate.protocols.kodelet.tools import CommandSettings
from fleetgate.protocols.testing import Playbook, number

OK = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))


def one(play: Playbook) -> Any:
    (message,) = said(play.take())
    return message


def error(play: Playbook, frame: bytes) -> Any:
    play.receive(frame)
    return one(play)["error"]


def test_text_without_a_slash_is_no_command() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        play.receive(ask("s", "command.execute", {"runId": "r1", "message": "list the files"}))
        assert one(play) == {"id": "s", "result": {"matched": False}}


def test_a_slash_command_starts_a_prompt_and_responds_with_what_it_says() -> None:
    with t.attached(t.play_runner(commands=(CommandSettings("ask"),))) as play:
        t.open_run(play)
        play.receive(ask("s", "command.execute", {"runId": "r1", "message": "/ask why not "}))
        (submit,) = play.take()
        assert submit.command.spec.input == Prompt("why not")
        run = t.accept(play, submit)
        play.deliver(number(run, e.TextProduced("because"), OK))
        assert said(play.take())[0]["result"] == {
            "matched": True,
            "action": "respond",
            "commandName": "ask",
            "response": "because",
        }


def test_a_slash_command_that_is_refused_says_so() -> None:
    with t.attached(t.play_runner(commands=(CommandSettings("ask"),))) as play:
        t.open_run(play)
        play.receive(ask("s", "command.execute", {"runId": "r1", "message": "/ask x"}))
        (submit,) = play.take()
        play.reply(submit.reply_to, NoRoute("add a route"))
        assert one(play)["result"]["response"] == "no_route: add a route"


def test_w_15_1_lifecycle_events_are_echoed() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        params = {"runId": "r1", "event": "user.message", "message": "list the files"}
        play.receive(ask("server:3", "lifecycle.dispatch", params))
        assert one(play) == {"id": "server:3", "result": {"message": "list the files"}}


def test_w_4_4_an_input_is_echoed_in_its_own_spelling() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        given = b'{"runId":"r1","event":"tool.call","toolInput": {"b":1E2, "a":[1.50,-0]}}'
        play.receive(
            b'{"jsonrpc":"2.0","id":"s","method":"lifecycle.dispatch","params":%s}' % given
        )
        (sent,) = play.take()
        assert b'"result":{"toolInput":{"b":1E2,"a":[1.50,-0]}}' in sent.frame
