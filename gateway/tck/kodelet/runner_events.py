"""What a runner does with events, commands and questions: sections 11 and 12."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.kodelet.runner import RunnerAttempt, expect_result
from fleetgate.gateway.tck.kodelet.talk import (
    INTERNAL,
    INVALID_PARAMS,
    UNAVAILABLE,
    dumped,
    expect_equal,
    expect_object,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("events")

_OPEN: Final = "an open run"


@TOPIC.must(
    "KODELET-R-311",
    given=_OPEN,
    when="lifecycle.dispatch tells of a user's message, and of agent.init",
    expect="the same message, systemPrompt and allowedTools in the results",
    source="kodelet 11.2",
)
async def echoed(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    told = await plane.result(await plane.dispatch(run, "user.message", message="hi"), "it")
    expect_equal(expect_object(told, "the result").get("message"), "hi", "message")
    asked: dict[str, Any] = {"systemPrompt": "You are <it>.", "allowedTools": ["bash", "echo"]}
    told = await plane.result(await plane.dispatch(run, "agent.init", **asked), "agent.init")
    for name, wanted in asked.items():
        expect_equal(expect_object(told, "the result").get(name), wanted, name)
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-312",
    given=_OPEN,
    when="lifecycle.dispatch tells of agent.start, turn.start, turn.end and agent.end",
    expect="an object for each",
    source="kodelet 11.2, 15.1",
)
async def void_events(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    events: dict[str, dict[str, object]] = {
        "agent.start": {},
        "turn.start": {"turnNumber": 1},
        "turn.end": {"finalOutput": "x", "turnCount": 1},
        "agent.end": {"messages": [{"role": "user", "content": "x"}]},
    }
    for event, members in events.items():
        told = await plane.result(await plane.dispatch(run, event, **members), event)
        expect_object(told, f"the result of {event}")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-313",
    given=_OPEN,
    when="lifecycle.dispatch tells of tool.result and tool.update with a structuredResult, and of "
    "tool.call",
    expect="the structuredResult in the results, and toolInput in that of tool.call",
    source="kodelet 11.2",
)
async def policed(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    structured = {"toolName": "get_goal", "success": True, "timestamp": "2026-08-12T09:00:00Z"}
    call: dict[str, Any] = {"toolName": "get_goal", "toolInput": {"a": 1}, "toolCallId": "t"}
    for event in ("tool.update", "tool.result"):
        id = await plane.dispatch(run, event, structuredResult=structured, **call)
        told = expect_object(await plane.result(id, event), event, structuredResult=dict)
        expect_equal(told["structuredResult"], structured, "structuredResult")
    told = await plane.result(await plane.dispatch(run, "tool.call", **call), "tool.call")
    expect_equal(expect_object(told, "the result").get("toolInput"), {"a": 1}, "toolInput")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-314",
    given=_OPEN,
    when="lifecycle.dispatch tells of an event that is not known, or of tool.result without a "
    "structuredResult",
    expect=f"the error {INVALID_PARAMS}",
    source="kodelet 6.3",
)
async def bad_events(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    for event in ("tck.event", "tool.result", "tool.update"):
        await plane.refused(await plane.dispatch(run, event), INVALID_PARAMS, event)
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-315",
    given=_OPEN,
    when="lifecycle.dispatch tells of a user's message that an extension blocks",
    expect=f"the error {INTERNAL}, or blocked in the result",
    source="kodelet 6.3, 11.2, 15.4",
)
async def blocked(kit: RunnerAttempt) -> None:
    message = kit.told("blocked-message", "a message that an extension blocks")
    plane, run = await kit.running()
    answer = await plane.answer(await plane.dispatch(run, "user.message", message=message))
    error: Any = answer.get("error") or {}
    result: Any = answer.get("result") or {}
    if error.get("code") != INTERNAL and result.get("blocked") is not True:
        raise Unmet(f"the error {INTERNAL}, or blocked", f"this came: {dumped(answer)[:300]}")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-316",
    given=_OPEN,
    when="command.execute offers an ordinary message, and a slash command that nobody has",
    expect=f"matched false, and the error {INTERNAL}",
    source="kodelet 6.3, 11.1",
)
async def commands(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    told = await plane.result(await plane.command(run, "list the files"), "command.execute")
    expect_equal(expect_object(told, "the result", matched=bool)["matched"], False, "matched")
    id = await plane.command(run, "/tck-nosuch")
    await plane.refused(id, INTERNAL, "a slash command that nobody has")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-317",
    given=_OPEN,
    when="command.execute offers a slash command of the runner",
    expect="matched true, with the action respond and a response, or run_agent and a prompt",
    source="kodelet 11.1",
)
async def slash(kit: RunnerAttempt) -> None:
    line = kit.told("slash", "a slash command that the runner knows")
    plane, run = await kit.running()
    told = await plane.result(await plane.command(run, line), "command.execute")
    expect_object(told, "the result", matched=bool, action=str)
    expect_equal(told["matched"], True, "matched")
    member = {"respond": "response", "run_agent": "prompt"}.get(told["action"])
    if member is None:
        raise Unmet("the action respond or run_agent", f"it is {told['action']!r}")
    expect_object(told, "the result", **{member: str})
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-318",
    given="an open run whose client can answer questions",
    when="a tool asks one, and it is answered",
    expect="ui.input with runId, owner and a request that has a title, and a result of the tool",
    source="kodelet 12.1, 15.8",
)
async def asked(kit: RunnerAttempt) -> None:
    tool = kit.told("ask-tool", "a tool that asks with one ui.input")
    plane, run = await kit.running()
    id = await plane.execute(run, tool)
    question = await plane.request("ui.input")
    if not isinstance(question.get("id"), str):
        raise Unmet("a request, whose id is a text", dumped(question)[:300])
    params = expect_object(question.get("params"), "the params of ui.input", owner=dict)
    expect_equal(params.get("runId"), run, "runId")
    expect_object(params["owner"], "owner", extensionId=str, generation=int)
    expect_object(params.get("request"), "request", title=str)
    await plane.yes(question, {"status": "submitted", "value": "Bob"})
    expect_result(await plane.result(id, tool), tool, success=True)
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-319",
    given="an open run whose client cannot answer questions",
    when="a tool asks one",
    expect="that nothing is asked of the control plane, and that the call ends",
    source="kodelet 12.2",
)
async def nobody_to_ask(kit: RunnerAttempt) -> None:
    tool = kit.told("ask-tool", "a tool that asks with one ui.input")
    plane, run = await kit.established(), kit.name()
    nobody = {"interactiveUI": False, "persistentSurfaces": False}
    await plane.opened(run, clientCapabilities=nobody)
    await plane.answer(await plane.execute(run, tool), f"the answer of {tool}")
    await plane.expect_none(lambda it: it["method"].startswith("ui."), "question")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-320",
    given="an open run with a tool that has asked a question",
    when="the call is cancelled",
    expect=f"operation.cancel with the question's id, and the error {UNAVAILABLE} for the call",
    source="kodelet 5.4",
)
async def question_dropped(kit: RunnerAttempt) -> None:
    tool = kit.told("ask-tool", "a tool that asks with one ui.input")
    plane, run = await kit.running()
    id = await plane.execute(run, tool)
    question = await plane.request("ui.input")
    await plane.tell("operation.cancel", {"requestId": id})
    dropped = await plane.request("operation.cancel")
    params = expect_object(dropped.get("params"), "the params of operation.cancel")
    expect_equal(params.get("requestId"), question["id"], "requestId")
    await plane.refused(id, UNAVAILABLE, "a call that was cancelled")
    await plane.close_run(run)
