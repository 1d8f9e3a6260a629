"""One side of a recording on memory links, against a peer that is written out here."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from fleetgate.gateway.recording.comparing import Manner
from fleetgate.gateway.recording.reading import End, Frame, Item, LinkUp, Recording, Unusable
from fleetgate.gateway.recording.replay import Played, Replay
from fleetgate.gateway.registry import adapters
from fleetgate.transports.api import Link, LinkBroken
from fleetgate.transports.memory import memory_link_pair

SHOWING = adapters(())["kodelet"].showing
UP = LinkUp(1, 0, "kodelet", "", "", "worker")
Peer = Callable[[Link], Awaitable[None]]


def rpc(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def frame(number: int, sender: Any, name: str, body: Any) -> Frame:
    return Frame(1, number, number, sender, name, body, json.dumps(body).encode())


ASK = frame(1, "controller", "run.open", rpc(id="s:1", method="run.open", params={"runId": "r"}))
ANSWER = frame(2, "worker", "run.open result", rpc(id="s:1", result={"runId": "r", "n": 1}))
BEAT = frame(3, "worker", "runner.heartbeat", rpc(method="runner.heartbeat", params={"state": "x"}))
NOTE = frame(4, "worker", "ui.notify", rpc(id="w:1", method="ui.notify", params={"a": "b"}))
YES = frame(5, "controller", "ui.notify result", rpc(id="w:1", result=None))


async def played(
    items: list[Item],
    peer: Peer,
    side: Any = "controller",
    manner: Manner = "values",
    spoken: Callable[[], None] = lambda: None,
) -> Played:
    near, far = memory_link_pair()
    recording = Recording("r", 0, {"kodelet": "1"}, (UP, *items))
    replay = Replay(recording, SHOWING, side, manner, 0, patience=5)

    async def open(up: LinkUp) -> Link:
        return near

    verdict: Played | Unusable
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer, far)
        try:
            verdict = await replay.play(open, spoken)
        except Unusable as error:
            verdict = error
        nursery.cancel_scope.cancel()
    if isinstance(verdict, Unusable):
        raise verdict
    return verdict


def says(*bodies: Any, first: int = 1, close: int | None = -1) -> Peer:
    """A peer that hears so many frames, says these, and closes with a code unless it is -1."""

    async def peer(link: Link) -> None:
        for _ in range(first):
            await link.receive()
        for body in bodies:
            await link.send(json.dumps(body).encode())
        if close != -1:
            await link.close(close)

    return peer


async def test_a_peer_that_keeps_to_it(autojump_clock: MockClock) -> None:
    verdict = await played([ASK, ANSWER], says(ANSWER.body))
    assert verdict == Played(2)


async def test_the_first_difference_is_told(autojump_clock: MockClock) -> None:
    other = rpc(id="s:1", result={"runId": "r", "n": 2})
    verdict = await played([ASK, ANSWER], says(other))
    assert str(verdict.difference) == (
        "frame 2 (run.open result, from the worker) at result.n: expected 1, got 2"
    )
    assert verdict.frames == 1
    assert (await played([ASK, ANSWER], says(other), manner="shape")).difference is None


async def test_another_message_silence_and_an_end_are_differences(
    autojump_clock: MockClock,
) -> None:
    for peer, got in (
        (
            says(rpc(id="s:1", error={"code": -1, "message": "not today"})),
            "expected run.open result, got run.open error "
            '{"jsonrpc": "2.0", "id": "s:1", "error": {"code": -1, "message": "not today"}}',
        ),
        (says(), "expected run.open result, got nothing within 5 s"),
        (says(close=4001), "the end of the link"),
        (says({"no": "rpc"}), "result"),
    ):
        verdict = await played([ASK, ANSWER], peer)
        assert verdict.difference is not None
        assert got in str(verdict.difference)
        assert verdict.difference.frame == 2


async def test_signs_of_life_come_as_they_come_unless_it_is_strict(
    autojump_clock: MockClock,
) -> None:
    for items in ([ASK, ANSWER], [ASK, BEAT, ANSWER, BEAT]):
        for bodies in ((ANSWER.body,), (BEAT.body, BEAT.body, ANSWER.body)):
            assert (await played(list(items), says(*bodies))).difference is None
    strict = await played([ASK, ANSWER], says(BEAT.body, ANSWER.body), manner="strict")
    assert "expected run.open result, got runner.heartbeat" in str(strict.difference)
    strict = await played([ASK, BEAT, ANSWER], says(BEAT.body, ANSWER.body), manner="strict")
    assert strict == Played(3)


async def test_between_our_messages_any_order_will_do_unless_it_is_strict(
    autojump_clock: MockClock,
) -> None:
    peer = says(NOTE.body, ANSWER.body)
    assert (await played([ASK, ANSWER, NOTE, YES], peer)).difference is None
    strict = await played([ASK, ANSWER, NOTE, YES], peer, manner="strict")
    assert strict.difference is not None


BYE = frame(6, "worker", "runner.goodbye", rpc(method="runner.goodbye", params={}))


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([ASK, ANSWER, BYE, BEAT, End(1, 0, "worker", 1000, False)], True),
        ([ASK, ANSWER, BYE, YES], False),  # ours: the peer must still be there
        ([ASK, BYE, ANSWER], False),
    ],
    ids=["farewell", "ours", "no farewell"],
)
async def test_it_is_told_when_only_a_farewell_is_left(
    autojump_clock: MockClock, items: list[Item], told: bool
) -> None:
    """Where it is told, the peer goes then, and not before."""
    spoken = trio.Event()

    async def peer(link: Link) -> None:
        for item in items:
            if item is BYE and told:
                await spoken.wait()
            if isinstance(item, Frame) and item.sender == "worker":
                await link.send(json.dumps(item.body).encode())
            elif isinstance(item, Frame):
                await link.receive()
            else:
                await link.close(1000)

    verdict = await played(items, peer, spoken=spoken.set)
    assert verdict.difference is None
    assert spoken.is_set() == told


async def test_the_peers_names_come_back_to_it(autojump_clock: MockClock) -> None:
    heard: list[Any] = []

    async def peer(link: Link) -> None:
        await link.send(json.dumps({**NOTE.body, "id": "w:99"}).encode())
        heard.append(json.loads(await link.receive()))

    assert (await played([NOTE, YES], peer)).difference is None
    assert heard == [rpc(id="w:99", result=None)]


async def test_what_was_said_in_one_go_is_said_in_one_go(autojump_clock: MockClock) -> None:
    batches: list[int] = []

    async def peer(link: Link) -> None:
        batches.append(len(await link.receive_some()))

    note = frame(2, "controller", "ui.surface.resize", rpc(method="ui.surface.resize", params={}))
    await played([ASK, note], peer)
    assert batches == [2]


@pytest.mark.parametrize(
    ("end", "close", "alike"),
    [
        (End(1, 9, "worker", None, False), 1000, True),
        (End(1, 9, "worker", 1001, False), 1000, True),
        (End(1, 9, "worker", 4001, True), 4001, True),
        (End(1, 9, "worker", 4001, False), 4001, True),
        (End(1, 9, "worker", 4001, True), 4002, False),
        (End(1, 9, "worker", None, False), None, False),
        (End(1, 9, "worker", None, True), None, True),
        (End(1, 9, "worker", None, True), 1000, False),
        (End(1, 9, "worker", None, False), -1, False),
    ],
)
async def test_the_peers_end_is_as_it_was(
    end: End, close: int | None, alike: bool, autojump_clock: MockClock
) -> None:
    verdict = await played([ASK, end], says(close=close))
    assert (verdict.difference is None) is alike, verdict


async def test_a_message_in_place_of_an_end_is_a_difference(autojump_clock: MockClock) -> None:
    end = End(1, 9, "worker", None, False)
    verdict = await played([ASK, end], says(NOTE.body, close=1000))
    assert "expected its end, got ui.notify" in str(verdict.difference)
    assert (await played([ASK, end], says(BEAT.body, close=1000))).difference is None


async def test_our_end_closes_unless_more_is_to_come(autojump_clock: MockClock) -> None:
    seen: list[str] = []

    async def peer(link: Link) -> None:
        await link.receive()
        await link.send(json.dumps(ANSWER.body).encode())
        try:
            await link.receive()
        except LinkBroken as error:
            seen.append(str(error.code))

    ours = End(1, 9, "controller", 4000, False)
    theirs = End(1, 9, "worker", None, False)
    assert (await played([ASK, ours, ANSWER, theirs], says(ANSWER.body, close=1000))).frames == 2
    assert (await played([ASK, ANSWER, ours, theirs], peer)).difference is None
    await trio.lowlevel.checkpoint()


async def test_what_cannot_be_played_is_said() -> None:
    unread = Frame(1, 1, 1, "controller", "", None, None)
    with pytest.raises(Unusable, match="frame 1 is ours, and could not be read"):
        await played([unread], says(first=0))
    with pytest.raises(Unusable, match="link 2 is used and never comes up"):
        await played([Frame(2, 1, 1, "controller", "x", {}, b"{}")], says(first=0))


async def test_a_link_that_does_not_come_is_a_difference(autojump_clock: MockClock) -> None:
    async def open(up: LinkUp) -> Link:
        await trio.sleep_forever()
        raise AssertionError

    recording = Recording("r", 0, {}, (UP,))
    verdict = await Replay(recording, SHOWING, "worker", "values", 0, patience=5).play(open)
    assert str(verdict.difference) == "link 1: expected a link, got nothing within 5 s"


async def test_a_peer_that_is_gone_takes_nothing(autojump_clock: MockClock) -> None:
    near, far = memory_link_pair()
    await far.close(4000)

    async def open(up: LinkUp) -> Link:
        return near

    recording = Recording("r", 0, {}, (UP, ASK))
    verdict = await Replay(recording, SHOWING, "controller", "values", 0).play(open)
    assert str(verdict.difference).startswith("frame 1 (run.open): expected a peer that takes it")
