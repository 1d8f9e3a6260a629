"""What bent targets do."""

from __future__ import annotations

import attrs
import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from fleetgate.gateway.tck.testing import (
    STAYS,
    Bend,
    BentLink,
    BentStream,
    before,
    behind,
    drop,
    hears,
    nth,
    says,
    swap,
    twice,
)
from fleetgate.transports.api import LinkBroken
from fleetgate.transports.memory import memory_link_pair


def test_frames_are_bent() -> None:
    assert swap("a", "b")(b"aa") == (b"bb",)
    assert drop("a")(b"xa") == ()
    assert drop("a")(b"x") == (b"x",)
    assert twice("a")(b"a") == (b"a", b"a")
    assert before("a", b"x")(b"a") == (b"x", b"a")
    assert behind("a", b"x")(b"a") == (b"a", b"x")
    second = nth("a", 2, drop("a"))
    assert [second(b"a"), second(b"a"), second(b"a")] == [(b"a",), (), (b"a",)]


async def test_a_link_is_bent_both_ways(autojump_clock: MockClock) -> None:
    near, far = memory_link_pair()
    link = BentLink(near, Bend(says=twice("a"), hears=drop("b")))
    await link.send(b"b")
    await link.send(b"c")
    assert await far.receive() == b"c"
    await far.send(b"a")
    assert [await link.receive(), await link.receive()] == [b"a", b"a"]
    assert link.statistics().frames_in == 1


async def test_a_link_may_end_too_soon(autojump_clock: MockClock) -> None:
    near, far = memory_link_pair()
    link = BentLink(near, Bend(leaves=lambda frame: frame == b"b"))
    await far.send_some((b"a", b"b", b"c"))
    assert [await link.receive(), await link.receive()] == [b"a", b"b"]
    with pytest.raises(trio.EndOfChannel):
        await link.receive()


async def test_a_link_may_stay_or_end_in_another_way(autojump_clock: MockClock) -> None:
    near, far = memory_link_pair()
    await far.close(1000)
    with trio.move_on_after(100) as scope:
        await BentLink(near, STAYS).receive()
    assert scope.cancelled_caught
    with pytest.raises(LinkBroken, match="torn"):
        await BentLink(near, Bend(ends=LinkBroken("torn"))).receive()
    with pytest.raises(trio.EndOfChannel):
        await BentLink(near, Bend()).receive()


async def test_a_stream_is_bent_and_says_something_before_its_end(
    autojump_clock: MockClock,
) -> None:
    near, far = memory_stream_pair()
    stream = BentStream(near, Bend(says=swap("a", "b"), hears=swap("x", "y"), stray=b"!"))
    await stream.send_all(b"x")
    assert await far.receive_some() == b"y"
    await far.send_all(b"a")
    await far.send_eof()
    assert [await stream.receive_some() for _ in range(3)] == [b"b", b"!", b""]


def test_short_words_for_bends() -> None:
    assert says("a", "b").says(b"a") == (b"b",)
    assert hears("a", "b").hears(b"a") == (b"b",)


async def test_what_is_known_of_a_link_is_bent(autojump_clock: MockClock) -> None:
    near, _ = memory_link_pair()
    bent = BentLink(near, Bend(opens=lambda opening: attrs.evolve(opening, path="/x")))
    assert bent.opening.path == "/x"
    assert bent.speaks_status is near.speaks_status
