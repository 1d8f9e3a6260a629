"""How a control plane takes what it is answered to run.open: sections 9.1 and 10."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.kodelet.plane import TOOL, PlaneAttempt, tool
from fleetgate.gateway.tck.kodelet.talk import (
    INTERNAL,
    STALE,
    Object,
    expect_equal,
)
from fleetgate.gateway.tck.peer import Skipped
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("manifest")


@TOPIC.must(
    "KODELET-C-304",
    given="a run.open under way",
    when="it is answered with an error",
    expect="no run.close: there is nothing to close",
    source="kodelet 9.1, 15.6; case 43",
)
async def open_refused(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    request, _ = await kit.opening(runner)
    await runner.no(request, INTERNAL, "failed to load runner configuration: tck")
    await runner.expect_none(lambda it: it["method"] == "run.close", "run.close")


async def _expect_closed(kit: PlaneAttempt, *manifests: Object | None) -> None:
    """Each manifest must be refused, by run.close. None: the result is null."""
    for members in manifests:
        runner = await kit.established()
        request, run = await kit.opening(runner)
        made = None if members is None else runner.manifest(request, **members)
        await runner.yes(request, made)
        closing = await runner.asked("run.close")
        expect_equal(closing["params"].get("runId"), run, "runId of run.close")
        await runner.no(closing, STALE, "gone", "run_not_active")
        await runner.expect_alive()
        await runner.close(None)


@TOPIC.must(
    "KODELET-C-305",
    given="a run.open under way",
    when="it is answered with null, or with a digest that is missing or not that of the manifest",
    expect="run.close for that run, and that the link stays",
    source="kodelet 9.1, 10.2, 15.6; case 43",
)
async def wrong_digest(kit: PlaneAttempt) -> None:
    await _expect_closed(kit, None, {"digest": ""}, {"digest": "sha256:0"})


@TOPIC.must(
    "KODELET-C-306",
    given="a run.open under way",
    when="the manifest is of another protocol version, runner, run or generation",
    expect="run.close for that run",
    source="kodelet 10.2",
)
async def wrong_identity(kit: PlaneAttempt) -> None:
    wrong: tuple[Object, ...] = (
        {"protocolVersion": 2},
        {"runnerId": "runner_tck"},
        {"runId": "run_tck"},
        {"generation": 99},
    )
    await _expect_closed(kit, *wrong)


@TOPIC.must(
    "KODELET-C-307",
    given="a run.open under way",
    when="a tool of the manifest has no name, another placement than environment, or the name of "
    "another one; or systemInformation has no platform, or no date",
    expect="run.close for that run",
    source="kodelet 10.2",
)
async def wrong_tools(kit: PlaneAttempt) -> None:
    system = {"isGitRepo": False, "platform": "linux", "osVersion": "6", "date": "2026-08-12"}
    await _expect_closed(
        kit,
        {"tools": [tool(" ")]},
        {"tools": [tool("a", "control")]},
        {"tools": [tool("a"), tool("a")]},
        {"config": {"systemInformation": {**system, "platform": ""}}},
        {"config": {"systemInformation": {**system, "date": "12.8.2026"}}},
    )


@TOPIC.must(
    "KODELET-C-308",
    given="a run.open under way",
    when="a context file of the manifest has another digest than its content, a blank path, or the "
    "path of another one",
    expect="run.close for that run",
    source="kodelet 10.2; case 59",
)
async def wrong_contexts(kit: PlaneAttempt) -> None:
    right = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    file = {"path": "AGENTS.md", "content": "", "digest": right}
    await _expect_closed(
        kit,
        {"contextFiles": [{**file, "digest": "sha256:wrong"}]},
        {"contextFiles": [{**file, "path": " "}]},
        {"contextFiles": [file, file]},
    )


@TOPIC.must(
    "KODELET-C-309",
    given="a run.open that asks for a tool's name to be left out",
    when="the manifest has a tool of that name",
    expect="run.close for that run",
    source="kodelet 10.2",
)
async def reserved_tool(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    request, run = await kit.opening(runner)
    names = request["params"].get("reservedToolNames") or ()
    if not names:
        raise Skipped("it reserves no names")
    await runner.yes(request, runner.manifest(request, tools=[tool(names[0])]))
    closing = await runner.asked("run.close")
    expect_equal(closing["params"].get("runId"), run, "runId of run.close")


@TOPIC.must(
    "KODELET-C-310",
    given="a run.open under way",
    when="the manifest has what makes digests hard: schemas with numbers and odd characters, lists "
    "that are empty or null, and members that nobody knows",
    expect="that the run is open: the tool can be called",
    source="kodelet 10.3, 10.4; case 41",
)
async def hard_digest(kit: PlaneAttempt) -> None:
    numbers = {"z": 1.0, "a": 1e21, "b": 1e-7, "c": 0.1, "d": 9007199254740993, "e": 1e20}
    schema: dict[str, Any] = {"<b>&\u2028\u007f": numbers, "\u00e9": None, "&": [True, {}]}
    text = 'a<b>&c "\\ \u0001'
    described: dict[str, Any] = {**tool(TOOL), "description": text, "inputSchema": schema}
    lists: dict[str, Any] = {"skills": [], "commands": None, "contextFiles": None}
    runner, run = await kit.running(tools=[described], future={"x": 1}, **lists)
    await kit.called(runner, run)
