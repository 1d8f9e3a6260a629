"""What a control plane asks of a runner (cases 51 to 63 of its kind)."""

from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.commands import Prompt, ShellCommand, ToolCall
from fleetgate.core.errors import NoRoute
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import Seq
from fleetgate.protocols.api import Ack, Follow, Unfollow
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.manifest import digest_of, read_manifest
from fleetgate.protocols.kodelet.testing import ask, rest, said, tell, yes
from fleetgate.protocols.kodelet.tools import BASH, CommandSettings, ToolSettings
from fleetgate.protocols.testing import SECOND, Playbook, number

OK = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
STOPPED = RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED))


def out(text: str) -> e.OutputProduced:
    return e.OutputProduced(e.Stream.STDOUT, text.encode())


def one(play: Playbook) -> Any:
    (message,) = said(play.take())
    return message


def error(play: Playbook, frame: bytes) -> Any:
    play.receive(frame)
    return one(play)["error"]


# --- errors


def test_case_51_before_the_registration() -> None:
    with t.play_runner() as play:
        t.dial(play)
        refused = error(play, ask("s", "run.open", {"runId": "r0", "conversationId": "c0"}))
        assert refused == {"code": -32000, "message": "runner has not completed registration"}


ERRORS: list[tuple[bytes, int, str]] = [
    (t.frame(id="s", method="run.open"), -32602, "unexpected end of JSON input"),
    (ask("s", "run.open", None), -32602, "runId is required"),
    (ask("s", "run.open", {"runId": "x"}), -32602, "conversationId is required"),
    (ask("s", "run.open", {"runId": 1}), -32602, "runId: expected a string"),
    (ask("s", "tool.execute", {"runId": "zz"}), -32602, "toolCallId and name are required"),
    (ask("s", "nope", {}), -32601, "runner request method not found"),
    (
        ask("s", "run.open", {"runId": "r1", "conversationId": "c9"}),
        -32001,
        "runner already has run r1",
    ),
    (
        ask("s", "run.open", {"runId": "r2", "conversationId": "c1"}),
        -32003,
        "conversation already has active run r1",
    ),
    (
        ask("s", "run.open", {"runId": "r" * 257, "conversationId": "c9"}),
        -32602,
        "runId may have 256 bytes",
    ),
    (
        ask(
            "s",
            "run.open",
            {"runId": "r2", "conversationId": "c2", "agent": {"environmentProfile": "missing"}},
        ),
        -32603,
        "failed to load runner configuration: there is no such environment profile",
    ),
    (
        ask(
            "s", "run.open", {"runId": "r2", "conversationId": "c2", "reservedToolNames": ["bash"]}
        ),
        -32603,
        "runner tool bash collides with a reserved control-plane tool",
    ),
    (
        ask("s", "lifecycle.dispatch", {"runId": "r1", "event": "zz"}),
        -32602,
        'unsupported lifecycle event "zz"',
    ),
    (
        ask(
            "s",
            "lifecycle.dispatch",
            {"runId": "zz", "event": "agent.start", "structuredResult": {"timestamp": ""}},
        ),
        -32602,
        "structured.timestamp: expected a time",
    ),
    (
        ask(
            "s",
            "lifecycle.dispatch",
            {"runId": "r1", "event": "tool.update", "structuredResult": [1]},
        ),
        -32602,
        "structuredResult: expected an object",
    ),
    (
        ask("s", "lifecycle.dispatch", {"runId": "r1", "event": "tool.result"}),
        -32602,
        "structuredResult is required for tool output lifecycle",
    ),
    (
        ask("s", "command.execute", {"runId": "r1", "message": "/x y"}),
        -32603,
        "slash command '/x' is not available in the pinned run manifest",
    ),
]


@pytest.mark.parametrize(("frame", "code", "text"), ERRORS)
def test_case_51_errors_with_a_run_open(frame: bytes, code: int, text: str) -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        refused = error(play, frame)
        assert refused["code"] == code
        assert text in refused["message"]


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("run.close", {}),
        ("run.cancel", {}),
        ("tool.execute", {"toolCallId": "t", "name": "bash"}),
        ("command.execute", {}),
        ("lifecycle.dispatch", {"event": "agent.start"}),
    ],
)
def test_case_51_a_run_that_is_not_there(method: str, more: Any, others: bool) -> None:
    with t.attached(t.play_runner()) as play:
        if others:
            t.open_run(play)
        refused = error(play, ask("s", method, {"runId": "zz", **more}))
        assert refused["code"] == -32002
        assert refused["data"] == {"reason": "run_not_active"}
        assert refused["message"].startswith("request belongs to another") == others


def test_default_is_no_profile() -> None:
    with t.attached(t.play_runner(profiles=("ci",))) as play:
        for at, name in enumerate(("Default", "ci", "")):
            agent = {"environmentProfile": name}
            assert t.open_run(play, f"r{at}", f"c{at}", agent=agent)["digest"]


# --- manifest


def test_case_55_the_shape_of_a_manifest() -> None:
    tools = (ToolSettings("z"), BASH, ToolSettings("a", "first"))
    commands = (CommandSettings("s"), CommandSettings("b", "x"))
    with t.attached(t.play_runner(tools=tools, commands=commands)) as play:
        made = t.open_run(play)
        assert [each["name"] for each in made["tools"]] == ["a", "bash", "z"]
        assert [each["name"] for each in made["commands"]] == ["b", "s"]
        assert (made["runnerId"], made["runId"], made["generation"]) == ("R", "r1", 1)
        assert made["skills"] is None
        assert made["contextFiles"] == []
        assert made["digest"] == digest_of(read_manifest(made))
    with t.attached(t.play_runner()) as play:
        assert t.open_run(play)["commands"] is None


# --- tools


def test_a_call_starts_a_run_and_its_end_is_the_result() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        submit = t.execute(play, input={"command": "ls -l", "timeout": 10})
        assert isinstance(submit.command, c.StartRun)
        spec = submit.command.spec
        assert spec.input == ShellCommand(line="ls -l", cwd="/srv/project")
        assert (spec.timeout, spec.session, spec.approvals) == (10 * SECOND, "c1", False)
        play.reply(submit.reply_to, Accepted(None, None))
        run = submit.command.run
        play.expect(Follow(run, Seq(0)))
        play.deliver(number(run, e.RunStarted(), out("a\n"), OK))
        steps = play.take()
        assert rest(steps) == [Ack(run, 3), Unfollow(run)]
        (answer,) = said(steps)
        assert answer["id"] == "server:7"
        assert answer["result"]["input"] == {"command": "ls -l", "timeout": 10}
        result = answer["result"]["result"]
        assert result["assistantFacing"] == "<result>\na\n\n</result>\n"
        assert "displayOutput" not in result
        assert result["structured"]["success"] is True
        metadata = result["structured"]["metadata"]
        assert (metadata["exitCode"], metadata["output"]) == (0, "a\n")


def test_runs_of_a_peer_that_repeats_its_names_are_apart() -> None:
    ids: set[str] = set()
    for entropy in (b"1" * 16, b"2" * 16):
        play = t.play_runner()
        with play:
            play.opened(attrs.evolve(t.NORTH, entropy=entropy)).take()
            play.reply(("left", ""), RunList(())).take()
            play.receive(yes("runner:1", t.REGISTERED)).take()
            t.open_run(play)
            for id in ("server:7", "server:8"):
                command = t.execute(play, id).command
                assert isinstance(command, c.StartRun)
                assert command.origin == c.Origin("cp", command.run.removeprefix("cp/"))
                ids.add(command.run)
    assert len(ids) == 4


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (ToolSettings("bash", prompt="Do {input.command}"), Prompt("Do ls")),
        (ToolSettings("bash", argv=("run", "{input.command}")), ("run", "ls")),
        (ToolSettings("bash"), ToolCall("bash", {"command": "ls"})),
    ],
)
def test_what_a_configured_tool_starts(tool: ToolSettings, expected: Any) -> None:
    with t.attached(t.play_runner(tools=(tool,))) as play:
        t.open_run(play)
        command = t.execute(play).command
        assert isinstance(command, c.StartRun)
        given = command.spec.input
        assert (given.argv if isinstance(given, ShellCommand) else given) == expected


def test_w_15_4_an_unknown_tool_fails_in_band() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        call = {"runId": "r1", "toolCallId": "t1", "name": "nosuch", "input": {}}
        play.receive(ask("server:34", "tool.execute", call))
        result = one(play)["result"]
        assert result["input"] == {}
        assert result["result"]["assistantFacing"] == "<error>\nfailed to find tool\n</error>\n"
        structured = result["result"]["structured"]
        assert structured.pop("timestamp")
        assert structured == {
            "toolName": "nosuch",
            "success": False,
            "error": "failed to find tool",
        }


def test_a_run_that_the_core_refuses_or_whose_input_is_short_fails_in_band() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        submit = t.execute(play)
        play.reply(submit.reply_to, NoRoute("add a route"))
        assert one(play)["result"]["result"]["error"] == "no_route: add a route"
        call = {"runId": "r1", "toolCallId": "t1", "name": "bash", "input": {}}
        play.receive(ask("server:9", "tool.execute", call))
        assert one(play)["result"]["result"]["error"].startswith("unsupported_input: ")


def test_case_61_updates_have_the_wire_id_and_count_over_the_whole_run() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        seen: list[Any] = []
        for id in ("server:7", "server:8"):
            run = t.accept(play, t.execute(play, id, wantUpdates=True))
            for text in ("a", "b"):
                play.deliver(number(run, out(text)))
                seen += said(play.take()) or said(play.tick().take())
            play.deliver(number(run, OK)).take()
        assert [each["params"]["sequence"] for each in seen] == [1, 2, 3, 4]
        assert [each["params"]["requestId"] for each in seen] == ["server:7"] * 2 + ["server:8"] * 2
        metadata = seen[1]["params"]["result"]["structured"]["metadata"]
        assert metadata["output"] == "ab"


def test_case_61_nobody_asked_for_updates() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play))
        play.deliver(number(run, out("a"))).expect()


def test_case_63_the_display_is_capped_and_left_out_for_bash() -> None:
    with t.attached(t.play_runner(tools=(BASH, ToolSettings("echo")))) as play:
        t.open_run(play)
        for tool in ("echo", "bash"):
            run = t.accept(play, t.execute(play, tool=tool))
            play.deliver(number(run, *(e.TextProduced("é" * 10_000) for _ in range(10)), OK))
            result = said(play.take())[0]["result"]["result"]
            assert ("displayOutput" in result) == (tool == "echo")
            assert len(result["assistantFacing"].encode()) > 200_000
            if tool == "echo":
                size = len(result["displayOutput"].encode())
                assert 131_072 - 3 <= size <= 131_072
                assert result["displayOutput"].endswith("[output truncated for remote display]")


def test_a_result_that_does_not_fit() -> None:
    with t.attached(t.play_runner(output_limit=5 << 20)) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play))
        play.deliver(number(run, *(e.TextProduced("x" * 60_000) for _ in range(80)), OK))
        (answer,) = said(play.take())
        assert answer["error"]["data"] == {"reason": "result_too_large"}


# --- ending early


def test_w_15_5_operation_cancel() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play))
        play.receive(tell("operation.cancel", {"requestId": "server:7"}))
        (submit,) = play.take()
        assert submit.command == c.CancelRun(run, reason="context canceled")
        play.receive(tell("operation.cancel", {"requestId": "server:7"})).expect()
        play.deliver(number(run, STOPPED))
        assert said(play.take()) == [
            {"id": "server:7", "error": {"code": -32000, "message": "context canceled"}}
        ]


def test_a_call_that_finished_anyway_gives_its_result() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play))
        play.receive(tell("operation.cancel", {"requestId": "server:7"})).take()
        play.deliver(number(run, OK))
        assert "result" in said(play.take())[0]


@pytest.mark.parametrize("refused", [False, True])
def test_a_cancel_that_comes_before_the_start_is_answered(refused: bool) -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        submit = t.execute(play)
        play.receive(tell("operation.cancel", {"requestId": "server:7"})).expect()
        play.reply(submit.reply_to, NoRoute("x") if refused else Accepted(None, None))
        steps = play.take()
        if refused:
            assert said(steps)[0]["error"]["message"] == "context canceled"
        else:
            assert isinstance(steps[1].command, c.CancelRun)


def test_a_cancelled_run_stays_and_what_is_asked_of_it_is_born_cancelled() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        play.receive(ask("s", "run.cancel", {"runId": "r1", "reason": "x"}))
        assert one(play) == {"id": "s", "result": None}
        call = {"runId": "r1", "toolCallId": "t1", "name": "bash"}
        assert error(play, ask("s", "tool.execute", call))["message"] == "context canceled"
        play.receive(ask("s", "run.close", {"runId": "r1"}))
        assert one(play) == {"id": "s", "result": None}
        assert error(play, ask("s", "run.close", {"runId": "r1"}))["code"] == -32002


def test_a_close_waits_for_the_calls_and_two_have_one_answer() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play))
        play.receive(ask("a", "run.close", {"runId": "r1"}))
        assert said(play.take()) == []
        play.receive(ask("b", "run.close", {"runId": "r1"})).take()
        call = {"runId": "r1", "toolCallId": "t1", "name": "bash"}
        refused = error(play, ask("s", "tool.execute", call))
        assert refused["message"] == "runner environment is not ready"
        play.deliver(number(run, STOPPED))
        ids = [each["id"] for each in said(play.take())]
        assert ids == ["server:7", "a", "b"]


def test_case_53_a_stubborn_call_does_not_poison_the_conversation() -> None:
    with t.attached(t.play_runner()) as play:
        t.open_run(play)
        run = t.accept(play, t.execute(play))
        for id in ("a", "b"):
            play.receive(ask(id, "run.close", {"runId": "r1"})).take()
        play.tick()
        late = [each["error"]["message"] for each in said(play.take())]
        assert (
            late
            == ["timed out waiting for runner operations to stop: context deadline exceeded"] * 2
        )
        assert t.open_run(play, "r2", "c1")["runId"] == "r2"
        play.deliver(number(run, OK))
        assert said(play.take())[0]["id"] == "server:7"
