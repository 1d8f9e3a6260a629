"""A node and its edge: "NodeLink", and "Registration and link"."""

from __future__ import annotations

from typing import Final

import trio

from fleetgate.gateway.tck.iop.node import ALIAS, NODE, NodeAttempt
from fleetgate.gateway.tck.iop.talk import (
    DAY,
    DEAD_AFTER,
    GARBAGE,
    HEARTBEAT_AFTER,
    expect_code,
    now,
)
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w

TOPIC: Final = Topic("link")

_NEW: Final = "a node that dials"
_UP: Final = "a node that is registered"
_AGAIN: Final = "the end of the link, and that it dials again and registers"


@TOPIC.must(
    "IOP-N-001",
    given=_NEW,
    when="the link is up",
    expect="register with a token as the first message, and nothing more before the answer",
    source="iop 1, NodeLink 1",
)
async def registers(kit: NodeAttempt) -> None:
    edge = await kit.arrive()
    token = (await edge.registration()).token
    if not token:
        raise Unmet("a token", "it is empty")
    await edge.expect_quiet("nothing before the answer")


@TOPIC.must(
    "IOP-N-002",
    given="a node that was given a token, and the kit, too (--token)",
    when="it registers",
    expect="that token",
    source="iop 1, NodeLink 1",
)
async def token(kit: NodeAttempt) -> None:
    if not kit.given.token:
        raise Skipped("it needs to know the token: give --token")
    if (await (await kit.arrive()).registration()).token != kit.given.token:
        raise Unmet("the token that it was given", "it is another")


@TOPIC.must(
    "IOP-N-003",
    given=_UP,
    when="the link is lost",
    expect="that it dials again and registers with the same token",
    source="iop 1, NodeLink 7",
)
async def again(kit: NodeAttempt) -> None:
    edge = await kit.arrive()
    before = await edge.registration()
    await edge.say(w.RegisterResponse(True, NODE, ALIAS))
    await edge.close(None)
    if (await (await kit.arrive()).registration()).token != before.token:
        raise Unmet("the same token", "it is another")


@TOPIC.should(
    "IOP-N-004",
    given=_NEW,
    when="its registration is answered with a configuration",
    expect="node_event node.config_applied with an event_id and the node_id that it was given",
    source="iop 1, Watchers",
)
async def applied(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    event = await edge.until(w.EdgeNodeEvent, lambda it: it.type == "node.config_applied")
    if event.node_id != NODE or not event.event_id:
        raise Unmet(f"the node_id {NODE} and an event_id", f"this came: {edge.last[:300]}")


@TOPIC.must(
    "IOP-N-005",
    given=_UP,
    when="a message comes without a payload, or with one that nobody knows",
    expect="that it is ignored: a run can be started",
    source="iop 1, Registration and link",
)
async def unknown(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    await edge.send(codec.encode_edge(w.Unknown()), b"\xfa\x07\x01x")
    request = await kit.run(edge)
    await edge.events(request.run_id)


@TOPIC.must(
    "IOP-N-006",
    given=_UP,
    when="bytes come that are no message",
    expect=_AGAIN,
    source="iop 1, Registration and link",
)
async def garbage(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    await edge.rest()
    await edge.send(GARBAGE)
    await edge.over()
    await kit.registered()


@TOPIC.must(
    "IOP-N-007",
    given=_UP,
    when="registered comes again",
    expect=_AGAIN,
    source="iop 1, Registration and link",
)
async def registered_twice(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    await edge.rest()
    await edge.say(w.RegisterResponse(True, NODE, ALIAS))
    await edge.over()
    await kit.registered()


@TOPIC.must(
    "IOP-N-008",
    given=_UP,
    when="a heartbeat comes every 15 s, and nothing else, for 60 s",
    expect="that the link stays: a run can be started",
    source="iop 1, NodeLink 4",
)
async def kept_alive(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    for _ in range(4):
        await trio.sleep(HEARTBEAT_AFTER)
        await edge.say(w.Heartbeat(now()))
    request = await kit.run(edge)
    await edge.events(request.run_id)


@TOPIC.must(
    "IOP-N-009",
    given=_UP,
    when="15 s go by in which the node has nothing to say",
    expect="a heartbeat, with the time in Unix nanoseconds",
    source="iop 1, NodeLink 4",
)
async def heartbeat(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    await edge.rest()
    await edge.say(w.Heartbeat(now()))
    beat = await edge.hear_a(w.Heartbeat, HEARTBEAT_AFTER + kit.patience.within)
    if abs(beat.timestamp - kit.clock()) > DAY:
        raise Unmet("the time in Unix nanoseconds", f"it is {beat.timestamp}")


@TOPIC.must(
    "IOP-N-010",
    given=_UP,
    when="nothing comes from the edge for 45 s",
    expect=_AGAIN,
    source="iop 1, NodeLink 4",
)
async def dead(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    await edge.over(DEAD_AFTER + kit.patience.within)
    await kit.registered()


@TOPIC.should(
    "IOP-N-011",
    given=_NEW,
    when="the configuration enables an adapter type that it does not know",
    expect="error unsupported_adapter, and that runs on other adapters can be started",
    source="iop 1, Config push",
)
async def unsupported(kit: NodeAttempt) -> None:
    types = (w.AdapterConfig("tck-none", True), w.AdapterConfig(kit.given.adapter, True))
    edge = await kit.registered(w.NodeConfigPayload(types))
    expect_code(await edge.until(w.Error, lambda _: True), "unsupported_adapter")
    request = await kit.run(edge)
    await edge.events(request.run_id)


@TOPIC.must(
    "IOP-N-012",
    given=_UP,
    when="error replaced comes, and the end: ABORTED, or close 4002",
    expect="that it does not dial again by itself",
    source="iop 1, NodeLink 3, 7",
    ends=True,
)
async def replaced(kit: NodeAttempt) -> None:
    edge = await kit.registered()
    await edge.rest()
    await edge.say(w.Error("replaced", "by a newer link"))
    await edge.leave("replaced")
    await kit.expect_no_dial()


@TOPIC.must(
    "IOP-N-013",
    given=_NEW,
    when="registered comes with accepted false, and the end: UNAUTHENTICATED, or close 1008",
    expect="that it does not dial again",
    source="iop 1, NodeLink 2, 7",
    ends=True,
)
async def refused(kit: NodeAttempt) -> None:
    edge = await kit.arrive()
    await edge.registration()
    await edge.say(w.RegisterResponse(False, reason="the token is not known"))
    await edge.leave("unauthenticated")
    await kit.expect_no_dial()
