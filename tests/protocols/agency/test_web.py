"""An MCP client's conversation (cases g57, g59)."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, ProviderList, RunList
from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.errors import RunNotFound, Unavailable
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.run import Run
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.encode import encode_event
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.agency.web import MOST_READ, WebConnection
from fleetgate.protocols.agency.wire import MAX_FRAME
from fleetgate.protocols.api import Close, Follow, Opening, Report, Send, Steps, Submit, Unfollow
from fleetgate.protocols.testing import Playbook, number

KEY = "k" * 32
OFFER = {"host": "x", "sec-websocket-protocol": f"mcp, agency-proxy.{KEY}"}
OPENING = Opening(link="gui", headers=OFFER, identify=lambda key: "gui" if key == KEY else None)
RUN = RunId("gui/r")
REQUEST: Any = {
    "provider": "claude",
    "model": "",
    "prompt": "p",
    "permission": "plan",
    "approvals": False,
    "interactive": False,
    "workspaceRoots": ["/w"],
}


@contextmanager
def opened(**settings: Any) -> Generator[Playbook]:
    with Playbook(WebConnection(AgencyNorthboundSettings(**settings))) as play:
        play.opened(OPENING).expect()
        yield play


def ask(play: Playbook, method: str, params: Any = None, id: Any = 1) -> None:
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    play.receive(json.dumps(message).encode())


def call(play: Playbook, tool: str, id: Any = 1, **arguments: Any) -> None:
    ask(play, "tools/call", {"name": tool, "arguments": arguments}, id)


def said(steps: Steps) -> list[Any]:
    return [json.loads(step.frame) for step in steps if isinstance(step, Send)]


def asked(play: Playbook) -> Submit:
    (submit,) = (step for step in play.take() if isinstance(step, Submit))
    return submit


def result(steps: Steps, id: Any = 1) -> Any:
    (message,) = said(steps)
    assert message["id"] == id
    content = message["result"]["structuredContent"]
    if not message["result"]["isError"]:
        assert json.loads(message["result"]["content"][0]["text"]) == content
    return content


def run(last: int = 0) -> Run:
    made = Run(RUN, RunSpec(Prompt("p", provider="claude")), c.Origin("gui", "r"), 1)
    return attrs.evolve(made, last_seq=Seq(last))


def texts(*words: str, first: int = 1) -> Any:
    return number(RUN, *(e.TextProduced(word) for word in words), first=first)


def test_a_key_that_cannot_be_judged_now_ends_the_link_as_a_wrong_one_does() -> None:
    def identify(key: str) -> str | None:
        raise Unavailable("try again")

    with Playbook(WebConnection(AgencyNorthboundSettings())) as play:
        play.opened(attrs.evolve(OPENING, identify=identify)).expect(Close(None, "try again"))


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "x"},
        {"host": "x", "sec-websocket-protocol": "mcp"},
        {"host": "x", "sec-websocket-protocol": f"agency-proxy.{'x' * 32}"},
        {"host": "x", "sec-websocket-protocol": f"agency-proxy.{KEY[:31]}"},
    ],
)
def test_case_g57_without_the_key_the_link_ends_and_nothing_was_said(headers: Any) -> None:
    with Playbook(WebConnection(AgencyNorthboundSettings())) as play:
        play.opened(attrs.evolve(OPENING, headers=headers))
        play.expect(Close(None, "no key among the subprotocols"))


def test_initialize_ping_and_the_list_of_tools() -> None:
    with opened() as play:
        ask(play, "initialize", {"anything": 1})
        (message,) = said(play.take())
        assert message["result"] == {
            "capabilities": {"tools": {}},
            "protocolVersion": "2025-06-18",
            "serverInfo": {"name": "agency-proxy", "version": "0.1.6"},
        }
        ask(play, "ping")
        assert said(play.take())[0]["result"] == {}
        ask(play, "tools/list")
        assert len(said(play.take())[0]["result"]["tools"]) == 11
        ask(play, "nope")
        assert said(play.take())[0]["error"] == {
            "code": -32601,
            "message": "Method not found: nope",
        }
        play.receive(b'{"jsonrpc":"2.0","method":"notifications/initialized"}').expect()
        play.receive(b"{nope")
        assert said(play.take())[0]["error"]["code"] == -32600


def test_a_run_is_started_cancelled_and_listed() -> None:
    with opened() as play:
        call(play, "start_run", runId="r", request=REQUEST)
        submit = asked(play)
        assert isinstance(submit.command, c.StartRun)
        assert submit.command.run == RUN
        play.reply(submit.reply_to, Accepted(None, run()))
        assert result(play.take()) == {"accepted": True}
        call(play, "cancel_run", runId="r")
        submit = asked(play)
        play.reply(submit.reply_to, RunNotFound("x"))
        assert result(play.take())["error"] == {
            "appCode": 100404,
            "kind": "NotFound",
            "params": {"message": "run does not exist"},
        }
        call(play, "list_runs", "list")
        submit = asked(play)
        play.reply(submit.reply_to, RunList((run(3),)))
        (listed,) = result(play.take(), "list")["runs"]
        assert (listed["runId"], listed["latestSequence"]) == ("r", 3)


def test_providers() -> None:
    with opened() as play:
        call(play, "probe_providers")
        submit = asked(play)
        play.reply(submit.reply_to, ProviderList(()))
        assert result(play.take())["providers"][0]["provider"] == "claude"


def test_arguments_that_cannot_be_read_are_refused_and_the_link_lives() -> None:
    with opened() as play:
        call(play, "start_run", runId="r", request={**REQUEST, "approvals": 1})
        (message,) = said(play.take())
        assert message["error"]["code"] == -32602
        assert message["error"]["message"].startswith("Invalid params: ")
        call(play, "start_run", runId="r", request={**REQUEST, "permission": "root"})
        submit = asked(play)
        play.reply(submit.reply_to, RunNotFound("x"))
        assert result(play.take())["error"]["appCode"] == 100400


def attach(play: Playbook, tool: str, last: int, **arguments: Any) -> Steps:
    call(play, tool, runId="r", **arguments)
    submit = asked(play)
    play.reply(submit.reply_to, Accepted(run(last), run(last)))
    return play.take()


def test_a_run_is_read_up_to_where_it_is_and_then_let_go() -> None:
    with opened() as play:
        steps = attach(play, "read_run", 2)
        assert Follow(RUN, Seq(0)) in steps
        assert said(steps) == []
        play.deliver(texts("a", "b", "c"))
        steps = play.take()
        assert Unfollow(RUN) in steps
        read = result([step for step in steps if isinstance(step, Send)])
        assert read["run"]["latestSequence"] == 2
        assert read["events"] == [
            {"event": {"payload": "a", "type": "text"}, "sequence": 1},
            {"event": {"payload": "b", "type": "text"}, "sequence": 2},
        ]


def test_a_run_with_nothing_new_is_read_at_once() -> None:
    with opened() as play:
        steps = attach(play, "read_run", 2, afterSequence=2)
        assert result([s for s in steps if isinstance(s, Send)])["events"] == []


def test_a_subscription_goes_on_where_its_answer_ended() -> None:
    with opened() as play:
        attach(play, "subscribe_run", 1)
        play.deliver(texts("a", "b"))
        first, second = said(play.take())
        assert [each["sequence"] for each in first["result"]["structuredContent"]["events"]] == [1]
        assert second == {
            "jsonrpc": "2.0",
            "method": "notifications/run_event",
            "params": {"event": {"payload": "b", "type": "text"}, "runId": "r", "sequence": 2},
        }
        attach(play, "read_run", 2)
        play.deliver(texts("a", "b"))
        assert len(said(play.take())) == 1
        play.deliver(texts("c", first=3))
        assert said(play.take())[0]["params"]["sequence"] == 3
        call(play, "unsubscribe_run", runId="r")
        steps = play.take()
        assert Unfollow(RUN) in steps
        assert result([s for s in steps if isinstance(s, Send)]) == {"removed": True}
        call(play, "unsubscribe_run", runId="r")
        assert result(play.take()) == {"removed": False}


@pytest.mark.limit("protocols/agency/web.MOST_READ")
def test_i9_a_reading_is_bounded_and_a_subscription_brings_the_rest() -> None:
    with opened() as play:
        attach(play, "subscribe_run", 9)
        big = "x" * 60_000
        play.deliver(texts(*[big] * 9))
        messages = said(play.take())
        read = messages[0]["result"]["structuredContent"]["events"]
        assert len(read) == -(-MOST_READ // 60_000)
        rest = [each["params"]["sequence"] for each in messages[1:]]
        assert [each["sequence"] for each in read] + rest == list(range(1, 10))


def tool_of(size: int) -> e.ToolCalled:
    return e.ToolCalled("t", {"text": "x" * size})


def test_i9_an_event_that_fits_a_frame_of_the_socket_and_no_notification_is_left_out() -> None:
    empty = encode_event("r", 1, w.ToolCall("t", {"text": ""}))
    with opened() as play:
        attach(play, "subscribe_run", 0)
        play.deliver(number(RUN, tool_of(MAX_FRAME - len(empty)), e.TextProduced("next")))
        report, sent = play.take()
        assert isinstance(report, Report)
        assert report.what == "event_left_out"
        assert said([sent])[0]["params"]["sequence"] == 2


def test_i9_an_answer_that_no_frame_holds_is_a_failure_that_says_so() -> None:
    with opened() as play:
        attach(play, "read_run", 1)
        play.deliver(number(RUN, tool_of(600_000)))
        error = result([step for step in play.take() if isinstance(step, Send)])["error"]
        assert error["appCode"] == 100500
        assert "the limit is" in error["params"]["message"]


def test_a_reading_that_another_takes_over_is_answered_with_what_came() -> None:
    with opened() as play:
        attach(play, "read_run", 3)
        play.deliver(texts("a")).expect()
        steps = attach(play, "read_run", 3)
        assert len(result([s for s in steps if isinstance(s, Send)])["events"]) == 1


def test_case_g59_while_the_gateway_drains_an_open_link_works_on() -> None:
    with opened() as play:
        play.drain().expect()
        call(play, "start_run", runId="r", request=REQUEST)
        assert isinstance(asked(play).command, c.StartRun)
