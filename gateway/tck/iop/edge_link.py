"""An edge and its nodes: "NodeLink", and "Registration and link"."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.iop.edge import EdgeAttempt, Node
from fleetgate.gateway.tck.iop.talk import (
    DAY,
    DEAD_AFTER,
    GARBAGE,
    HEARTBEAT_AFTER,
    LIMIT,
    expect_equal,
    now,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w

TOPIC: Final = Topic("link")

REGISTER_WITHIN: Final = 10.0
"""Seconds, as in the page."""

_NEW: Final = "a fresh link"
_UP: Final = "a node that is registered"
_VIOLATION: Final = "error protocol_violation, and the end: FAILED_PRECONDITION, or close 1008"


@TOPIC.must(
    "IOP-E-001",
    given=_NEW,
    when="a node registers with its token",
    expect="registered with accepted true and a node_id",
    source="iop 1, NodeLink 2",
)
async def registered(kit: EdgeAttempt) -> None:
    response = await (await kit.dial()).register(kit.given.token)
    if not response.node_id:
        raise Unmet("a node_id", "it is empty")


@TOPIC.must(
    "IOP-E-002",
    given=_NEW,
    when="a node registers with a token that nobody was given, or with none",
    expect="registered with accepted false and a reason; the end: UNAUTHENTICATED, or close 1008",
    source="iop 1, NodeLink 2",
)
async def unknown_token(kit: EdgeAttempt) -> None:
    for token in (kit.name("token"), ""):
        node = await kit.dial()
        await node.say(w.RegisterRequest(token))
        response = await node.hear_a(w.RegisterResponse)
        if response.accepted or not response.reason:
            raise Unmet("accepted false, and a reason", f"this came: {node.last[:300]}")
        node.expect_ended(await node.over(), "unauthenticated")


@TOPIC.must(
    "IOP-E-003",
    given=_NEW,
    when="a heartbeat, an event, or a message without a payload comes before register",
    expect=_VIOLATION,
    source="iop 1, NodeLink 1",
)
async def register_first(kit: EdgeAttempt) -> None:
    for payload in (w.Heartbeat(1), w.RunEvent("r", "start"), w.Unknown()):
        node = await kit.dial()
        await node.say(payload)
        await node.expect_error("protocol_violation")


@TOPIC.must(
    "IOP-E-004",
    given=_NEW,
    when="nothing is said for 10 s",
    expect=_VIOLATION,
    source="iop 1, NodeLink 1; Registration and link",
)
async def no_register(kit: EdgeAttempt) -> None:
    node = await kit.dial()
    await node.expect_error("protocol_violation", REGISTER_WITHIN + kit.patience.within)


@TOPIC.must(
    "IOP-E-005",
    given=_UP,
    when="register comes again",
    expect=_VIOLATION,
    source="iop 1, Registration and link",
)
async def register_once(kit: EdgeAttempt) -> None:
    node = await kit.node()
    await node.say(w.RegisterRequest(kit.given.token))
    await node.expect_error("protocol_violation")


@TOPIC.must(
    "IOP-E-006",
    given="a fresh link, and a node that is registered",
    when="bytes come that are no message",
    expect=_VIOLATION,
    source="iop 1, Registration and link",
)
async def garbage(kit: EdgeAttempt) -> None:
    for node in (await kit.dial(), await kit.node()):
        await node.send(GARBAGE)
        await node.expect_error("protocol_violation")


@TOPIC.must(
    "IOP-E-007",
    given=_UP,
    when="a message comes without a payload, or with one that nobody knows",
    expect="that it is ignored, and that the link stays",
    source="iop 1, Registration and link",
)
async def unknown(kit: EdgeAttempt) -> None:
    node = await kit.node()
    await node.send(codec.encode_node(w.Unknown()), b"\xfa\x07\x01x")
    await node.expect_none(w.Error)
    await _expect_works(kit, node)


async def _expect_works(kit: EdgeAttempt, node: Node) -> None:
    """The link must still be that of the node: a newer one takes its place, and it is told."""
    await kit.node()
    await node.expect_error("replaced")


@TOPIC.must(
    "IOP-E-008",
    given=_UP,
    when="another link registers with the same token",
    expect="the same node_id and alias there; on the older link error replaced, and the end: "
    "ABORTED, or close 4002",
    source="iop 1, NodeLink 2, 3",
)
async def newest_wins(kit: EdgeAttempt) -> None:
    old, new = await kit.dial(), await kit.dial()
    before = await old.register(kit.given.token)
    after = await new.register(kit.given.token)
    expect_equal(after.node_id, before.node_id, "node_id")
    expect_equal(after.alias, before.alias, "alias")
    await old.expect_error("replaced")
    await new.expect_none(w.Error)


@TOPIC.must(
    "IOP-E-009",
    given=_UP,
    when="15 s go by in which the edge has nothing to say",
    expect="a heartbeat, with the time in Unix nanoseconds",
    source="iop 1, NodeLink 4",
)
async def heartbeat(kit: EdgeAttempt) -> None:
    node = await kit.node()
    await node.say(w.Heartbeat(now()))
    beat = await node.hear_a(w.Heartbeat, HEARTBEAT_AFTER + kit.patience.within)
    if abs(beat.timestamp - kit.clock()) > DAY:
        raise Unmet("the time in Unix nanoseconds", f"it is {beat.timestamp}")


@TOPIC.must(
    "IOP-E-010",
    given=_UP,
    when="nothing comes from it for 45 s",
    expect="error unavailable, and the end: UNAVAILABLE, or close 1001",
    source="iop 1, NodeLink 4; Registration and link",
)
async def dead(kit: EdgeAttempt) -> None:
    node = await kit.node()
    await node.expect_error("unavailable", DEAD_AFTER + kit.patience.within)


@TOPIC.must(
    "IOP-E-011",
    given=_UP,
    when="a message of more than 4 MiB comes",
    expect="the end: RESOURCE_EXHAUSTED, or close 1009",
    source="iop 1, Limits; Registration and link",
)
async def too_large(kit: EdgeAttempt) -> None:
    node = await kit.node()
    await node.send(codec.encode_node(w.Error("x", "x" * (LIMIT + 1)))[: LIMIT + 1])
    end = await node.over()
    if end.status not in (None, 8) or (end.status is None and end.code not in (None, 1009)):
        raise Unmet("the status RESOURCE_EXHAUSTED, or close 1009", end.text)


@TOPIC.must(
    "IOP-E-012",
    given=_NEW,
    when="a text message comes",
    expect="close 1003",
    source="iop 1, Registration and link",
)
async def text(kit: EdgeAttempt) -> None:
    kit.only_over(("ws", "wss"), "only WebSocket has text messages")
    node = await kit.peer(Node, binary=False)
    await node.send(b"hello")
    came = await node.over()
    if came.code != 1003:
        raise Unmet("close 1003", came.text)
