"""A control plane and its runners: sections 6.2, 7, 8 and 12.3."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.kodelet.plane import PlaneAttempt, registration
from fleetgate.gateway.tck.kodelet.talk import (
    ABSENT,
    CONFLICT,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    STALE,
    Object,
    dumped,
    expect_equal,
)
from fleetgate.gateway.tck.peer import End, Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("session")

NOT_FOUND: Final = "runner_not_found"

DEAD_AFTER: Final = 60.0
"""Seconds after which a runner without heartbeats is dropped at the latest: 45, and a sweep."""

_NEW: Final = "a fresh link"
_UP: Final = "a runner that is registered"


@TOPIC.must(
    "KODELET-C-201",
    given=_NEW,
    when="a runner registers that was never here",
    expect="runnerId, protocolVersion 1, connectionId, generation 1 and a heartbeatIntervalMs",
    source="kodelet 7.1",
)
async def registered(kit: PlaneAttempt) -> None:
    runner = await kit.dial()
    result = await runner.register(**registration(kit.instance()))
    expect_equal(result["protocolVersion"], 1, "protocolVersion")
    expect_equal(result["generation"], 1, "generation")
    for name in ("runnerId", "connectionId"):
        if not result[name].strip():
            raise Unmet(f"a {name}", f"it is {result[name]!r}")
    if result["heartbeatIntervalMs"] <= 0:
        raise Unmet("a heartbeatIntervalMs above 0", f"it is {result['heartbeatIntervalMs']}")


@TOPIC.should(
    "KODELET-C-202",
    given=_NEW,
    when="a runner registers",
    expect="runner_ and conn_ with 16 characters each, and the members in the order of the table",
    source="kodelet 7.1, 15.2",
)
async def genuine_ids(kit: PlaneAttempt) -> None:
    result = await (await kit.dial()).register(**registration(kit.instance()))
    names = ["runnerId", "protocolVersion", "connectionId", "generation", "heartbeatIntervalMs"]
    expect_equal(list(result), names, "the members")
    for name, prefix in (("runnerId", "runner_"), ("connectionId", "conn_")):
        if not result[name].startswith(prefix) or len(result[name]) != len(prefix) + 16:
            raise Unmet(f"{prefix} and 16 characters", f"it is {result[name]!r}")


@TOPIC.must(
    "KODELET-C-203",
    given=_NEW,
    when="another request comes before runner.register",
    expect=f"the error {INVALID_REQUEST}, and that a registration succeeds afterwards",
    source="kodelet 6.2, 15.3",
)
async def first(kit: PlaneAttempt) -> None:
    runner = await kit.dial()
    params = {"runId": "r", "owner": {"extensionId": "", "generation": 0}}
    id = await runner.ask("ui.notify", {**params, "request": {"message": "hi"}})
    await runner.refused(id, INVALID_REQUEST, "ui.notify before the registration")
    await runner.register(**registration(kit.instance()))


@TOPIC.must(
    "KODELET-C-204",
    given=_UP,
    when="it registers again on the same link",
    expect=f"the error {INVALID_REQUEST}, and that the link stays",
    source="kodelet 6.2, 15.3",
)
async def once(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    id = await runner.ask("runner.register", registration(kit.instance()))
    await runner.refused(id, INVALID_REQUEST, "a second registration")
    await runner.expect_alive()


@TOPIC.must(
    "KODELET-C-205",
    given=_NEW,
    when="runner.register has no params, null for params, or offers versions without 1",
    expect=f"the error {INVALID_PARAMS} each time, and that a registration succeeds afterwards",
    source="kodelet 6.2, 15.3",
)
async def versions(kit: PlaneAttempt) -> None:
    runner, instance = await kit.dial(), kit.instance()
    for params in (ABSENT, None, registration(instance, protocolVersions=[2])):
        id = await runner.ask("runner.register", params)
        await runner.refused(id, INVALID_PARAMS, "a registration without version 1")
    await runner.register(**registration(instance))


@TOPIC.must(
    "KODELET-C-206",
    given=_NEW,
    when="a registration has a blank host.instanceId, workspace.path or workspace.name, or a "
    "number where a text belongs",
    expect=f"the error {INVALID_PARAMS}",
    source="kodelet 6.2",
)
async def blank(kit: PlaneAttempt) -> None:
    runner, instance = await kit.dial(), kit.instance()
    right = registration(instance)
    for members in (
        {"host": {**right["host"], "instanceId": " "}},
        {"workspace": {"path": "", "name": "project"}},
        {"workspace": {"path": "/srv/project", "name": ""}},
        {"kodeletVersion": 5},
    ):
        id = await runner.ask("runner.register", {**right, **members})
        await runner.refused(id, INVALID_PARAMS, f"a registration with {dumped(members)}")


@TOPIC.must(
    "KODELET-C-207",
    given=_UP,
    when="the same host and workspace registers on another link",
    expect="the same runnerId, generation 2 and another connectionId there; and the end of the "
    "older connection without a close frame",
    source="kodelet 7.3; case 25",
)
async def replaced(kit: PlaneAttempt) -> None:
    instance = kit.instance()
    old, new = await kit.dial(), await kit.dial()
    before = await old.register(**registration(instance))
    after = await new.register(**registration(instance))
    expect_equal(after["runnerId"], before["runnerId"], "runnerId")
    expect_equal(after["generation"], before["generation"] + 1, "generation")
    if after["connectionId"] == before["connectionId"]:
        raise Unmet("another connectionId", f"it is {after['connectionId']!r} again")
    await old.expect_gone(bare=True)
    await new.beat()
    await new.expect_alive()


@TOPIC.must(
    "KODELET-C-208",
    given="a runner that has left",
    when="it registers again, without the runnerId and with it",
    expect="the same runnerId, and a generation that rises by one each time",
    source="kodelet 7.2, 7.3",
)
async def returned(kit: PlaneAttempt) -> None:
    instance = kit.instance()
    runner = await kit.dial()
    first = await runner.register(**registration(instance))
    for number, named in enumerate(({}, {"runnerId": first["runnerId"]}), start=2):
        await runner.close(None)
        runner = await kit.dial()
        result = await runner.register(**registration(instance, **named))
        expect_equal(result["runnerId"], first["runnerId"], "runnerId")
        expect_equal(result["generation"], number, "generation")


@TOPIC.must(
    "KODELET-C-209",
    given=_NEW,
    when="a runner registers with a runnerId that nobody was given, from a host that nobody knows",
    expect=f"the error {STALE} with the reason {NOT_FOUND}; and on that link it succeeds without",
    source="kodelet 6.2, 7.2, 15.2; case 27",
)
async def unknown_id(kit: PlaneAttempt) -> None:
    runner, instance = await kit.dial(), kit.instance()
    id = await runner.ask("runner.register", registration(instance, runnerId="runner_tck"))
    await runner.refused(id, STALE, "an unknown runnerId", reason=NOT_FOUND)
    await runner.register(**registration(instance))


@TOPIC.must(
    "KODELET-C-210",
    given=_UP,
    when="another link registers with its runnerId and another workspace, or with another runnerId "
    "and its workspace",
    expect=f"the error {CONFLICT} each time, and that the first link stays",
    source="kodelet 6.2, 7.2; case 27",
)
async def conflicts(kit: PlaneAttempt) -> None:
    instance = kit.instance()
    owner = await kit.established(instance)
    other = await kit.dial()
    elsewhere = {"path": "/srv/elsewhere", "name": "elsewhere"}
    for members in ({"runnerId": owner.id, "workspace": elsewhere}, {"runnerId": "runner_tck"}):
        id = await other.ask("runner.register", registration(instance, **members))
        await other.refused(id, CONFLICT, f"a registration with {dumped(members)}")
    await owner.expect_alive()


@TOPIC.must(
    "KODELET-C-211",
    given=_UP,
    when="it sends a request that only a control plane may send",
    expect=f"the error {NO_METHOD}",
    source="kodelet 6.2, 15.3",
)
async def wrong_direction(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    for method in ("run.open", "run.close", "tool.execute"):
        await runner.refused(await runner.ask(method, {}), NO_METHOD, method)


_HEARTBEATS: Final[tuple[Object, ...]] = (
    {"state": "future"},
    {"state": "idle", "activeRunIds": ["zz"]},
    {"state": "running"},
    {"state": "running", "activeRunIds": ["a", "a"]},
    {"state": "running", "activeRunId": "b", "activeRunIds": ["a"]},
    {"state": "idle", "generation": 2},
    {"state": "idle", "runnerId": ""},
    {"state": "error"},
    {"state": 5},
    {},
)


@TOPIC.must(
    "KODELET-C-212",
    given=_UP,
    when="heartbeats come that are not valid, in each way of the table, and none of the params",
    expect="no answer to any of them, and that the link stays",
    source="kodelet 8.1, 15.11",
)
async def odd_heartbeats(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    for members in _HEARTBEATS:
        right = {"runnerId": runner.id, "generation": runner.generation}
        await runner.tell("runner.heartbeat", {**right, **members})
    await runner.tell("runner.heartbeat")
    await runner.expect_silence()


@TOPIC.must(
    "KODELET-C-213",
    given=_UP,
    when="runner.goodbye comes without params, then a heartbeat, then another registration",
    expect=f"no answer and a link that stays, nothing, and the error {INVALID_REQUEST}",
    source="kodelet 8.3; case 37",
)
async def goodbye(kit: PlaneAttempt) -> None:
    instance = kit.instance()
    runner = await kit.established(instance)
    await runner.tell("runner.goodbye")
    await runner.beat()
    await runner.expect_silence()
    id = await runner.ask("runner.register", registration(instance))
    await runner.refused(id, INVALID_REQUEST, "a registration after goodbye")


@TOPIC.must(
    "KODELET-C-214",
    given="a link on which nothing was registered",
    when="heartbeats, a goodbye and a tool.update come",
    expect="that they are ignored, and that a registration succeeds afterwards",
    source="kodelet 7.1",
)
async def early_notifications(kit: PlaneAttempt) -> None:
    runner = await kit.dial()
    for method in ("runner.heartbeat", "runner.goodbye", "tool.update"):
        await runner.tell(method, {"runnerId": "runner_tck", "generation": 1, "state": "idle"})
    await runner.register(**registration(kit.instance()))


@TOPIC.must(
    "KODELET-C-215",
    given="a runner that is registered, and answers pings",
    when="no heartbeat comes from it for 60 s",
    expect="the end of the connection without a close frame, and not before 40 s have gone by",
    source="kodelet 8.4; case 33",
)
async def silent(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    began = kit.clock()
    came = await runner.next(DEAD_AFTER + kit.patience.within)
    if not isinstance(came, End):
        said = "nothing came" if came is None else f"this came: {runner.last[:300]}"
        raise Unmet(f"the end of the connection within {DEAD_AFTER:g} s", said)
    if came.code is not None:
        raise Unmet("the end without a close frame", came.text)
    if kit.clock() - began < 40_000_000_000:
        raise Unmet("that a runner may be silent for 45 s", "it ended before 40")


@TOPIC.must(
    "KODELET-C-216",
    given=_UP,
    when="ui.input or ui.notify comes with a blank runId, or for a run that is not there",
    expect=f"the error {INVALID_PARAMS}, and the error {STALE} without data",
    source="kodelet 12.3, 15.8; case 65",
)
async def stray_questions(kit: PlaneAttempt) -> None:
    runner = await kit.established()
    for method in ("ui.input", "ui.notify"):
        id = await runner.ask(method, question(" "))
        await runner.refused(id, INVALID_PARAMS, f"{method} with a blank runId")
        id = await runner.ask(method, question("zz"))
        await runner.refused(id, STALE, f"{method} for no run", reason="")


def question(run: str) -> dict[str, Any]:
    """The params of a question."""
    request = {"id": "q1", "title": "Name?", "message": "m"}
    return {"runId": run, "owner": {"extensionId": "ext", "generation": 2}, "request": request}
