"""A runner's runs: open, cancel, close, and the manifest. Sections 6.3, 9 and 10."""

from __future__ import annotations

import json
from typing import Any, Final

from fleetgate.gateway.tck.kodelet.runner import RUNNER, SHORT, ControlPlane, RunnerAttempt
from fleetgate.gateway.tck.kodelet.talk import (
    BUSY,
    CONFLICT,
    INTERNAL,
    INVALID_PARAMS,
    STALE,
    UNAVAILABLE,
    dumped,
    expect_equal,
    expect_object,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import go_json
from fleetgate.protocols.kodelet import manifest as m

TOPIC: Final = Topic("runs")

NOT_ACTIVE: Final = "run_not_active"

_UP: Final = "a runner that is registered, without runs"
_OPEN: Final = "a runner with an open run"


@TOPIC.must(
    "KODELET-R-201",
    given=_UP,
    when="a run is opened",
    expect="a manifest of protocol version 1 with the runnerId, runId and generation of this run, "
    "and each member of the table",
    source="kodelet 9.1, 10.1; case 55",
)
async def manifest(kit: RunnerAttempt) -> None:
    plane, run = await kit.established(), kit.name()
    made = await plane.opened(run)
    for name, wanted in (
        ("protocolVersion", 1),
        ("runnerId", RUNNER),
        ("runId", run),
        ("generation", plane.generation),
    ):
        expect_equal(made.get(name), wanted, name)
    whole = {"digest": str, "workingDirectory": str, "config": dict, "extensionGeneration": int}
    expect_object(made, "the manifest", capabilities=dict, **whole)
    flags = ("toolUpdates", "interactiveUI", "persistentSurfaces", "commands")
    expect_object(made["capabilities"], "capabilities", **dict.fromkeys(flags, bool))
    for name in ("contextFiles", "tools", "skills", "commands"):
        if name not in made or not isinstance(made[name], list | None):
            raise Unmet(f"{name} in the manifest, a list or null", f"it is {made.get(name)!r}")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-202",
    given=_UP,
    when="a run is opened",
    expect="a digest in the manifest that is the SHA-256 of its canonical form, to the bit",
    source="kodelet 10.3; case 55",
)
async def digest(kit: RunnerAttempt) -> None:
    plane, run = await kit.established(), kit.name()
    id = await plane.open(run, f"c-{run}")
    answer, text = await plane.answer_text(id, "the manifest")
    expect_object(answer.get("result"), "the manifest", digest=str)
    try:
        loaded = go_json.load(text.encode())
        read = m.read_manifest(loaded["result"])
    except Malformed as error:
        raise Unmet("a manifest that can be read", str(error)) from None
    expect_equal(read.digest, m.digest_of(read), "the digest")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-203",
    given=_UP,
    when="a run is opened",
    expect="tools each with a name of its own that is not reserved, the placement environment, and "
    "an inputSchema that is an object or null; and context files with the digest of their content",
    source="kodelet 10.1, 10.2",
)
async def tools(kit: RunnerAttempt) -> None:
    plane, run = await kit.established(), kit.name()
    made = await plane.opened(run)
    names = [expect_object(tool, "a tool", name=str)["name"] for tool in made["tools"] or ()]
    if len(set(names)) != len(names) or not all(name.strip() for name in names):
        raise Unmet("tools with names of their own", f"they are {names}")
    for tool in made["tools"] or ():
        expect_equal(tool.get("placement"), "environment", f"placement of {tool['name']}")
        if not isinstance(tool.get("inputSchema"), dict | None):
            raise Unmet("an inputSchema that is an object or null", dumped(tool)[:300])
    for file in made.get("contextFiles") or ():
        expect_object(file, "a context file", path=str, content=str, digest=str)
        expect_equal(file["digest"], m.content_digest(file["content"]), f"digest of {file['path']}")
    await plane.close_run(run)


@TOPIC.should(
    "KODELET-R-204",
    given=_UP,
    when="a run is opened",
    expect="context files in the order of their paths, tools, skills and commands in that of their "
    "names; without skills or commands null, and without tools or context files an empty list",
    source="kodelet 10.1; case 55",
)
async def ordered(kit: RunnerAttempt) -> None:
    plane, run = await kit.established(), kit.name()
    made = await plane.opened(run)
    keys = {"contextFiles": "path", "tools": "name", "skills": "name", "commands": "name"}
    for name, key in keys.items():
        found = [each.get(key) for each in made.get(name) or ()]
        if found != sorted(found):
            raise Unmet(f"{name} in order", f"they are {found}")
        empty: Any = [] if name in ("contextFiles", "tools") else None
        if not found:
            expect_equal(made.get(name), empty, name)
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-205",
    given=_UP,
    when="run.open has no params, null for params, or no runId, or no conversationId",
    expect=f"the error {INVALID_PARAMS} each time",
    source="kodelet 6.3, 15.4; case 51",
)
async def bad_open(kit: RunnerAttempt) -> None:
    plane = await kit.established()
    await plane.refused(await plane.ask("run.open"), INVALID_PARAMS, "run.open without params")
    bodies: tuple[Any, ...] = (None, {"conversationId": "c"}, {"runId": kit.name()}, {"runId": 5})
    for params in (*bodies, [1]):
        id = await plane.ask("run.open", params)
        await plane.refused(id, INVALID_PARAMS, f"run.open with {dumped(params)}")


@TOPIC.must(
    "KODELET-R-206",
    given=_OPEN,
    when="run.open comes with its runId, or with its conversation",
    expect=f"the errors {CONFLICT} and {BUSY}, and that the run stays",
    source="kodelet 6.3, 15.4; case 51",
)
async def taken(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    id = await plane.open(run, kit.name("c"))
    await plane.refused(id, CONFLICT, "run.open with a runId that is held")
    id = await plane.open(kit.name(), f"c-{run}")
    await plane.refused(id, BUSY, "run.open for a conversation that is held")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-207",
    given=_OPEN,
    when="it is closed, and closed again",
    expect=f'"result":null, then the error {STALE} with the reason {NOT_ACTIVE}; the connection '
    "stays up",
    source="kodelet 9.2, 15.5",
)
async def closed(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    await plane.close_run(run)
    id = await plane.ask("run.close", {"runId": run})
    await plane.refused(id, STALE, "a second run.close", reason=NOT_ACTIVE)
    await plane.expect_alive()


@TOPIC.must(
    "KODELET-R-208",
    given="a run that was closed",
    when="another one is opened for the same conversation",
    expect="its manifest",
    source="kodelet 9.2; case 53",
)
async def reopened(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    await plane.close_run(run)
    again = kit.name()
    expect_equal((await plane.opened(again, f"c-{run}")).get("runId"), again, "runId")
    await plane.close_run(again)


@TOPIC.must(
    "KODELET-R-209",
    given=_OPEN,
    when="it is cancelled, twice",
    expect='"result":null at once each time, and the run to be held until it is closed',
    source="kodelet 9.3",
)
async def cancelled(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    for _ in range(2):
        await plane.void("run.cancel", run, reason="context canceled")
    id = await plane.open(kit.name(), f"c-{run}")
    await plane.refused(id, BUSY, "run.open for the conversation of a cancelled run")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-210",
    given="a runner, first without a run and then with another one",
    when="run.close, run.cancel or a call comes for a run that is not there",
    expect=f"the error {STALE} with the reason {NOT_ACTIVE}",
    source="kodelet 6.3, 15.4; case 51",
)
async def not_there(kit: RunnerAttempt) -> None:
    plane = await kit.established()
    await _not_there(plane, "zz")
    await plane.opened(run := kit.name())
    await _not_there(plane, "zz")
    await plane.close_run(run)


async def _not_there(plane: ControlPlane, run: str) -> None:
    for method in ("run.close", "run.cancel"):
        id = await plane.ask(method, {"runId": run})
        await plane.refused(id, STALE, f"{method} of no run", reason=NOT_ACTIVE)
    id = await plane.execute(run, "any")
    await plane.refused(id, STALE, "tool.execute in no run", reason=NOT_ACTIVE)
    id = await plane.dispatch(run, "agent.start")
    await plane.refused(id, STALE, "lifecycle.dispatch in no run", reason=NOT_ACTIVE)


@TOPIC.must(
    "KODELET-R-211",
    given=_UP,
    when="a run is opened with an environment profile that the runner does not have, or one named "
    "Default",
    expect=f"the error {INTERNAL} and no run, and with Default a manifest",
    source="kodelet 6.3, 9.1",
)
async def profiles(kit: RunnerAttempt) -> None:
    plane, run = await kit.established(), kit.name()
    agent = {"provider": "", "model": "", "environmentProfile": "tck-missing"}
    id = await plane.open(run, f"c-{run}", agent=agent)
    await plane.refused(id, INTERNAL, "run.open with an unknown profile")
    await plane.opened(run, agent={**agent, "environmentProfile": "Default"})
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-212",
    given=_UP,
    when="a run is opened with a tool of the runner among reservedToolNames",
    expect=f"the error {INTERNAL} and no run: the same one opens when nothing is reserved",
    source="kodelet 6.3, 9.1; case 55",
)
async def reserved(kit: RunnerAttempt) -> None:
    tool = kit.told("tool", "a tool of the runner")
    plane, run = await kit.established(), kit.name()
    id = await plane.open(run, f"c-{run}", reservedToolNames=[tool])
    await plane.refused(id, INTERNAL, "run.open that reserves a tool of the runner")
    await plane.opened(run, reservedToolNames=None)
    await plane.close_run(run)


async def _opening(kit: RunnerAttempt) -> tuple[ControlPlane, str, str, str]:
    """A run whose opening takes a while: its id, its conversation, the id of run.open."""
    conversation = kit.told("slow-conversation", "a run that opens slowly") + kit.name("c")
    plane, run = await kit.established(SHORT), kit.name()
    id = await plane.open(run, conversation)
    await plane.heartbeat(run)  # it has begun: what comes behind it might overtake it
    return plane, run, conversation, id


@TOPIC.must(
    "KODELET-R-213",
    given="a run whose opening takes a while",
    when="a heartbeat is due, a call comes for it, and another run is asked for its conversation",
    expect=f"the run in the heartbeat, the errors {UNAVAILABLE} and {BUSY}; and then its manifest",
    source="kodelet 6.3, 8.1, 9.1",
)
async def opening(kit: RunnerAttempt) -> None:
    plane, run, conversation, id = await _opening(kit)
    early = await plane.dispatch(run, "agent.start")
    await plane.refused(early, UNAVAILABLE, "a call in a run that opens")
    second = await plane.open(kit.name(), conversation)
    await plane.refused(second, BUSY, "run.open for the conversation of a run that opens")
    await plane.result(id, "run.open")
    await plane.close_run(run)


@TOPIC.must(
    "KODELET-R-214",
    given="a run whose opening takes a while",
    when="it is closed",
    expect=f"null for run.close, the error {UNAVAILABLE} for run.open, and no run",
    source="kodelet 9.2, 15.7",
)
async def closed_early(kit: RunnerAttempt) -> None:
    plane, run, _, id = await _opening(kit)
    await plane.close_run(run)
    await plane.refused(id, UNAVAILABLE, "run.open of a run that was closed")
    await _not_there(plane, run)


@TOPIC.must(
    "KODELET-R-215",
    given="a run whose opening takes a while",
    when="operation.cancel names the request, with spaces around its id",
    expect=f"the error {UNAVAILABLE} for run.open, and no run",
    source="kodelet 5.4, 9.1, 15.7; case 13",
)
async def abandoned(kit: RunnerAttempt) -> None:
    plane, run, _, id = await _opening(kit)
    await plane.tell("operation.cancel", {"requestId": f" {id} "})
    await plane.refused(id, UNAVAILABLE, "run.open that was abandoned")
    await _not_there(plane, run)


@TOPIC.must(
    "KODELET-R-216",
    given="a run with a call that ignores its cancellation for a while",
    when="it is closed twice at once",
    expect="the same answer for both, and then no run",
    source="kodelet 9.2; case 53",
)
async def closed_twice(kit: RunnerAttempt) -> None:
    tool = kit.told("stubborn-tool", "a tool that ignores its cancellation for a while")
    plane, run = await kit.running()
    await plane.working(run, tool)
    ids = [await plane.ask("run.close", {"runId": run}) for _ in range(2)]
    answers = [await plane.answer(id, "the answer to run.close") for id in ids]
    for answer in answers:
        del answer["id"]
    if answers[0] != answers[1]:
        raise Unmet("the same answer", f"they are {json.dumps(answers)[:300]}")
    await _not_there(plane, run)
