"""The words of iop's requirements, on memory links."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.iop.edge import Node
from fleetgate.gateway.tck.iop.talk import expect_code, expect_equal, options
from fleetgate.gateway.tck.peer import End, Patience, Unmet
from fleetgate.gateway.tck.seen import Seen
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.transports.api import Opening
from fleetgate.transports.memory import MemoryLink, memory_link_pair


def pair(path: str = "/iop") -> tuple[Node, MemoryLink]:
    near, far = memory_link_pair(openings=(Opening(path=path), Opening(path=path)))
    return Node(near, Seen(), Patience(), lambda frame, sent: frame.hex(), 1), far


async def test_a_kind_is_waited_for_past_heartbeats_and_news(autojump_clock: MockClock) -> None:
    node, far = pair()
    for payload in (w.Heartbeat(1), w.EdgeNodeEvent("e"), w.Error("a", "b"), w.RunRequest("r")):
        await far.send(codec.encode_edge(payload))
    assert await node.hear_a(w.Error) == w.Error("a", "b")
    with pytest.raises(Unmet, match="Error"):
        await node.hear_a(w.Error)
    with pytest.raises(Unmet, match="nothing came"):
        await node.hear_a(w.Error)
    await far.send(b"\xff")
    with pytest.raises(Unmet, match="protobuf"):
        await node.hear_a(w.Error)


async def test_what_must_not_come_is_found(autojump_clock: MockClock) -> None:
    node, far = pair()
    await node.expect_none(w.Error)
    await far.send(codec.encode_edge(w.Error("a", "b")))
    with pytest.raises(Unmet, match="no Error"):
        await node.expect_none(w.Error)
    with pytest.raises(Unmet, match="the end of the link"):
        await node.over()
    await far.close(1008)
    with pytest.raises(Unmet, match="the link stays"):
        await node.rest()
    assert (await node.over()).code == 1008


@pytest.mark.parametrize(
    ("end", "code", "path"),
    [
        (End("x", status=9), "protocol_violation", ""),
        (End("x", 1008), "protocol_violation", "/iop"),
        (End("x", 4002), "replaced", "/iop"),
        (End("x", 1000), "unavailable", "/iop"),
        (End("x", 1000), "protocol_violation", ""),
    ],
)
async def test_links_end_in_the_way_of_their_carriage(
    autojump_clock: MockClock, end: End, code: str, path: str
) -> None:
    pair(path)[0].expect_ended(end, code)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (End("x", status=9), "replaced"),
        (End("x", 1000, status=0), "protocol_violation"),
        (End("x", 1000), "protocol_violation"),
        (End("x", 1008), "replaced"),
    ],
)
async def test_links_that_end_in_another_way_are_unmet(
    autojump_clock: MockClock, end: End, code: str
) -> None:
    with pytest.raises(Unmet):
        pair()[0].expect_ended(end, code)


def test_errors_have_their_code_and_are_about_a_run() -> None:
    expect_code(w.Error("conflict", "r: x"), "conflict", "r")
    for wrong in (w.Error("internal", "r: x"), w.Error("conflict", "x")):
        with pytest.raises(Unmet):
            expect_code(wrong, "conflict", "r")
    expect_equal(1, 1, "it")
    with pytest.raises(Unmet, match="it is 2"):
        expect_equal(2, 1, "it")


def test_calls_are_dialled_by_their_path() -> None:
    assert options("/iop.EdgeControl/Run", "t").headers == {"authorization": "Bearer t"}
    made = options()
    assert made.headers == {}
    assert made.grpc is not None
    assert made.grpc.dial == w.CONNECT
