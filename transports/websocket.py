"""Links over WebSocket: `ws://HOST[:PORT]/PATH` and `wss://…`. One frame is one message.

Both ends need a task in the background for as long as a link lives. A listener has it in the
nursery of `serve`; a dialer in the block of `open_websocket_dialer`.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import attrs
import trio
from trio_websocket import (
    WebSocketConnection,
    WebSocketRequest,
    wrap_client_stream,
    wrap_server_stream,
)

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    Dialer,
    DialFailed,
    DialRefused,
    Link,
    LinkBroken,
    LinkError,
    Listener,
    Opening,
    Options,
    Rejection,
)
from fleetgate.transports.renewal import Renewal
from fleetgate.transports.stream import READ
from fleetgate.transports.tcp import bind, connect, peer_of, within_deadline
from fleetgate.transports.tls import (
    accept_tls,
    described,
    dial_tls,
    dialling_context,
    identities,
    server_context,
)
from fleetgate.transports.upgrade import choose_subprotocol, is_final, refusal
from fleetgate.transports.websocket_link import Carrier, WebSocketLink

_SELECTED: Final = re.compile(
    rb"^sec-websocket-protocol:[ \t]*(.*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
MAX_TOLD: Final = 64
"""Characters of a subprotocol that a refusal repeats: any that has a name is shorter."""
_HOST: Final = re.compile(rb"^host:[ \t]*(.*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


NOBODY: Final = Opening()


def resource_of(address: Address, options: Options) -> str:
    """The path that is dialled or listened at: the address's, else the options'."""
    return address.path or options.path


# --- dialling


class WebSocketDialer(Dialer):
    """Reaches a WebSocket. Files of `wss` are read at each dial."""

    def __init__(self, address: Address, options: Options, nursery: trio.Nursery) -> None:
        self.address = str(address)
        self._target = address
        self._options = options
        self._nursery = nursery

    async def dial(self) -> Link:
        with within_deadline(self._target, self._options):
            transport, names = await self._connect()
            return await connect_websocket(
                transport, self._nursery, self._target, self._options, names
            )

    async def _connect(self) -> tuple[trio.abc.Stream, tuple[str, ...]]:
        if self._target.scheme == "ws":
            return await connect(self._target), ()
        context = dialling_context(self._options)
        secure = await dial_tls(self._target, context, web=True)
        return secure, identities(secure.getpeercert())


async def connect_websocket(
    transport: trio.abc.Stream,
    nursery: trio.Nursery,
    address: Address,
    options: Options,
    names: tuple[str, ...] = (),
) -> WebSocketLink:
    """Ask for the upgrade on a connected stream. The link's carrier runs in `nursery`, and has the
    stream: whatever happens, it is closed.

    Raises: `DialRefused` for an HTTP answer other than 101, `DialFailed` for any other.
    """
    resource = resource_of(address, options)
    made: list[WebSocketConnection] = []

    async def upgrade(carrier: Carrier, own: trio.Nursery) -> WebSocketLink:
        async def ask() -> None:
            made.append(
                await wrap_client_stream(
                    own,
                    carrier.tap,  # type: ignore[arg-type]  # any stream does, says its docstring
                    address.netloc,
                    resource,
                    subprotocols=options.subprotocols,
                    extra_headers=_encoded(options.headers),
                    max_message_size=options.limit,
                    receive_buffer_size=READ,
                )
            )

        await carrier.until_ended(ask)
        if not carrier.tap.upgraded:
            raise LinkBroken("the answer is no upgrade")
        socket = made[0]
        opening = Opening(
            address.netloc, resource, _decoded(socket.handshake_headers), names, socket.subprotocol
        )
        return WebSocketLink(carrier, socket, opening)

    carrier = Carrier(transport, options, client=True)
    try:
        link: WebSocketLink = await nursery.start(carrier.run, upgrade)
    except Exception as error:
        # Besides ours and the library's, h11 and wsproto have errors of many kinds for an answer
        # that is none.
        await trio.aclose_forcefully(transport)
        raise _failure(address, carrier, options, error) from error
    return link


def _failure(
    address: Address, carrier: Carrier, options: Options, error: Exception
) -> DialFailed | DialRefused:
    status = carrier.tap.status
    if status is not None and status != 101:
        return DialRefused(f"{address} answered {status}", status, final=is_final(status))
    selected = _SELECTED.search(carrier.tap.head) if status == 101 else None
    if selected is not None and (name := selected[1].decode("latin-1")) not in options.subprotocols:
        text = f"{address} selected the subprotocol {name[:MAX_TOLD]!r}, which was not offered"
        return DialRefused(text, status, final=options.unoffered_final)
    text = str(error) if isinstance(error, LinkError) else type(error).__name__
    return DialFailed(f"no WebSocket at {address}: {text}")


@asynccontextmanager
async def open_websocket_dialer(address: Address, options: Options) -> AsyncGenerator[Dialer, None]:
    """A dialer whose links live in this block: leaving it drops those that are still open."""
    async with trio.open_nursery() as nursery:
        yield WebSocketDialer(address, options, nursery)
        nursery.cancel_scope.cancel()


# --- listening


@asynccontextmanager
async def open_websocket_listener(
    address: Address, options: Options
) -> AsyncGenerator[Listener, None]:
    """Bind the port until the end of the block. Files of `wss` are read here, and again at the
    next handshake when one of them has changed.

    Raises: `AddressError`, `ListenFailed`.
    """
    renewal = Renewal(options, server_context) if address.scheme == "wss" else None

    async def greet(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        context = None if renewal is None else renewal.context()
        return await _greet(stream, nursery, address, options, context)

    async with bind(address, options, greet) as listener:
        yield listener


async def _greet(
    stream: trio.SocketStream,
    nursery: trio.Nursery,
    address: Address,
    options: Options,
    context: ssl.SSLContext | None,
) -> Link:
    known = Opening(peer_of(stream))
    if context is None:
        return await accept_websocket(stream, nursery, address, options, known)
    secure = await accept_tls(stream, context, web=True)
    known = described(secure, known)
    return await accept_websocket(secure, nursery, address, options, known)


async def accept_websocket(
    transport: trio.abc.Stream,
    nursery: trio.Nursery,
    address: Address,
    options: Options,
    known: Opening = NOBODY,
) -> WebSocketLink:
    """Answer an upgrade: 404 for another path than the address's, what `authorize` says, or 101.
    `known` is what the stream tells of the peer.
    The link's carrier runs in `nursery`, and has the stream: whatever happens, it is closed.

    Raises: `LinkBroken`, and what h11 and wsproto have for what is no upgrade.
    """

    async def upgrade(carrier: Carrier, own: trio.Nursery) -> WebSocketLink:
        request = await _request(carrier, own, options)
        if carrier.tap.fault is not None:
            raise LinkBroken(carrier.tap.fault.text)
        opening = _describe(request, carrier, options, known)
        rejection = _judge(opening, resource_of(address, options), options)
        if rejection is not None:
            await request.reject(
                rejection.status,
                extra_headers=_encoded(rejection.headers),
                body=rejection.body or None,
            )
            raise LinkBroken(f"the upgrade was answered with {rejection.status}")
        carrier.tap.accept()
        socket = await request.accept(subprotocol=opening.subprotocol)
        return WebSocketLink(carrier, socket, opening)

    link: WebSocketLink = await nursery.start(
        Carrier(transport, options, client=False).run, upgrade
    )
    return link


async def _request(carrier: Carrier, nursery: trio.Nursery, options: Options) -> WebSocketRequest:
    made: list[WebSocketRequest] = []

    async def listen() -> None:
        made.append(
            await wrap_server_stream(
                nursery,
                carrier.tap,
                max_message_size=options.limit,
                receive_buffer_size=READ,
            )
        )

    await carrier.until_ended(listen)
    return made[0]


def _describe(
    request: WebSocketRequest,
    carrier: Carrier,
    options: Options,
    known: Opening,
) -> Opening:
    headers = _decoded(request.headers)
    host = _HOST.search(carrier.tap.head)
    if host is not None:  # the library keeps it to itself
        headers["host"] = host.group(1).decode("latin-1")
    offered = request.proposed_subprotocols
    if offered:
        headers["sec-websocket-protocol"] = ", ".join(offered)
    agreed = choose_subprotocol(offered, options.subprotocols)
    return attrs.evolve(known, path=request.path, headers=headers, subprotocol=agreed)


def _judge(opening: Opening, served: str, options: Options) -> Rejection | None:
    if opening.path.partition("?")[0] != served:
        return Rejection(404)
    return refusal(options, opening)


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def _decoded(pairs: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """By lower-case name. One that came several times is joined as HTTP joins them."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        separator = "; " if key == "cookie" else ", "
        headers[key] = f"{headers[key]}{separator}{text}" if key in headers else text
    return headers
