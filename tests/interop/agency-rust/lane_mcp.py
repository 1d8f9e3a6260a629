"""MCP over a WebSocket: the same words to the genuine daemon, and to our gateway in front of it."""

from __future__ import annotations

import json
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from houses import GATEWAY, genuine, write_binary
from programs import PATIENCE, Program
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from fleetgate.gateway.demo.stage import free_port

KEY = "agency-interop_0123456789-abcdefghij"
ENDED = ("finished", "failed", "canceled")
SAME = {"reasoning", "text", "tool_call", "tool_result", "rate_limit", "compaction", "finished"}
"""Events of `talk` that our gateway passes on as they are. Whatever else it says is its own."""

CONFIG = """
[gateway]
journal = "sqlite:{folder}/journal/journal.db"

[[north]]
name = "gui"
protocol = "agency"
listen = "ws://{place}/"
tokens = [{{ token = {{ file = "{folder}/key" }}, id = "gui" }}]

[[south]]
name = "daemon"
protocol = "agency"
connect = "unix:{south}"

[[route]]
from = "gui"
to = "daemon"
"""


@contextmanager
def theirs(daemon: Path, folder: Path) -> Iterator[str]:
    """The genuine daemon on a WebSocket."""
    place, config = f"127.0.0.1:{free_port()}", folder / "genuine.json"
    asked = {"type": "web_socket", "address": place, "authenticationKey": KEY}
    config.write_text(json.dumps({"connection": asked}))
    with Program([daemon, "--config", config], listens=False) as program:
        program.until_true(lambda: listens(place), "the genuine daemon listens")
        yield f"ws://{place}/"


@contextmanager
def ours(daemon: Path, folder: Path) -> Iterator[str]:
    """Our gateway on a WebSocket, a genuine daemon behind it on a Unix socket."""
    place = f"127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        behind = stack.enter_context(genuine(daemon, folder))
        (folder / "journal").mkdir()
        (folder / "key").write_text(KEY)
        (folder / "key").chmod(0o600)
        config = folder / "gateway.toml"
        config.write_text(CONFIG.format(folder=folder, place=place, south=behind.socket))
        words = [*GATEWAY, "serve", "--config", str(config)]
        program = stack.enter_context(Program(words, listens=False))
        program.until_true(lambda: listens(place), "the gateway listens")
        yield f"ws://{place}/"


def listens(place: str) -> bool:
    host, _, port = place.partition(":")
    with socket.socket() as tried:
        return tried.connect_ex((host, int(port))) == 0


class Talk:
    """A client's connection."""

    def __init__(self, url: str) -> None:
        offered = [Subprotocol(f"agency-proxy.{KEY}")]
        self.socket = connect(url, subprotocols=offered, compression=None, legacy=True)
        self.binary = ""
        self._count = 0
        self.notices: list[Any] = []

    def say(self, text: str) -> str:
        """Say something that is answered at once; the answer as it came."""
        self.socket.send(text)
        while True:
            came = self.socket.recv(PATIENCE)
            assert isinstance(came, str)
            if "method" not in json.loads(came):
                return came
            self.notices.append(json.loads(came)["params"])

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; its result."""
        self._count += 1
        params = {"name": tool, "arguments": arguments}
        asked = {"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": params}
        answer = json.loads(self.say(json.dumps(asked)))
        assert answer["id"] == self._count
        return answer["result"]

    def start(self, run: str, prompt: str) -> None:
        """Start a run."""
        request = {
            "provider": "claude", "model": "", "permission": "plan", "workspaceRoots": [],
            "approvals": False, "interactive": False, "binary": self.binary, "prompt": prompt,
        }  # fmt: skip
        result = self.call("start_run", runId=run, request=request)
        assert not result["isError"], result

    def told(self, run: str, after: int, last: int) -> list[int]:
        """The numbers of a run's events that come to its subscriber behind those that the
        subscription was answered with, to the last."""
        while True:
            numbers = [each["sequence"] for each in self.notices if each["runId"] == run]
            if last in (after, *numbers):
                return numbers
            self.notices.append(json.loads(self.socket.recv(PATIENCE))["params"])

    def events(self, run: str) -> list[Any]:
        """All events of a run, once it has ended."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            read = self.call("read_run", runId=run, afterSequence=0)["structuredContent"]
            if read["events"] and read["events"][-1]["event"]["type"] in ENDED:
                return list(read["events"])
            time.sleep(0.05)
        raise AssertionError(f"{run} does not end")


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name leaves room for that of a socket."""
    return tmp_path_factory.mktemp("m")


@pytest.fixture
def both(
    daemon: Path, short: Path, record_property: Callable[[str, object], None]
) -> Iterator[tuple[Talk, Talk]]:
    """A connection to each: the genuine one, and ours."""
    record_property("peer", f"agency-proxy {daemon.parents[1].name.removeprefix('daemon-')}")
    with ExitStack() as stack:
        talks = []
        for house in (theirs, ours):
            folder = short / house.__name__
            folder.mkdir()
            talk = Talk(stack.enter_context(house(daemon, folder)))
            stack.callback(talk.socket.close)
            talk.binary = str(write_binary(folder))
            talks.append(talk)
        yield talks[0], talks[1]


def tool(arguments: str, name: str = '"read_run"') -> str:
    return (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        f'"params":{{"name":{name},"arguments":{arguments}}}}}'
    )


SAID = {
    "initialize": '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":1}}',
    "initialize again, without params": '{"jsonrpc":"2.0","id":"é<","method":"initialize"}',
    "a ping": '{"jsonrpc":"2.0","id":0,"method":"ping"}',
    "white space": ' \n{"jsonrpc" : "2.0", "id" : -7, "method" : "ping"}\t',
    "members that nobody knows": '{"x":[],"jsonrpc":"2.0","id":1,"method":"ping","result":1}',
    "an unknown method": '{"jsonrpc":"2.0","id":"a","method":"resources/list"}',
    "an empty method": '{"jsonrpc":"2.0","id":"a","method":""}',
    "no JSON": "not json",
    "an empty text": "",
    "a list": "[]",
    "a batch": '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    "a number": "1",
    "another version": '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "no version": '{"id":1,"method":"ping"}',
    "the library's own protocol": '{"method":1,"seq":1,"params":{}}',
    "something behind it": '{"jsonrpc":"2.0","id":1,"method":"ping"} x',
    "a call without params": '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
    "a call without a name": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
    "a name that is a number": tool("{}", "5"),
    "an unknown tool": tool("{}", '"nothing"'),
    "no arguments": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_runs"}}',
    "arguments that nobody knows": tool('{"x":1}', '"list_runs"'),
    "a run that is not there": tool('{"runId":"none","afterSequence":0}'),
    "a run that is not there, from its start": tool('{"runId":"none"}'),
    "an injection into such a run": tool('{"runId":"none","body":"x"}', '"inject_message"'),
    "a cancel of such a run": tool('{"runId":"none"}', '"cancel_run"'),
    "an end of no subscription": tool('{"runId":"none"}', '"unsubscribe_run"'),
}
"""What is answered with the same bytes."""

NONE = {
    "no method": '{"jsonrpc":"2.0","id":1}',
    "a method that is a number": '{"jsonrpc":"2.0","id":1,"method":5}',
    "an id that is a fraction": '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "an id that is a truth": '{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "an id that is an object": '{"jsonrpc":"2.0","id":{},"method":"ping"}',
}
"""What is no request, and is answered with -32600 and an id that is null."""

WRONG = {
    "arguments that are null": tool("null"),
    "arguments that are a list": tool("[]"),
    "no runId": tool("{}"),
    "a runId that is a number": tool('{"runId":5}'),
    "a sequence below nought": tool('{"runId":"r","afterSequence":-1}'),
    "a sequence that is a text": tool('{"runId":"r","afterSequence":"1"}'),
    "a request that is none": tool('{"runId":"r","request":{"provider":"claude"}}', '"start_run"'),
    "a decision that is none": tool(
        '{"runId":"r","approvalId":"a","decision":"perhaps"}', '"decide_approval"'),
}  # fmt: skip
"""What is answered with the same code; the text behind it is serde's, or ours."""


def test_what_is_said(
    both: tuple[Talk, Talk], record_property: Callable[[str, object], None]
) -> None:
    """What is right and what is not, on MCP's WebSocket: the same answer to the byte"""
    differ = {}
    for name, text in SAID.items():
        answers = [talk.say(text) for talk in both]
        if answers[0] != answers[1]:
            differ[name] = answers
    assert not differ, json.dumps(differ, indent=1)
    record_property("count", len(SAID))


def test_bad_arguments(
    both: tuple[Talk, Talk], record_property: Callable[[str, object], None]
) -> None:
    """Arguments that are none: the same code, and the words that it begins with"""
    for name, text in WRONG.items():
        answers = [json.loads(talk.say(text))["error"] for talk in both]
        for answer in answers:
            assert (name, answer["code"]) == (name, -32602)
            assert answer["message"].startswith("Invalid params: "), (name, answer)
    record_property("count", len(WRONG))


def test_no_requests(
    both: tuple[Talk, Talk], record_property: Callable[[str, object], None]
) -> None:
    """What is JSON-RPC and no request: the same code, and the words that it begins with"""
    for name, text in NONE.items():
        for talk in both:
            answer = json.loads(talk.say(text))
            assert (name, answer["id"], answer["error"]["code"]) == (name, None, -32600)
            assert answer["error"]["message"].startswith("Invalid Request")
    record_property("count", len(NONE))


def test_tools(both: tuple[Talk, Talk]) -> None:
    """The same tools in the same order, and what they are called with"""
    shown = []
    for talk in both:
        listed = json.loads(talk.say('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'))
        schemas = {each["name"]: each["inputSchema"] for each in listed["result"]["tools"]}
        shown.append([
            (name, sorted(schema["properties"]), sorted(schema["required"]))
            for name, schema in schemas.items()
        ])  # fmt: skip
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","method":"nothing"}',
        '{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}',
    ],
)
def test_notifications(both: tuple[Talk, Talk], text: str) -> None:
    """Notifications have no answer, known or not, with null for an id or without one"""
    for talk in both:
        talk.socket.send(text)
        came = json.loads(talk.say('{"jsonrpc":"2.0","id":"last","method":"ping"}'))
        assert (talk is both[0], came) == (
            talk is both[0],
            {"id": "last", "jsonrpc": "2.0", "result": {}},
        )


def test_a_run(both: tuple[Talk, Talk]) -> None:
    """A run is started, subscribed to and read: each event once, in the same words, to its end"""
    run = f"run-{uuid.uuid4().hex[:8]}"
    said = []
    for talk in both:
        talk.start(run, "talk")
        answer = talk.call("subscribe_run", runId=run, afterSequence=0)
        events = talk.events(run)
        numbers = list(range(1, len(events) + 1))
        assert [each["sequence"] for each in events] == numbers
        first = [each["sequence"] for each in answer["structuredContent"]["events"]]
        assert [*first, *talk.told(run, len(first), len(events))] == numbers
        last = {"runId": run, "throughSequence": len(events)}
        assert not talk.call("acknowledge_run", **last)["isError"]
        said.append([each["event"] for each in events])
    genuine, ours = ([each for each in events if each["type"] in SAME] for events in said)
    assert {each["type"] for each in genuine} == SAME
    assert ours == genuine


def test_a_conflict(both: tuple[Talk, Talk]) -> None:
    """A second start of a run, and a control of one that has ended, fail as results"""
    run = f"run-{uuid.uuid4().hex[:8]}"
    for talk in both:
        talk.start(run, "talk")
        talk.events(run)
    failed = [talk.call("start_run", runId=run, request={
        "provider": "claude", "model": "", "permission": "plan", "workspaceRoots": [],
        "approvals": False, "interactive": False, "binary": talk.binary, "prompt": "other",
    }) for talk in both]  # fmt: skip
    assert failed[0]["isError"]
    errors = [each["structuredContent"]["error"] for each in failed]
    assert errors[0] == errors[1]
    assert (errors[0]["appCode"], errors[0]["kind"]) == (100409, "Conflict")


@pytest.mark.parametrize("offered", [[], ["agency-proxy.wrong"], ["other"]])
def test_nobody_without_the_key(daemon: Path, short: Path, offered: list[str]) -> None:
    """Without the key there is an upgrade, no word, and the end"""
    for house in (theirs, ours):
        folder = short / house.__name__
        folder.mkdir()
        with house(daemon, folder) as url:
            names = [Subprotocol(name) for name in offered] or None
            made = connect(url, subprotocols=names, compression=None, legacy=True)
            with pytest.raises(ConnectionClosed):
                made.recv(PATIENCE)
            made.close()
