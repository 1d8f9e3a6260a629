"""What a control plane asks of its runners: sections 9, 11 and 12. Somebody must have it ask."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.kodelet.plane import TOOL, PlaneAttempt, Runner, flags, registration
from fleetgate.gateway.tck.kodelet.plane_session import question
from fleetgate.gateway.tck.kodelet.talk import (
    UNAVAILABLE,
    dumped,
    expect_equal,
    expect_object,
)
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("runs")

STATUSES: Final = ("submitted", "dismissed", "timeout", "unavailable")

_READY: Final = "a runner that is ready"
_OPEN: Final = "a runner with an open run"


@TOPIC.must(
    "KODELET-C-301",
    given=_READY,
    when="the control plane is asked to open a run there",
    expect="run.open, a request with runId, conversationId, agent with provider and model, "
    "clientCapabilities with interactiveUI and persistentSurfaces, and reservedToolNames",
    source="kodelet 9.1",
)
async def opens(kit: PlaneAttempt) -> None:
    request, run = await kit.opening(await kit.established())
    params = expect_object(
        request["params"],
        "the params of run.open",
        runId=str,
        conversationId=str,
        agent=dict,
        clientCapabilities=dict,
    )
    if not run.strip() or not params["conversationId"].strip():
        raise Unmet("a runId and a conversationId", dumped(params)[:300])
    expect_object(params["agent"], "agent", provider=str, model=str)
    seen = {"interactiveUI": bool, "persistentSurfaces": bool}
    expect_object(params["clientCapabilities"], "clientCapabilities", **seen)
    if not isinstance(params.get("reservedToolNames", 0), list | None):
        raise Unmet("reservedToolNames, a list or null", dumped(params)[:300])


@TOPIC.should(
    "KODELET-C-302",
    given=_READY,
    when="the control plane is asked to open a run there",
    expect='the id "server:1", and members in the order jsonrpc, id, method, params',
    source="kodelet 4.1, 4.2",
)
async def genuine_id(kit: PlaneAttempt) -> None:
    request, _ = await kit.opening(await kit.established())
    expect_equal(request["id"], "server:1", "the id")
    expect_equal(list(request), ["jsonrpc", "id", "method", "params"], "the members")


@TOPIC.must(
    "KODELET-C-303",
    given="a runner that has registered, and sent no heartbeat, or one that says error",
    when="the control plane is asked to open a run there",
    expect="nothing; and run.open once a heartbeat says idle",
    source="kodelet 8.1, 9.1; case 31",
)
async def not_ready(kit: PlaneAttempt) -> None:
    runner = await kit.dial()
    await runner.register(**registration(kit.instance()))
    await _expect_no_open(kit, runner)
    await runner.beat("error")
    await runner.expect_alive()
    await _expect_no_open(kit, runner)
    await runner.beat()
    await runner.expect_alive()
    await kit.opening(runner)


async def _expect_no_open(kit: PlaneAttempt, runner: Runner, conversation: str = "") -> None:
    run = kit.name()
    try:
        await kit.want("open", runner=runner.id, run=run, conv=conversation or f"c-{run}")
    except Skipped as refused:  # whoever was asked may say no
        kit.note(str(refused))
    await runner.expect_none(lambda it: it["method"] == "run.open", "run.open")


@TOPIC.must(
    "KODELET-C-311",
    given=_OPEN,
    when="the control plane is asked to call the tool",
    expect="tool.execute with runId, toolCallId, name and input",
    source="kodelet 11.3",
)
async def calls(kit: PlaneAttempt) -> None:
    runner, run = await kit.running()
    params = (await kit.called(runner, run))["params"]
    expect_object(params, "the params of tool.execute", toolCallId=str, name=str, input=dict)
    expect_equal(params.get("runId"), run, "runId")
    expect_equal(params["name"], TOOL, "name")
    if not params["toolCallId"].strip():
        raise Unmet("a toolCallId", f"it is {params['toolCallId']!r}")


@TOPIC.must(
    "KODELET-C-312",
    given="an open run whose manifest has no toolUpdates",
    when="the control plane is asked to call the tool, and to show its updates",
    expect="no wantUpdates in tool.execute",
    source="kodelet 11.4; case 57",
)
async def no_updates(kit: PlaneAttempt) -> None:
    runner, run = await kit.running(capabilities=flags(updates=False))
    params = (await kit.called(runner, run))["params"]
    if params.get("wantUpdates"):
        raise Unmet("no wantUpdates", dumped(params)[:300])


@TOPIC.must(
    "KODELET-C-313",
    given="an open run with a call under way",
    when="the call is given up",
    expect="operation.cancel, a notification with the call's id as requestId; and that a late "
    "answer is ignored",
    source="kodelet 5.4; case 15",
)
async def given_up(kit: PlaneAttempt) -> None:
    runner, run = await kit.running()
    call = await kit.called(runner, run)
    able = await kit.want("abort", call="t1", run=run)
    try:
        dropped = await runner.request("operation.cancel")
    except Unmet as unmet:
        if able:
            raise
        raise Skipped(f"it needs to be asked for: give --on abort; {unmet}") from None
    if dropped.get("id") is not None:
        raise Unmet("a notification", f"it has the id {dropped['id']!r}")
    params = expect_object(dropped.get("params"), "the params of operation.cancel")
    expect_equal(params.get("requestId"), call["id"], "requestId")
    await runner.no(call, UNAVAILABLE, "context canceled")
    await runner.expect_alive()


@TOPIC.must(
    "KODELET-C-314",
    given=_OPEN,
    when="the control plane is asked to close it",
    expect="run.close with its runId",
    source="kodelet 9.2",
)
async def closes(kit: PlaneAttempt) -> None:
    runner, run = await kit.running()
    closing = await kit.have(runner, "close", "run.close", run=run)
    expect_equal(closing["params"].get("runId"), run, "runId")
    await runner.yes(closing)
    await runner.expect_alive()


@TOPIC.must(
    "KODELET-C-315",
    given=_OPEN,
    when="the control plane is asked to cancel it, and then to call the tool",
    expect="run.cancel with its runId, and no tool.execute",
    source="kodelet 9.3; case 47",
)
async def cancels(kit: PlaneAttempt) -> None:
    runner, run = await kit.running()
    cancelled = await kit.have(runner, "cancel", "run.cancel", run=run)
    expect_equal(cancelled["params"].get("runId"), run, "runId")
    await runner.yes(cancelled)
    await runner.expect_alive()
    try:
        await kit.want("tool", run=run, call="t2", tool=TOOL)
    except Skipped as refused:  # whoever was asked may say no
        kit.note(str(refused))
    await runner.expect_none(lambda it: it["method"] == "tool.execute", "tool.execute")


@TOPIC.must(
    "KODELET-C-316",
    given=_OPEN,
    when="the control plane is asked to open another one for the same conversation",
    expect="nothing; and run.open once the first run is closed",
    source="kodelet 9.1, 13.1; case 45",
)
async def one_a_conversation(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    conversation = kit.name("c")
    request, run = await kit.opening(runner, conversation)
    await runner.yes(request, runner.manifest(request))
    await runner.expect_alive()
    await _expect_no_open(kit, runner, conversation)
    closing = await kit.have(runner, "close", "run.close", run=run)
    await runner.yes(closing)
    await runner.expect_alive()
    await kit.opening(runner, conversation)


@TOPIC.must(
    "KODELET-C-317",
    given="a runner with an open run, which did not say concurrentRuns",
    when="the control plane is asked to open another one there",
    expect="nothing",
    source="kodelet 7.1, 9.1; case 45",
)
async def one_a_runner(kit: PlaneAttempt) -> None:
    runner = await kit.established(capabilities={})
    request, _ = await kit.opening(runner)
    await runner.yes(request, runner.manifest(request))
    await runner.expect_alive()
    await _expect_no_open(kit, runner)


@TOPIC.must(
    "KODELET-C-318",
    given=_OPEN,
    when="three heartbeats in a row leave it out",
    expect="that it is lost, and nothing is sent for it; its conversation can be opened again",
    source="kodelet 8.4",
)
async def left_out(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    conversation = kit.name("c")
    request, _ = await kit.opening(runner, conversation)
    await runner.yes(request, runner.manifest(request))
    await runner.expect_alive()
    for _ in range(3):
        await runner.beat()
    await runner.expect_none(lambda it: it["method"] == "run.close", "run.close")
    await kit.opening(runner, conversation)


@TOPIC.must(
    "KODELET-C-319",
    given=_OPEN,
    when="ui.notify comes for it",
    expect=f"a result with a status: one of {', '.join(STATUSES)}",
    source="kodelet 12.1, 12.3; case 65",
)
async def notified(kit: PlaneAttempt) -> None:
    runner, run = await kit.running()
    result = await runner.result(await runner.ask("ui.notify", question(run)), "ui.notify")
    status = expect_object(result, "the result of ui.notify", status=str)["status"]
    if status not in STATUSES:
        raise Unmet(f"a status of {', '.join(STATUSES)}", f"it is {status!r}")


@TOPIC.must(
    "KODELET-C-320",
    given=_OPEN,
    when="ui.widget.set and ui.transcript.append come for it",
    expect="results with accepted, and for the widget latestSequence",
    source="kodelet 12.1, 12.3; case 65",
)
async def surfaces(kit: PlaneAttempt) -> None:
    runner, run = await kit.running()
    frame = {"sequence": 1, "lines": ["x"]}
    widget = {"id": "w", "placement": "aboveComposer", "frame": frame}
    id = await runner.ask("ui.widget.set", {**question(run), "request": widget})
    result = await runner.result(id, "ui.widget.set")
    expect_object(result, "the result of ui.widget.set", accepted=bool, latestSequence=int)
    line = {"message": "x"}
    id = await runner.ask("ui.transcript.append", {**question(run), "request": line})
    expect_object(await runner.result(id, "it"), "the result of the append", accepted=bool)
