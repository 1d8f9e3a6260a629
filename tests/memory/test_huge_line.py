"""A line of 100 MB, and another run beside it on the same links."""

from __future__ import annotations

import time
from collections.abc import Sequence

import attrs
import pytest
import trio
from memory_gateway import MIB, Served, kept, say
from memory_peers import open_peers
from test_watcher import SQLITE

from fleetgate.core.events import MAX_BODY
from fleetgate.gateway.bench.host import LoadHost
from fleetgate.gateway.bench.speech import Speech
from fleetgate.protocols.agency import wire as a
from fleetgate.protocols.agency import wire_events as happened
from fleetgate.protocols.agency.codec import decode_server
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.rvbox import wire as r
from fleetgate.transports.api import Link

LINE = 100 * MIB
STEP = 2 * MIB
UNDER_WAY = 8 * STEP
"""Of a step there are the frames that came, events, rows, and frames that go, at most twice."""


class Host(LoadHost):
    """One that is told to run two commands, and says of both what it is asked to say."""

    async def open(self) -> dict[str, Speech]:
        """Take both on; what each says, by what it was asked."""
        await self._open_session()
        return dict([await self._begin(), await self._begin()])

    async def _begin(self) -> tuple[str, Speech]:
        dispatch = await self._expect(r.CommandDispatch)
        await self._say(r.CommandAccepted(dispatch.issue_uuid, dispatch.command_revision, True))
        speech = Speech(self._session, dispatch)
        await self.say([speech.running(time.time_ns())])
        assert isinstance(dispatch.spec.program, r.Argv)
        return dispatch.spec.program.args[-1], speech

    async def say(self, frames: Sequence[bytes]) -> None:
        """Say it on the link."""
        await self._link.send_some(frames)

    async def hear(self) -> None:
        """Take in what is acknowledged."""
        while True:
            await self._link.receive_some()


@attrs.define
class Client:
    """One that follows two runs on one link."""

    link: Link
    runs: dict[str, int] = attrs.field(factory=dict[str, int])
    """How much was seen of each."""
    requests: int = 0
    news: trio.Event = attrs.field(factory=trio.Event)

    async def open(self) -> None:
        """Say who it is."""
        await self._ask(a.Hello("client", a.ProtocolVersion(0, 3)))

    async def start(self, name: str) -> None:
        """Start a run, and follow it."""
        request = a.RunRequest("claude", "", name, "edit", False, False, ())
        await self._ask(a.StartRun(name, request, f"{name}:start"))
        self.runs[name] = 0
        await self._ask(a.AttachRun(name, 0))

    async def _ask(self, message: a.ClientMessage) -> None:
        self.requests += 1
        await self.link.send(encode_client(a.ClientFrame(self.requests, message)))

    async def hear(self) -> None:
        """Take in what comes."""
        while True:
            for frame in await self.link.receive_some():
                self._take(decode_server(frame))
            self.news.set()
            self.news = trio.Event()

    def _take(self, message: object) -> None:
        if isinstance(message, a.Response):
            assert not isinstance(message.response, a.Error), message
        elif isinstance(message, happened.EventFrame) and isinstance(message.event, happened.Text):
            assert "\n" not in message.event.payload or message.run_id == "other"
            self.runs[message.run_id] += len(message.event.payload)

    async def until(self, name: str, size: int) -> None:
        """Wait until so much was seen of a run."""
        while self.runs[name] < size:
            await self.news.wait()
        assert self.runs[name] == size


@pytest.mark.slow
async def test_fault_6_a_line_of_100_mb_and_a_run_that_moves(served: Served) -> None:
    """Of a line that has no end, all that was said is seen at once; and after each piece of it,
    before the next, what the other run says."""
    async with (
        open_peers(served, "agency") as gui,
        open_peers(served, "rvbox") as hosts,
        await gui.dial() as link,
        trio.open_nursery() as nursery,
    ):
        client = Client(link)
        host = Host(await hosts.dial(), plain=False, running=2)
        nursery.start_soon(client.hear)
        await client.open()
        await client.start("huge")
        await client.start("other")
        speeches = await host.open()
        huge, other = speeches["huge"], speeches["other"]
        nursery.start_soon(host.hear)
        before = served.rss
        for at in range(STEP, LINE + 1, STEP):
            body = b"x" * MAX_BODY
            await host.say([huge.output(body, time.time_ns()) for _ in range(STEP // MAX_BODY)])
            await host.say([other.output(b"tick\n", time.time_ns())])
            await client.until("other", at // STEP * len("tick\n"))
            await client.until("huge", at)
        grown = served.peak - before
        say(f"a line of {LINE / MIB:.0f} MiB: {grown / MIB:.0f} MiB")
        assert grown < kept(SQLITE + UNDER_WAY)
        nursery.cancel_scope.cancel()
