"""The first words of a connection: sections 4.1 and 9."""

from __future__ import annotations

import json
from typing import Any, Final

from fleetgate.gateway.tck.agency.daemon import Client, DaemonAttempt
from fleetgate.gateway.tck.agency.talk import (
    HELLO,
    MOST,
    dumped,
    expect_keys,
    expect_members,
    expect_order,
    member_list,
    member_object,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("hello")

CAPABILITIES: Final = (
    "event_replay",
    "live_injection",
    "approvals",
    "cancellation",
    "provider_detection",
    "lifecycle_control",
)
"""What a daemon of 0.3 says it can do."""

_FRESH: Final = "a fresh connection"


def _hello(minor: int, major: int = 0, id: int = 1) -> str:
    version = {"major": major, "minor": minor}
    return dumped({"requestId": id, "type": "hello", "client_name": "t", "version": version})


async def _greet(client: Client, minor: int) -> Any:
    await client.say(_hello(minor))
    answer = await client.hear("the answer to hello")
    expect_members(answer, "the answer", kind="response", request_id=1, type="hello")
    return answer


@TOPIC.must(
    "AGENCY-D-020",
    given=_FRESH,
    when="hello of 0.3 is said",
    expect="a hello with the keys kind, request_id, type, server_name, version, capabilities, in "
    "this order and without spaces",
    source="agency 3.2, 2.1",
)
async def answer(kit: DaemonAttempt) -> None:
    client = await kit.dial()
    await client.say(HELLO)
    text = await client.hear_text("the answer to hello")
    value = json.loads(text)
    keys = ("kind", "request_id", "type", "server_name", "version", "capabilities")
    expect_keys(value, keys, "hello")
    expect_keys(value["version"], ("major", "minor"), "the version")
    expect_order(text, "hello")


@TOPIC.must(
    "AGENCY-D-021",
    given=_FRESH,
    when="hello of 0.3 is said",
    expect="no capability beyond those of 0.3: a client of 0.3 dies of a name it does not know",
    source="agency 9.3; case B13",
)
async def closed_names(kit: DaemonAttempt) -> None:
    said = member_list(await _greet(await kit.dial(), 3), "capabilities", "hello")
    if not all(name in CAPABILITIES for name in said):
        raise Unmet(f"names out of {', '.join(CAPABILITIES)}", f"this came: {dumped(said)[:300]}")


@TOPIC.should(
    "AGENCY-D-022",
    given=_FRESH,
    when="hello of 0.3 is said",
    expect="all six capabilities of 0.3, in order",
    source="agency 4.1",
)
async def all_names(kit: DaemonAttempt) -> None:
    said = (await _greet(await kit.dial(), 3)).get("capabilities")
    if said != list(CAPABILITIES):
        raise Unmet(dumped(CAPABILITIES), f"this came: {dumped(said)[:300]}")


@TOPIC.must(
    "AGENCY-D-023",
    given=_FRESH,
    when="hello of 0.0, 0.2, or 0.9 is said",
    expect="the lower of both minors",
    source="agency 4.1 (2)",
)
async def negotiated(kit: DaemonAttempt) -> None:
    for minor in (0, 2):
        answer = await _greet(await kit.dial(), minor)
        expect_members(answer, "hello", version={"major": 0, "minor": minor})
    version = member_object(await _greet(await kit.dial(), 9), "version", "hello")
    if version.get("major") != 0:
        raise Unmet("a version of major 0", f"this came: {version!r:.100}")
    if version.get("minor") not in (1, 2, 3, 4):
        raise Unmet("the daemon's own minor, for 0.9", f"this came: {version!r:.100}")


@TOPIC.must(
    "AGENCY-D-024",
    given=_FRESH,
    when="hello of 1.0 is said",
    expect="the error incompatible_version, and the end",
    source="agency 4.1 (2); case B9",
)
async def other_major(kit: DaemonAttempt) -> None:
    client = await kit.dial()
    await client.say(_hello(0, major=1))
    await client.refused(1, "incompatible_version", "hello of 1.0")
    await client.expect_end()


@TOPIC.must(
    "AGENCY-D-025",
    given=_FRESH,
    when="the first frame is another request",
    expect="the error protocol_violation with that frame's number, and the end",
    source="agency 4.1 (1)",
)
async def hello_first(kit: DaemonAttempt) -> None:
    client = await kit.dial()
    await client.say('{"requestId":7,"type":"list_runs"}')
    await client.refused(7, "protocol_violation", "a request before hello")
    await client.expect_end()


@TOPIC.must(
    "AGENCY-D-026",
    given=_FRESH,
    when="the first frame is no JSON, or a hello without client_name",
    expect="the end, without a frame",
    source="agency 4.1 (1); case B11",
)
async def malformed(kit: DaemonAttempt) -> None:
    nameless = '{"requestId":1,"type":"hello","version":{"major":0,"minor":3}}'
    for text in ("{nope", nameless):
        client = await kit.dial()
        await client.say(text)
        await client.expect_end()
    await (await kit.dial()).hello()


@TOPIC.must(
    "AGENCY-D-027",
    given="a connection on which hello was answered",
    when="hello is said again",
    expect="the error protocol_violation, and the connection stays up",
    source="agency 4.1 (3)",
)
async def hello_once(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    await client.say(_hello(3, id=2))
    await client.refused(2, "protocol_violation", "a second hello")
    await client.expect_alive()


@TOPIC.must(
    "AGENCY-D-028",
    given="a connection on which hello was answered",
    when="requests carry the numbers 0, 18446744073709551615, and one twice",
    expect="the numbers come back as they were; none is refused",
    source="agency 4.1 (5)",
)
async def echoed(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    for id in (0, MOST, 5, 5):
        await client.say(f'{{"requestId":{id},"type":"list_runs"}}')
        await client.answer(id, f"an answer with request_id {id}")


@TOPIC.should(
    "AGENCY-D-029",
    given="connections on which something is refused",
    when="the error comes",
    expect="the genuine daemon's words, which released clients show to people",
    source="agency 6",
)
async def texts(kit: DaemonAttempt) -> None:
    words = {
        _hello(0, major=1): "the protocol major version is incompatible",
        '{"requestId":1,"type":"list_runs"}': "the first frame must be hello",
    }
    for text, message in words.items():
        client = await kit.dial()
        await client.say(text)
        answer = await client.hear("an error")
        expect_members(answer, "the error", type="error", message=message)
    client = await kit.greeted()
    await client.say(_hello(3, id=2))
    expect_members(
        await client.hear("an error"), "the error", message="hello may only be sent once"
    )
    id = await client.ask("attach_run", run_id=kit.name(), after_sequence=0)
    await client.refused(id, "not_found", "an unknown run", "run does not exist")
