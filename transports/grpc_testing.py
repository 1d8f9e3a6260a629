"""For tests of gRPC: an end that is nothing but HTTP/2 on a stream, a pair of links, a listener
that serves a handler.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

import trio
from h2.config import H2Configuration
from h2.events import (
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamReset,
    TrailersReceived,
)

from fleetgate.transports.address import parse_address
from fleetgate.transports.api import GrpcMethod, GrpcOptions, Handler, Link, LinkBroken, Options
from fleetgate.transports.grpc_http2 import H2
from fleetgate.transports.open import open_listener

TALK: Final = "/test.Talk/Both"
ASK: Final = "/test.Talk/Ask"
LISTEN: Final = "/test.Talk/Listen"
TELL: Final = "/test.Talk/Tell"

CALLS: Final = {
    TALK: GrpcMethod(),
    ASK: GrpcMethod(False, False),
    LISTEN: GrpcMethod(False, True),
    TELL: GrpcMethod(True, False),
}
"""One method of each kind."""


def talking(path: str = TALK, **more: Any) -> Options:
    """Options of either end for these methods. `more`: of `GrpcOptions`."""
    return Options(grpc=GrpcOptions(calls=CALLS, dial=path, **more))


def prefixed(message: bytes, flag: int = 0) -> bytes:
    """A message as it stands in a stream of gRPC, by whoever does not trust ours."""
    return bytes([flag]) + len(message).to_bytes(4, "big") + message


async def echo(link: Link) -> None:
    """Sends back what comes, for as long as there is somebody to send it to."""
    with suppress(LinkBroken):
        async for frame in link:
            await link.send(frame)


@asynccontextmanager
async def serving(handler: Handler, options: Options | None = None) -> AsyncGenerator[str, None]:
    """A listener at work on any free port; its URL."""
    options = options or talking()
    scheme = "grpc" if options.tls is None else "grpcs"
    async with (
        open_listener(f"{scheme}://127.0.0.1:0", options) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, handler)
        yield listener.addresses[0]
        nursery.cancel_scope.cancel()


_Seen = TypeVar("_Seen", bound=Event)


class RawHttp2:
    """A client or a server that does what a test says, and nothing else."""

    def __init__(self, stream: trio.abc.Stream, *, client: bool = True) -> None:
        self.stream = stream
        self.h2 = H2(
            H2Configuration(
                client_side=client,
                header_encoding="utf-8",
                validate_inbound_headers=False,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self.seen: list[Event] = []

    async def start(self) -> None:
        """Say the preface, and wait for the other end's."""
        self.h2.initiate_connection()
        await self.flush()
        await self.until(RemoteSettingsChanged)

    async def flush(self) -> None:
        """Send what is prepared."""
        data = self.h2.data_to_send()
        if data:
            await self.stream.send_all(data)

    async def next(self) -> bool:
        """Take in what comes next. Whether the stream goes on."""
        try:
            data = await self.stream.receive_some(1 << 16)
        except trio.BrokenResourceError:
            return False
        if data:
            self.seen += self.h2.receive_data(bytes(data))
            await self.flush()
        return bool(data)

    async def until(self, kind: type[_Seen], stream_id: int | None = None) -> _Seen:
        """The first event of a kind, seen or to come; it is taken out.

        Raises: `AssertionError` where the stream ends before.
        """
        while True:
            for at, event in enumerate(self.seen):
                wanted = stream_id in (None, getattr(event, "stream_id", None))
                if isinstance(event, kind) and wanted:
                    del self.seen[at]
                    return event
            assert await self.next(), f"the stream ended before {kind.__name__}"

    async def ended(self) -> None:
        """Read on to the end of the stream."""
        while await self.next():
            pass

    def request(
        self, path: str, headers: Mapping[str, str] | None = None, *, end: bool = False
    ) -> int:
        """Prepare the head of a call: its number. `headers` go on top of what a call has."""
        stream_id = self.h2.get_next_available_stream_id()
        whole = {
            ":method": "POST",
            ":scheme": "http",
            ":path": path,
            ":authority": "gw.example",
            "te": "trailers",
            "content-type": "application/grpc",
            **(headers or {}),
        }
        self.h2.send_headers(stream_id, list(whole.items()), end_stream=end)
        return stream_id

    async def outcome(self, stream_id: int) -> dict[str, str]:
        """How a call ended: its trailers, or `{"reset": code}`.

        Raises: `AssertionError` where the stream ends before.
        """
        while True:
            for event in self.seen:
                if getattr(event, "stream_id", None) != stream_id:
                    continue
                if isinstance(event, ResponseReceived | TrailersReceived) and event.stream_ended:
                    return {_text(name): _text(value) for name, value in event.headers}
                if isinstance(event, StreamReset):
                    return {"reset": str(int(event.error_code or 0))}
            assert await self.next(), "the stream ended before the call did"


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()


@asynccontextmanager
async def raw_client(url: str) -> AsyncGenerator[RawHttp2, None]:
    """A bare client, past the preface."""
    address = parse_address(url)
    async with await trio.open_tcp_stream(address.host, address.port) as stream:
        raw = RawHttp2(stream)
        await raw.start()
        yield raw
