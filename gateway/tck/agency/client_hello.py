"""A client's first words, and whom it takes for its daemon: sections 4.1, 7 and 9."""

from __future__ import annotations

import json
from typing import Any, Final

from fleetgate.gateway.tck.agency.client import ClientAttempt
from fleetgate.gateway.tck.agency.talk import (
    expect_keys,
    expect_members,
    expect_order,
    member_object,
)
from fleetgate.gateway.tck.peer import End, Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("hello")

SINCE: Final = {"shutdown_if_idle": 2, "shutdown": 3, "interrupt_session": 4}
"""The minor that brought a request; the others are there from 0.1 on."""

_COMES: Final = "a client that has dialled"


@TOPIC.must(
    "AGENCY-C-001",
    given=_COMES,
    when="nothing is said to it",
    expect="hello as its first frame, of kind 0, with requestId 1, a client_name and a version of "
    "major 0",
    source="agency 4.1, 7",
)
async def first(kit: ClientAttempt) -> None:
    hello = await (await kit.arrive()).request("hello")
    expect_members(hello, "the first frame", type="hello", requestId=1)
    version = member_object(hello, "version", "hello")
    if not isinstance(hello.get("client_name"), str):
        raise Unmet("a client_name in hello", f"{hello!r:.300} came")
    expect_members(version, "the version", major=0)
    if type(version.get("minor")) is not int:
        raise Unmet("a minor", f"{version!r:.100} came")


@TOPIC.should(
    "AGENCY-C-002",
    given=_COMES,
    when="it says hello",
    expect="the keys requestId, type, client_name, version in this order, and no spaces",
    source="agency 3.1, 2.1",
)
async def layout(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    text = await daemon.hear_text("hello")
    hello: Any = json.loads(text)
    expect_keys(hello, ("requestId", "type", "client_name", "version"), "hello")
    expect_keys(hello["version"], ("major", "minor"), "the version")
    expect_order(text, "hello")


@TOPIC.should(
    "AGENCY-C-003",
    given="a client that has said hello",
    when="hello is not answered yet",
    expect="nothing more: which requests there are is not agreed yet",
    source="agency 7, 9.3",
)
async def waits(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    await daemon.request("hello")
    await daemon.expect_quiet("nothing before hello is answered")


async def _expect_leaves(kit: ClientAttempt, daemon: Any, what: str) -> None:
    """It must end the link without asking for anything more."""
    came = await daemon.next()
    if not isinstance(came, End):
        said = "it stayed" if came is None else f"it sent {daemon.last[:200]}"
        raise Unmet(f"that the client ends the link, for {what}", said)


@TOPIC.must(
    "AGENCY-C-004",
    given="a client that has said hello",
    when="the answer is the error incompatible_version",
    expect="that it ends the link, and asks for nothing",
    source="agency 7",
)
async def refused(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    hello = await daemon.request("hello")
    message = "the protocol major version is incompatible"
    await daemon.reply(hello, "error", code="incompatible_version", message=message)
    await _expect_leaves(kit, daemon, "an error")


@TOPIC.must(
    "AGENCY-C-005",
    given="a client that has said hello",
    when="the answer is a hello of major 1",
    expect="that it ends the link, and asks for nothing",
    source="agency 7",
)
async def other_major(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    await daemon.welcome(0, 1)
    await _expect_leaves(kit, daemon, "another major")


@TOPIC.must(
    "AGENCY-C-006",
    given="a client that has said hello",
    when="the answer is of another type than hello and error",
    expect="that it ends the link",
    source="agency 7",
)
async def nonsense(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    await daemon.reply(await daemon.request("hello"))
    await _expect_leaves(kit, daemon, "accepted in answer to hello")


@TOPIC.must(
    "AGENCY-C-007",
    given="a daemon of 0.1",
    when="the client goes on",
    expect="no request that 0.1 does not know: it would cost the link",
    source="agency 7, 9.3",
)
async def gated(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    await daemon.welcome(1)
    await daemon.settle()
    await kit.want("run", name=kit.name(), prompt=kit.given.prompt)
    await daemon.settle()
    for request in daemon.heard:
        if SINCE.get(request.get("type"), 0) > 1:
            raise Unmet("requests of 0.1", f"{request.get('type')} came")


@TOPIC.must(
    "AGENCY-C-008",
    given="a client whose hello was answered",
    when="it asks for several things",
    expect="a requestId of its own for each, from 2 upwards",
    source="agency 7",
)
async def numbered(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    await kit.want("run", name=kit.name(), prompt=kit.given.prompt)
    await daemon.settle()
    ids = [request.get("requestId") for request in daemon.heard]
    if ids != list(range(1, len(ids) + 1)):
        raise Unmet("requestId 1, 2, 3…", f"{ids} came")


@TOPIC.should(
    "AGENCY-C-009",
    given="a client that has said hello",
    when="the answer names a capability that it does not know",
    expect="that it goes on; the genuine client does not, and so cannot meet a newer daemon",
    source="agency 9.3, 11",
)
async def lenient(kit: ClientAttempt) -> None:
    daemon = await kit.arrive()
    await daemon.welcome(3, 0, "telepathy")
    await daemon.settle()


@TOPIC.must(
    "AGENCY-C-010",
    given="a client whose link has ended",
    when="the daemon is there again",
    expect="that it dials again, and says hello from the start",
    source="agency 7",
)
async def again(kit: ClientAttempt) -> None:
    daemon = await kit.welcomed()
    await daemon.close(None)
    hello = await (await kit.arrive()).request("hello")
    expect_members(hello, "the first frame", type="hello", requestId=1)
