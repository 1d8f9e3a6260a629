"""A runner's registration and heartbeats: sections 2.4, 7 and 8.1."""

from __future__ import annotations

from typing import Any, Final

from fleetgate.gateway.tck.kodelet.runner import RUNNER, SHORT, ControlPlane, RunnerAttempt
from fleetgate.gateway.tck.kodelet.talk import (
    CONFLICT,
    PATH,
    STALE,
    SUBPROTOCOL,
    UNAVAILABLE,
    dumped,
    expect_equal,
    expect_object,
)
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("session")

UNAUTHORIZED: Final = 401

AGAIN: Final = 5.0
"""Seconds in which a runner that tries again has done so: behind a registration it pauses for 1."""

_NEW: Final = "a runner that dials"
_UP: Final = "a runner that is registered"


@TOPIC.must(
    "KODELET-R-101",
    given=_NEW,
    when="it asks for the upgrade",
    expect=f"the path to end with {PATH}, and {SUBPROTOCOL} among the subprotocols offered",
    source="kodelet 2.1, 2.4",
)
async def upgrade(kit: RunnerAttempt) -> None:
    opening = (await kit.arrive()).link.opening
    path = opening.path.partition("?")[0]
    if not path.endswith(PATH):
        raise Unmet(f"a path that ends with {PATH}", f"it is {path}")
    expect_equal(opening.subprotocol, SUBPROTOCOL, "the subprotocol")


@TOPIC.must(
    "KODELET-R-102",
    given="a runner that was given a token, and the kit, too (--token)",
    when="it asks for the upgrade",
    expect="Authorization: Bearer and the token",
    source="kodelet 2.3",
)
async def token(kit: RunnerAttempt) -> None:
    if not kit.given.token:
        raise Skipped("it needs a runner with a token: give --token")
    shown = (await kit.arrive()).link.opening.headers.get("authorization", "")
    if shown != f"Bearer {kit.given.token}":
        raise Unmet("Authorization: Bearer and the token", "another came, or none")


@TOPIC.should(
    "KODELET-R-103",
    given=_NEW,
    when="it asks for the upgrade",
    expect="no Origin, and no compression",
    source="kodelet 2.1, 2.2",
)
async def plain_upgrade(kit: RunnerAttempt) -> None:
    plane = await kit.established()
    headers = plane.link.opening.headers
    for name in ("origin", "sec-websocket-extensions"):
        if name in headers:
            raise Unmet(f"no {name}", f"it is {headers[name]}")


@TOPIC.must(
    "KODELET-R-104",
    given=_NEW,
    when="the link is up",
    expect="runner.register as the first message, a request with protocolVersions that has 1, host "
    "with instanceId, hostname, os and arch, workspace with path and name, capabilities and "
    "kodeletVersion",
    source="kodelet 7.1",
)
async def registers(kit: RunnerAttempt) -> None:
    plane = await kit.arrive()
    registration = await plane.registration()
    if not isinstance(registration.get("id"), str):
        raise Unmet("a request, whose id is a text", dumped(registration)[:300])
    params = expect_object(
        registration.get("params"),
        "the params of runner.register",
        protocolVersions=list,
        host=dict,
        workspace=dict,
        capabilities=dict,
        kodeletVersion=str,
    )
    if 1 not in params["protocolVersions"]:
        raise Unmet("1 among protocolVersions", f"they are {params['protocolVersions']}")
    host = expect_object(params["host"], "host", instanceId=str, hostname=str, os=str, arch=str)
    workspace = expect_object(params["workspace"], "workspace", path=str, name=str)
    for value, name in ((host, "instanceId"), (workspace, "path"), (workspace, "name")):
        if not value[name].strip():
            raise Unmet(f"{name} that is not blank", f"it is {value[name]!r}")


@TOPIC.should(
    "KODELET-R-105",
    given=_NEW,
    when="it registers",
    expect='the id "runner:1", and members in the order jsonrpc, id, method, params',
    source="kodelet 4.1, 4.2",
)
async def genuine_id(kit: RunnerAttempt) -> None:
    registration = await (await kit.arrive()).registration()
    expect_equal(registration["id"], "runner:1", "the id")
    expect_equal(list(registration), ["jsonrpc", "id", "method", "params"], "the members")


@TOPIC.must(
    "KODELET-R-106",
    given=_NEW,
    when="its registration is answered",
    expect="a heartbeat at once: idle, without runs, with the runnerId and generation it was given",
    source="kodelet 7.4, 8.1; case 39",
)
async def first_heartbeat(kit: RunnerAttempt) -> None:
    plane = await kit.arrive()
    plane.generation = 7
    await plane.register()
    beat = await plane.heartbeat()
    expect_equal(beat.get("runnerId"), RUNNER, "runnerId")
    expect_equal(beat.get("generation"), 7, "generation")
    expect_equal(beat.get("state"), "idle", "state")
    for name in ("activeRunId", "activeRunIds"):
        if name in beat:
            raise Unmet(f"no {name} without runs", f"it is {dumped(beat[name])}")


@TOPIC.must(
    "KODELET-R-107",
    given="a runner whose registration was answered with a heartbeatIntervalMs of 100",
    when="a while goes by",
    expect="heartbeat after heartbeat, as notifications",
    source="kodelet 7.1, 8.1",
)
async def heartbeats(kit: RunnerAttempt) -> None:
    plane = await kit.established(SHORT)
    for _ in range(3):
        beat = await plane.request("runner.heartbeat")
        if beat.get("id") is not None:
            raise Unmet("a notification", f"it has the id {beat['id']!r}")


@TOPIC.must(
    "KODELET-R-108",
    given=_NEW,
    when="run.open comes before its registration is answered",
    expect=f"the error {UNAVAILABLE}, and that it registers as before",
    source="kodelet 6.3, 15.4; case 51",
)
async def too_early(kit: RunnerAttempt) -> None:
    plane = await kit.arrive()
    registration = await plane.registration()
    id = await plane.open(kit.name(), "c")
    await plane.refused(id, UNAVAILABLE, "run.open before the registration")
    await plane.yes(registration, plane.granted())
    await plane.heartbeat()


@TOPIC.must(
    "KODELET-R-109",
    given="a runner that was registered, and whose link was lost",
    when="it dials again",
    expect="the same host.instanceId and workspace.path, with the runnerId that it was given",
    source="kodelet 7.2, 7.4",
)
async def same_again(kit: RunnerAttempt) -> None:
    plane = await kit.arrive()
    before = await plane.register()
    await plane.heartbeat()
    await plane.close(None)
    after = await (await kit.arrive()).register()
    for path in (("host", "instanceId"), ("workspace", "path")):
        came = (before[path[0]][path[1]], after[path[0]][path[1]])
        if came[0] != came[1]:
            raise Unmet(f"the same {path[1]}", f"{came[0]!r} became {came[1]!r}")
    expect_equal(after.get("runnerId"), RUNNER, "runnerId")


@TOPIC.must(
    "KODELET-R-110",
    given="a runner that registers with an id from earlier",
    when=f"it is answered with the error {STALE} and the reason runner_not_found",
    expect="a second registration on the same link without runnerId",
    source="kodelet 7.4, 15.2; case 29",
)
async def forgets_its_id(kit: RunnerAttempt) -> None:
    plane, registration = await _known(kit)
    await plane.no(registration, STALE, "runner not found", "runner_not_found")
    second = await plane.registration()
    if second["params"].get("runnerId"):
        raise Unmet("no runnerId", f"it is {second['params']['runnerId']!r}")
    if second["id"] == registration["id"]:
        raise Unmet("another id", f"it is {second['id']!r} again")
    await plane.yes(second, plane.granted())
    await plane.heartbeat()


async def _known(kit: RunnerAttempt) -> tuple[ControlPlane, Any]:
    """A runner that registers with the id that it was given before."""
    plane = await kit.established()
    await plane.heartbeat()
    await plane.close(None)
    plane = await kit.arrive()
    registration = await plane.registration()
    expect_equal(registration["params"].get("runnerId"), RUNNER, "runnerId")
    return plane, registration


@TOPIC.must(
    "KODELET-R-111",
    given="a runner that registers with an id from earlier",
    when=f"it is answered with the error {CONFLICT}",
    expect="that it drops the link, without a second registration there, and dials again",
    source="kodelet 7.4; case 29",
)
async def refused_registration(kit: RunnerAttempt) -> None:
    plane, registration = await _known(kit)
    await plane.no(registration, CONFLICT, "runner id belongs to another host workspace")
    await _dropped(kit, plane)


@TOPIC.must(
    "KODELET-R-112",
    given=_NEW,
    when="the answer to its registration has a blank runnerId, or the generation 0",
    expect="that it drops the link, and dials again",
    source="kodelet 7.1",
)
async def wrong_answer(kit: RunnerAttempt) -> None:
    wrongs: tuple[dict[str, Any], ...] = ({"runnerId": " "}, {"generation": 0})
    for wrong in wrongs:
        plane = await kit.arrive()
        registration = await plane.registration()
        await plane.yes(registration, plane.granted(**wrong))
        await _dropped(kit, plane)


async def _dropped(kit: RunnerAttempt, plane: ControlPlane) -> None:
    await plane.expect_gone()
    if plane.kept:
        raise Unmet("nothing more on the link", f"this came: {dumped(plane.kept[0])[:300]}")
    await (await kit.established()).close(None)


@TOPIC.must(
    "KODELET-R-113",
    given="a runner with an open run, whose link was lost",
    when="it is registered again",
    expect="that it has no run any more: a heartbeat that is idle, and the same conversation opens",
    source="kodelet 1, 13.2",
)
async def no_resume(kit: RunnerAttempt) -> None:
    plane, run = await kit.running()
    await plane.close(None)
    plane = await kit.established()
    beat = await plane.request("runner.heartbeat")
    expect_equal(beat["params"].get("state"), "idle", "state")
    again = kit.name()
    await plane.opened(again, f"c-{run}")
    await plane.close_run(again)


@TOPIC.must(
    "KODELET-R-114",
    given=_UP,
    when="runs are opened, up to two, and closed",
    expect="heartbeats that say running, with activeRunId and activeRunIds for one run, and with "
    "activeRunIds alone, in order, for two; and idle for none",
    source="kodelet 8.1; case 39",
)
async def reported(kit: RunnerAttempt) -> None:
    plane = await kit.established(SHORT)
    runs = sorted(kit.name() for _ in range(2))
    await plane.opened(runs[1])
    beat = await plane.heartbeat(runs[1])
    expect_equal(beat.get("state"), "running", "state")
    expect_equal(beat.get("activeRunId"), runs[1], "activeRunId")
    await plane.opened(runs[0])
    beat = await plane.heartbeat(*runs)
    expect_equal(beat.get("activeRunIds"), runs, "activeRunIds")
    if beat.get("activeRunId"):
        raise Unmet("no activeRunId for two runs", f"it is {beat['activeRunId']!r}")
    for run in runs:
        await plane.close_run(run)
    expect_equal((await plane.heartbeat()).get("state"), "idle", "state")


@TOPIC.must(
    "KODELET-R-115",
    given="a runner with two runs",
    when="one is cancelled, and then the other",
    expect="running in the heartbeats, and then stopping, with both runs until they are closed",
    source="kodelet 8.1, 9.3; case 39",
)
async def stopping(kit: RunnerAttempt) -> None:
    plane, first = await kit.running(SHORT)
    second = kit.name()
    await plane.opened(second)
    await plane.void("run.cancel", first, reason="context canceled")
    plane.kept.clear()
    expect_equal((await _next(plane, first, second)).get("state"), "running", "state")
    await plane.void("run.cancel", second)
    plane.kept.clear()
    expect_equal((await _next(plane, first, second)).get("state"), "stopping", "state")
    for run in (first, second):
        await plane.close_run(run)


async def _next(plane: ControlPlane, *runs: str) -> Any:
    """The second heartbeat from here on, for the first may have been under way."""
    await plane.request("runner.heartbeat")
    return await plane.heartbeat(*runs)


@TOPIC.should(
    "KODELET-R-116",
    given="a runner that was registered, and whose link was lost",
    when=f"its next upgrade is answered with {UNAUTHORIZED}",
    expect=f"that it does not dial again, at least for {AGAIN:g} s",
    source="kodelet 2.4; section 17, Runner",
    ends=True,
)
async def refused_for_good(kit: RunnerAttempt) -> None:
    plane = await kit.established()
    await plane.close(None)
    came = await kit.target.refuse(UNAUTHORIZED, kit.patience.arrive, AGAIN)
    if came != 1:
        times = f"it came {came} times" if came else "it did not come at all"
        raise Unmet(f"one upgrade, answered with {UNAUTHORIZED}", times)
