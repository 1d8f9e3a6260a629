"""The words of rvbox's requirements, on memory links."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.peer import Patience, Unmet
from fleetgate.gateway.tck.rvbox.talk import POLICY, EnvelopePeer, expect_code, new_uuid, options
from fleetgate.gateway.tck.seen import Seen
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.limits import is_uuid
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.transports.memory import MemoryLink, memory_link_pair


def pair() -> tuple[EnvelopePeer, MemoryLink]:
    near, far = memory_link_pair()
    peer = EnvelopePeer(near, Seen(), Patience(), lambda frame, sent: frame.hex(), 1)
    peer.session, peer.generation = "s", 1
    return peer, far


def envelope(payload: w.Payload, session: str = "s", generation: int = 1) -> bytes:
    return codec.encode(w.Envelope(session, generation, payload))


def error(code: Code, *, close: bool = True, text: str = "x") -> bytes:
    return envelope(w.AgentError(w.ControlError(code, text), close))


async def test_the_fence_is_looked_at(autojump_clock: MockClock) -> None:
    peer, far = pair()
    await far.send(envelope(w.ClientCapacity()))
    assert await peer.hear("figures") == w.ClientCapacity()
    for wrong in (("t", 1), ("s", 2)):
        await far.send(envelope(w.ClientCapacity(), *wrong))
        with pytest.raises(Unmet, match="in session 's', generation 1"):
            await peer.hear("figures")
    await far.send(b"\xff")
    with pytest.raises(Unmet, match="AgentEnvelope"):
        await peer.hear("figures")


async def test_a_kind_is_waited_for_past_those_that_may_come(autojump_clock: MockClock) -> None:
    peer, far = pair()
    for _ in range(2):
        await far.send(envelope(w.ClientCapacity()))
        await far.send(envelope(w.EventAck("u", 1)))
    assert await peer.hear_a(w.EventAck, w.ClientCapacity) == w.EventAck("u", 1)
    with pytest.raises(Unmet, match="EventAck"):
        await peer.hear_a(w.EventAck)


async def test_an_error_that_ends_a_session_is_whole(autojump_clock: MockClock) -> None:
    peer, far = pair()
    await far.send(envelope(w.ClientCapacity()))
    await far.send(error(Code.INVALID_ARGUMENT))
    await far.close(1008)
    await peer.expect_error(Code.INVALID_ARGUMENT, POLICY)


@pytest.mark.parametrize(
    ("frame", "close"),
    [
        (error(Code.INTERNAL), 1008),
        (error(Code.INVALID_ARGUMENT, close=False), 1008),
        (error(Code.INVALID_ARGUMENT), 1002),
        (error(Code.INVALID_ARGUMENT), None),
        (envelope(w.ClientCapacity()), 1008),
    ],
)
async def test_an_error_that_is_not_whole_is_unmet(
    autojump_clock: MockClock, frame: bytes, close: int | None
) -> None:
    peer, far = pair()
    await far.send(frame)
    if close is not None:
        await far.close(close)
    with pytest.raises(Unmet):
        await peer.expect_error(Code.INVALID_ARGUMENT, POLICY)


@pytest.mark.parametrize(
    "frame",
    [
        error(Code.CONFLICT, close=False, text="u: x"),
        error(Code.NOT_FOUND, close=True, text="u: x"),
        error(Code.NOT_FOUND, close=False, text="x"),
    ],
)
async def test_a_report_names_its_command_and_goes_on(
    autojump_clock: MockClock, frame: bytes
) -> None:
    peer, far = pair()
    await far.send(error(Code.NOT_FOUND, close=False, text="u: x"))
    await peer.expect_report(Code.NOT_FOUND, "u")
    await far.send(frame)
    with pytest.raises(Unmet):
        await peer.expect_report(Code.NOT_FOUND, "u")


def test_a_rejection_has_a_code() -> None:
    rejected = w.CommandAccepted("u", 1, False, w.ControlError(Code.CONFLICT, "m"))
    expect_code(rejected, Code.CONFLICT)
    for wrong in (w.CommandAccepted("u", 1, True), rejected):
        with pytest.raises(Unmet, match="QUEUE_FULL"):
            expect_code(wrong, Code.QUEUE_FULL)


def test_what_a_kit_shows_and_names() -> None:
    assert options("t").headers == {"authorization": "Bearer t"}
    assert options("").headers == {}
    assert is_uuid(new_uuid())
