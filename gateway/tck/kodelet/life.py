"""How either side finds out that the other is dead: pings and pongs, section 3. These take their
time: nothing happens for as long as a peer may wait."""

from __future__ import annotations

from typing import Final, Protocol

import trio

from fleetgate.gateway.tck.kodelet.talk import RpcPeer
from fleetgate.gateway.tck.peer import End, Patience, Unmet
from fleetgate.gateway.tck.requirement import Topic

PING_EVERY: Final = 30.0
PONG_WAIT: Final = 45.0

EARLY: Final = 10.0
"""How many seconds less a peer may have waited as we count: it began before us, and its clock is
its own. It has pinged by then, and left time for an answer."""

ALIVE_EVERY: Final = 10.0
"""Seconds between our messages, which count for nothing here. A control plane hears of a runner
often enough to keep it."""


class Kit(Protocol):
    """A requirement of either side, being tried."""

    patience: Patience

    async def established(self) -> RpcPeer:
        """A link on which the runner is registered."""
        ...

    def note(self, text: str) -> None:
        """Say something beside the verdict."""
        ...


_SHARED: Final = Topic("life")

_UP: Final = "a runner that is registered"


async def _linger(peer: RpcPeer, seconds: float) -> tuple[End | None, float]:
    """Say something from time to time, and take in what comes, until the link ends or the time is
    over: its end, and how long it was up."""
    began = trio.current_time()
    until = began + seconds
    while (now := trio.current_time()) < until:
        await peer.show_life()
        pause = min(now + ALIVE_EVERY, until)
        while (left := pause - trio.current_time()) > 0:
            came = await peer.next(left)
            if isinstance(came, End):
                return came, trio.current_time() - began
            if came is None:
                break
    return None, seconds


@_SHARED.must(
    "401",
    given=_UP,
    when="none of its pings is answered, although messages come all the time",
    expect=f"the end of the connection without a close frame, after {PONG_WAIT:g} s: nothing but "
    "pongs is a sign of life",
    source="kodelet 3: pong wait",
)
async def unanswered(kit: Kit) -> None:
    peer = await kit.established()
    peer.pings.answered = False
    end, took = await _linger(peer, PONG_WAIT + kit.patience.within)
    if end is None:
        raise Unmet("the end of the connection", f"it is up after {took:g} s without a pong")
    if end.code is not None:
        raise Unmet("the end of the connection without a close frame", end.text)
    if took < PONG_WAIT - EARLY:
        raise Unmet(f"that it waits {PONG_WAIT:g} s for a pong", f"it has left after {took:.1f} s")


@_SHARED.must(
    "402",
    given=_UP,
    when=f"its pings are answered for more than {2 * PING_EVERY:g} s",
    expect=f"a ping every {PING_EVERY:g} s, and that the link stays",
    source="kodelet 3: ping, pong wait",
)
async def answered(kit: Kit) -> None:
    peer = await kit.established()
    pings = peer.pings
    end, took = await _linger(peer, 2 * PING_EVERY + kit.patience.within)
    if end is not None:
        raise Unmet("that the link stays", f"{end.text} after {took:.1f} s")
    if pings.came < 2:
        raise Unmet(f"two pings in {took:g} s", f"{pings.came} came")
    if pings.last:  # the genuine ones are empty, and nobody depends on it
        kit.note(f"its pings carry something: {pings.last!r}")
    await peer.expect_alive()


def life_of(prefix: str) -> Topic:
    """The requirements for one side."""
    return _SHARED.of(prefix)
