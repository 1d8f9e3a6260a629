"""What a runner does in its runs: tools, and their updates. Sections 5 and 11."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.kodelet.runner import RunnerAttempt, expect_result
from fleetgate.gateway.tck.kodelet.talk import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNAVAILABLE,
    expect_equal,
    expect_object,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("work")

SLOTS: Final = 64
"""Requests that are worked on at a time."""

CANCELED: Final = "context canceled"
TOO_LARGE: Final = "result_too_large"

_OPEN: Final = "an open run"
_WORKING: Final = "an open run with a call that goes on"


@TOPIC.must(
    "KODELET-R-301",
    given=_OPEN,
    when="a tool is called",
    expect="its effective input, and a result with assistantFacing and structured, which has the "
    "tool's name, success true and a time; and no tool.update, for none was asked for",
    source="kodelet 11.3; case 61",
)
async def executed(kit: RunnerAttempt) -> None:
    tool = kit.told("tool", "a tool that ends well at once")
    plane, run = await kit.running()
    id = await plane.execute(run, tool)
    expect_result(await plane.result(id, tool), tool, success=True)
    await plane.expect_none(lambda it: it["method"] == "tool.update", "tool.update")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-302",
    given=_OPEN,
    when="a tool is called that is not there",
    expect="a result, no error: error in it, and success false",
    source="kodelet 11.3, 15.4",
)
async def no_tool(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    id = await plane.execute(run, "tck-nosuch")
    expect_result(await plane.result(id, "an unknown tool"), "tck-nosuch", success=False)
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-303",
    given="a runner without a run",
    when="tool.execute has a blank toolCallId, or a blank name",
    expect=f"the error {INVALID_PARAMS}: they are looked at before the run",
    source="kodelet 6.3, 15.4; case 51",
)
async def blank_call(kit: RunnerAttempt) -> None:
    plane = await kit.established()
    for call, name in (("", "x"), ("t", " ")):
        id = await plane.execute("zz", name, call)
        await plane.refused(id, INVALID_PARAMS, f"the call {call!r} of {name!r}")


@TOPIC.must(
    "KODELET-R-304",
    given=_OPEN,
    when="a tool that makes updates is called twice with wantUpdates",
    expect="tool.update with the call's requestId and toolCallId, a whole result, and sequences "
    "that rise over both calls",
    source="kodelet 11.4; case 61",
)
async def updates(kit: RunnerAttempt) -> None:
    tool = kit.told("stream-tool", "a tool that makes updates")
    plane, run = await kit.running()
    last = 0
    for call in ("t1", "t2"):
        id = await plane.execute(run, tool, call, wantUpdates=True)
        await plane.result(id, tool)
        came = [it["params"] for it in await plane.rest() if it["method"] == "tool.update"]
        if not came:
            raise Unmet("a tool.update", f"none came of {tool}")
        for update in came:
            expect_object(update, "tool.update", sequence=int, result=dict)
            for name, wanted in (("runId", run), ("requestId", id), ("toolCallId", call)):
                expect_equal(update.get(name), wanted, f"{name} of tool.update")
            expect_object(update["result"], "result", assistantFacing=str, structured=dict)
            if update["sequence"] <= last:
                raise Unmet(f"a sequence above {last}", f"it is {update['sequence']}")
            last = update["sequence"]
    await plane.close_run(run)


async def _working(kit: RunnerAttempt) -> tuple[Any, str, str]:
    tool = kit.told("hold-tool", "a tool that goes on until it is cancelled")
    plane, run = await kit.running()
    return plane, run, await plane.working(run, tool)


@TOPIC.must(
    "KODELET-R-305",
    given=_WORKING,
    when="operation.cancel names the call",
    expect=f"the error {UNAVAILABLE} for it, and a run that goes on",
    source="kodelet 5.4, 15.5; case 13",
)
async def cancelled(kit: RunnerAttempt) -> None:
    plane, run, id = await _working(kit)
    await plane.tell("operation.cancel", {"requestId": id})
    await plane.refused(id, UNAVAILABLE, "a call that was cancelled")
    await plane.result(await plane.dispatch(run, "agent.start"), "agent.start")
    await plane.close_run(run)


@TOPIC.should(
    "KODELET-R-306",
    given=_WORKING,
    when="operation.cancel names the call",
    expect=f'the message "{CANCELED}", and no data',
    source="kodelet 6.3, 15.5",
)
async def cancelled_text(kit: RunnerAttempt) -> None:
    plane, run, id = await _working(kit)
    await plane.tell("operation.cancel", {"requestId": id})
    error = await plane.refused(id, UNAVAILABLE, "a call that was cancelled", reason="")
    expect_equal(error["message"], CANCELED, "the message")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-307",
    given=_WORKING,
    when="the run is cancelled, or closed",
    expect=f"null for that, and the error {UNAVAILABLE} for the call",
    source="kodelet 9.2, 9.3, 15.5",
)
async def cancelled_with_run(kit: RunnerAttempt) -> None:
    plane, run, id = await _working(kit)
    await plane.void("run.cancel", run, reason=CANCELED)
    await plane.refused(id, UNAVAILABLE, "a call in a run that was cancelled")
    await plane.close_run(run)
    await plane.opened(second := kit.name())
    id = await plane.working(second, kit.given.hold_tool)
    await plane.close_run(second)
    await plane.refused(id, UNAVAILABLE, "a call in a run that was closed")


@TOPIC.must(
    "KODELET-R-308",
    given=_WORKING,
    when="another request comes with the id of the call",
    expect=f"the error {INVALID_REQUEST} for it, and that the call goes on",
    source="kodelet 5.3, 15.10",
)
async def same_id(kit: RunnerAttempt) -> None:
    plane, run, id = await _working(kit)
    await plane.ask("lifecycle.dispatch", {"runId": run, "event": "agent.start"}, id=id)
    await plane.refused(id, INVALID_REQUEST, "an id that is in flight")
    await plane.tell("operation.cancel", {"requestId": id})
    await plane.refused(id, UNAVAILABLE, "the call itself")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-309",
    given=f"{SLOTS} calls that go on",
    when="one more call comes, and then run.cancel",
    expect="that run.cancel is answered all the same, no error for want of room, and each call "
    "answered in the end",
    source="kodelet 5.1, 5.3; case 11",
)
async def not_starved(kit: RunnerAttempt) -> None:
    tool = kit.told("hold-tool", "a tool that goes on until it is cancelled")
    plane, run = await kit.running()
    ids = [await plane.execute(run, tool, f"t{number}") for number in range(SLOTS + 1)]
    await plane.void("run.cancel", run)
    for id in ids:
        await plane.refused(id, UNAVAILABLE, "a call in a run that was cancelled")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-310",
    given=_OPEN,
    when="a tool is called whose result is larger than a message may be",
    expect=f"the error {UNAVAILABLE} with the reason {TOO_LARGE}, and that the link stays",
    source="kodelet 5.6, 15.4",
)
async def too_large(kit: RunnerAttempt) -> None:
    tool = kit.told("big-tool", "a tool whose result is over 4 MiB")
    plane, run = await kit.running()
    id = await plane.execute(run, tool)
    await plane.refused(id, UNAVAILABLE, "a result that is too large", reason=TOO_LARGE)
    await plane.close_run(run)
