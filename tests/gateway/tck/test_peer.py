"""The vocabulary of requirements, on memory links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from fleetgate.gateway.tck.peer import End, Patience, Peer, RawPeer, Skipped, Unmet
from fleetgate.gateway.tck.seen import Seen
from fleetgate.transports.framing import KindFramer
from fleetgate.transports.memory import MemoryLink, memory_link_pair
from fleetgate.transports.stream import StreamLink


def pair(limit: int = 100, buffer: int = 8) -> tuple[Peer, MemoryLink, Seen]:
    near, far = memory_link_pair(limit=limit, buffer=buffer)
    seen = Seen()
    return Peer(near, seen, Patience(), lambda frame, sent: repr(frame), 1), far, seen


async def test_what_comes_is_received_and_seen(autojump_clock: MockClock) -> None:
    peer, far, seen = pair()
    await far.send(b"a")
    await peer.send(b"b", b"c")
    assert await peer.receive("an a") == b"a"
    assert [await far.receive(), await far.receive()] == [b"b", b"c"]
    assert [frame.text for frame in seen.frames] == ["b'b'", "b'c'", "b'a'"]


async def test_silence_is_unmet_where_something_must_come(autojump_clock: MockClock) -> None:
    peer, _, _ = pair()
    with pytest.raises(Unmet, match=r"expected an answer; nothing came for 10 s"):
        await peer.receive("an answer")
    assert await peer.next(1) is None


async def test_an_end_is_unmet_where_something_must_come(autojump_clock: MockClock) -> None:
    peer, far, _ = pair()
    await far.close(1000)
    with pytest.raises(Unmet, match="the target closed the link"):
        await peer.receive("an answer")


Spoil = Callable[[MemoryLink], Awaitable[None]]


async def ends(far: MemoryLink) -> None:
    await far.close(1008)


async def talks(far: MemoryLink) -> None:
    await far.send(b"x")


async def stays(far: MemoryLink) -> None:
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(("spoil", "why"), [(talks, "a frame came"), (stays, "nothing came")])
async def test_an_end_that_does_not_come_is_unmet(
    autojump_clock: MockClock, spoil: Spoil, why: str
) -> None:
    peer, far, _ = pair()
    await spoil(far)
    with pytest.raises(Unmet, match=why):
        await peer.expect_end()


async def test_an_end_has_the_code_that_was_wanted(autojump_clock: MockClock) -> None:
    peer, far, _ = pair()
    await ends(far)
    assert (await peer.expect_end((1008,))).code == 1008
    with pytest.raises(Unmet, match="1002 or 1003"):
        await peer.expect_end((1002, 1003))


@pytest.mark.parametrize("spoil", [talks, ends])
async def test_what_is_not_quiet_is_unmet(autojump_clock: MockClock, spoil: Spoil) -> None:
    peer, far, _ = pair()
    await peer.expect_quiet()
    await spoil(far)
    with pytest.raises(Unmet):
        await peer.expect_quiet()


async def test_a_target_that_does_not_read_is_unmet(autojump_clock: MockClock) -> None:
    peer, _, _ = pair(buffer=1)
    await peer.send(b"a")
    with pytest.raises(Unmet, match="reads"):
        await peer.send(b"b")


async def test_a_target_that_has_left_is_met_at_the_next_receive(autojump_clock: MockClock) -> None:
    peer, far, _ = pair()
    await far.close(None)
    await peer.send(b"a")
    assert isinstance(await peer.next(), End)
    assert isinstance(await peer.next(), End)


async def test_a_frame_that_the_carriage_cannot_carry_is_skipped(autojump_clock: MockClock) -> None:
    peer, _, _ = pair(limit=2)
    with pytest.raises(Skipped):
        await peer.send(b"abc")


async def test_bytes_that_are_no_frame_are_no_end(autojump_clock: MockClock) -> None:
    near, far = memory_stream_pair()
    link = StreamLink(near, KindFramer(100))
    peer = Peer(link, Seen(), Patience(), lambda frame, sent: "", 1)
    await far.send_all(bytes(4))
    with pytest.raises(Unmet, match="stray"):
        await peer.expect_end()


async def test_a_byte_stream_is_read_to_its_end(autojump_clock: MockClock) -> None:
    near, far = memory_stream_pair()
    raw = RawPeer(near, Seen(), Patience(), 1)
    await far.send_all(b"abcd")
    assert await raw.some(2) == b"ab"
    await raw.send(b"x")
    assert await far.receive_some() == b"x"
    with pytest.raises(Unmet, match="it was open after 10 s, and 2 bytes had come"):
        await raw.rest()
    await far.aclose()
    assert await raw.rest() == b""
    with pytest.raises(Unmet, match="3 bytes"):
        await raw.some(3)
    await raw.send(b"late")


async def test_a_byte_stream_without_an_end_is_not_read_for_ever(autojump_clock: MockClock) -> None:
    near, far = memory_stream_pair()
    await far.send_all(bytes(2000))
    with pytest.raises(Unmet, match="more than 1000"):
        await RawPeer(near, Seen(), Patience(), 1).rest(1000)


async def test_one_direction_can_be_closed_where_the_carriage_can(
    autojump_clock: MockClock,
) -> None:
    near, far = memory_stream_pair()
    await RawPeer(near, Seen(), Patience(), 1).finish()
    assert await far.receive_some() == b""
    with pytest.raises(Skipped):
        await RawPeer(_OneWay(), Seen(), Patience(), 1).finish()


class _OneWay(trio.abc.Stream):
    async def send_all(self, data: bytes | bytearray | memoryview) -> None: ...

    async def wait_send_all_might_not_block(self) -> None: ...

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        return b""

    async def aclose(self) -> None: ...


async def test_a_byte_stream_is_read_through_a_mark(autojump_clock: MockClock) -> None:
    near, far = memory_stream_pair()
    raw = RawPeer(near, Seen(), Patience(), 1)
    await far.send_all(b"a}b")
    assert await raw.through(b"}") == b"a}b"
    await far.send_all(b"x" * 20)
    with pytest.raises(Unmet, match="without it"):
        await raw.through(b"}", most=10)
    with pytest.raises(Unmet, match="0 bytes came"):
        await raw.through(b"}")
