"""The words of kodelet's requirements, on memory links."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.talk import (
    ABSENT,
    NO_METHOD,
    NOBODYS,
    RpcPeer,
    expect_equal,
    expect_object,
    expect_reason,
    given_text,
    options,
    read,
)
from fleetgate.gateway.tck.peer import Patience, Skipped, Unmet
from fleetgate.gateway.tck.seen import Seen
from fleetgate.transports.memory import MemoryLink, memory_link_pair

WRONG = b'{"jsonrpc":"2.0","id":"tck:1","error":{"code":-32601,"message":"m"}}'


def pair() -> tuple[RpcPeer, MemoryLink]:
    near, far = memory_link_pair()
    return RpcPeer(near, Seen(), Patience(), lambda frame, sent: frame.decode(), 1), far


async def test_requests_are_numbered_and_what_is_absent_is_not_null(
    autojump_clock: MockClock,
) -> None:
    peer, far = pair()
    assert await peer.ask("a") == "tck:1"
    assert await peer.ask("b", None) == "tck:2"
    await peer.tell("c", {"x": "é"})
    await peer.yes({"id": "q"})
    await peer.no({"id": "q"}, -1, "m", "why")
    assert [await far.receive() for _ in range(5)] == [
        b'{"jsonrpc":"2.0","id":"tck:1","method":"a"}',
        b'{"jsonrpc":"2.0","id":"tck:2","method":"b","params":null}',
        '{"jsonrpc":"2.0","method":"c","params":{"x":"é"}}'.encode(),
        b'{"jsonrpc":"2.0","id":"q","result":null}',
        b'{"jsonrpc":"2.0","id":"q","error":{"code":-1,"message":"m","data":{"reason":"why"}}}',
    ]


async def test_what_comes_meanwhile_is_kept(autojump_clock: MockClock) -> None:
    peer, far = pair()
    for text in ('"method":"n"', '"id":"b","result":2', '"id":"a","result":1'):
        await far.send(f'{{"jsonrpc":"2.0",{text}}}'.encode())
    assert await peer.result("a", "it") == 1
    assert await peer.result("b", "it") == 2
    assert (await peer.request("n"))["method"] == "n"
    assert await peer.rest() == []


async def test_a_refusal_has_its_code_and_reason(autojump_clock: MockClock) -> None:
    peer, far = pair()
    await far.send(WRONG)
    assert (await peer.refused("tck:1", NO_METHOD, "it", reason=""))["message"] == "m"
    for text in ('"result":1', '"error":{"code":1,"message":"m"}', '"error":{"code":-32601}'):
        await far.send(f'{{"jsonrpc":"2.0","id":"a",{text}}}'.encode())
        with pytest.raises(Unmet):
            await peer.refused("a", NO_METHOD, "it")
    await far.send(WRONG)
    with pytest.raises(Unmet, match="a result of it"):
        await peer.result("tck:1", "it")


async def test_an_answer_that_must_not_come_is_found(autojump_clock: MockClock) -> None:
    peer, far = pair()
    await far.send(WRONG)
    with pytest.raises(Unmet, match="no answer"):
        await peer.expect_silence()
    await far.send(b'{"jsonrpc":"2.0","method":"n"}')
    with pytest.raises(Unmet, match="no n"):
        await peer.expect_none(lambda message: message["method"] == "n", "n")


async def test_silence_is_that_of_a_link_that_answers(autojump_clock: MockClock) -> None:
    peer, far = pair()
    with pytest.raises(Unmet, match="nothing came"):
        await peer.expect_silence()
    assert NOBODYS.encode() in await far.receive()


async def test_an_end_is_bare_or_not(autojump_clock: MockClock) -> None:
    for code, fails in ((None, False), (1002, True), (1000, True)):
        peer, far = pair()
        await far.close(code)
        if fails:
            with pytest.raises(Unmet, match="without a close frame"):
                await peer.expect_gone(bare=True)
        assert (await peer.expect_gone()).code == code
    peer, far = pair()
    with pytest.raises(Unmet, match="nothing came"):
        await peer.expect_gone()
    await far.send(WRONG)
    with pytest.raises(Unmet, match="unanswered"):
        await peer.expect_gone()
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("frame", [b"\xff", b"[]", b"{}", b'{"jsonrpc":"1.0"}', b"x"])
def test_what_is_no_message_is_unmet(frame: bytes) -> None:
    with pytest.raises(Unmet, match="this came"):
        read(frame)


@pytest.mark.parametrize(("data", "reason"), [({"reason": "b"}, "a"), (None, "a"), ({"x": 1}, "")])
def test_a_reason_is_the_one_that_is_wanted(data: Any, reason: str) -> None:
    expect_reason({"data": {"reason": "a"}}, "a", "it")
    expect_reason({}, "", "it")
    with pytest.raises(Unmet):
        expect_reason({"data": data}, reason, "it")


def test_values_have_kinds() -> None:
    expect_object({"a": 1, "b": "x"}, "it", a=int, b=str)
    expect_equal([1], [1], "it")
    for value in ({"a": True}, {"a": "1"}, {}, None):
        with pytest.raises(Unmet):
            expect_object(value, "it", a=int)
    for wrong in (True, "1", 2):
        with pytest.raises(Unmet, match="it is"):
            expect_equal(wrong, 1, "it")


def test_what_a_kit_was_not_told_is_skipped() -> None:
    assert given_text("echo", "tool", "a tool") == "echo"
    with pytest.raises(Skipped, match="--tool"):
        given_text("", "tool", "a tool")
    assert options("t").headers == {"authorization": "Bearer t"}
    assert options("").headers == {}
    assert ABSENT is not None
