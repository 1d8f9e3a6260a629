"""Peers that open a connection and never speak."""

from __future__ import annotations

from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import pytest
import trio
from memory_gateway import FULL, MIB, open_files, open_shortly_named, say, until

from fleetgate.gateway.admin.server import MAX_CONNECTIONS
from fleetgate.transports.api import Options

MANY = 5_000 if FULL else 500
EACH = 48 << 10
"""Bytes of a connection whose peer has not spoken: a task, a socket, and what will read from it."""

SLACK = 4 * MIB


class Crowd:
    """Silent connections to one address. `open`: those that the other side has not ended."""

    def __init__(self) -> None:
        self.open = 0
        self.came = 0

    async def come(self, address: str, stack: AsyncExitStack, nursery: trio.Nursery) -> None:
        """One more."""
        if address.startswith("unix:"):
            stream: trio.SocketStream = await trio.open_unix_socket(address.removeprefix("unix:"))
        else:
            place = urlsplit(address)
            stream = await trio.open_tcp_stream(place.hostname or "", place.port or 0)
        await stack.enter_async_context(stream)
        self.came += 1
        self.open += 1
        nursery.start_soon(self._stay, stream)

    async def _stay(self, stream: trio.SocketStream) -> None:
        try:
            while await stream.receive_some():
                pass
        except trio.BrokenResourceError:
            pass  # which is an end, too
        self.open -= 1


MOST = {
    "hosts": Options().max_handshakes_each,
    "nodes": Options().max_handshakes_each,
    "admin": MAX_CONNECTIONS,
    "gui": MANY,  # a socket of this user's only: no handshake, and hello has a deadline
}
"""How many of them each entry keeps until they have had their time to speak."""


@pytest.mark.slow
async def test_i9_so_many_that_never_speak() -> None:
    """Each entry is one of a gateway of its own. They are tried side by side, since what there is
    to wait for are the 30 s and 10 s that a peer has."""
    with open_files():
        async with trio.open_nursery() as nursery:
            for entry in MOST:
                nursery.start_soon(_never_speak, entry)


async def _never_speak(entry: str) -> None:
    most, crowd = MOST[entry], Crowd()
    async with (
        open_shortly_named() as served,
        AsyncExitStack() as stack,
        trio.open_nursery() as nursery,
    ):
        address = {**served.addresses, "admin": f"unix:{served.root}/admin/socket"}[entry]
        served.forget_peak()
        before = served.peak
        for _ in range(MANY):
            await crowd.come(address, stack, nursery)
            if not crowd.came % 50:
                await trio.sleep(0.01)
        with trio.fail_after(600):
            await until(lambda: crowd.open <= most)
            grown = served.peak - before
            say(f"{entry}: {MANY} silent peers, {grown / MIB:.1f} MiB")
            assert grown < most * EACH + SLACK
            await until(lambda: not crowd.open)
        assert served.log_size < 2 * MIB
        assert (await served.status())["name"] == "memory"
        nursery.cancel_scope.cancel()
