"""Standing between two peers: what one says goes to the other, and is seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs
import trio

from fleetgate.gateway.recording.live import Place, carried, checked, dialling, entry_of
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.protocols.api import Adapter
from fleetgate.protocols.explaining import other
from fleetgate.transports.api import (
    ABNORMAL_CLOSURE,
    Dialer,
    Link,
    LinkBroken,
    LinkClosed,
    LinkError,
    Opening,
    Options,
    PeerClosed,
)
from fleetgate.transports.open import check_address, open_dialer, open_listener

DISAGREED: Final = 1002
"""How a link ends whose halves have agreed to different things."""

UNREACHABLE: Final = 1013
_UNAVAILABLE: Final = 14
"""How a link ends whose other half cannot be had: a close code (try again later), a gRPC status."""

_OURS: Final = ("te", "content-type", "user-agent", "host", "connection", "upgrade", "origin")
"""Headers that each half makes for itself, with those of its handshake."""


class Between:
    """Carries links from one place to another, and has each seen."""

    def __init__(self, adapter: Adapter, onlookers: Onlookers, there: Place) -> None:
        self._adapter = adapter
        self._onlookers = onlookers
        self._there = there

    async def serve(self, here: Place, bound: Callable[[str], None]) -> None:
        """Carry links until cancelled. `bound` is told the address with the real port.

        Raises: `AddressError`, `ListenFailed`.
        """
        # A listener plays the side that is dialled; only its carriage matters here.
        part = other(self._adapter.showing.dials(""))
        entry = checked(self._adapter, entry_of(self._adapter, part, here))
        options = carried(self._adapter, entry)
        there = checked(self._adapter, entry_of(self._adapter, other(part), self._there))
        check_address(self._there.address, carried(self._adapter, there), listener=False)
        async with open_listener(here.address, options) as listener:
            bound(listener.addresses[0])
            await listener.serve(self._carry)

    async def _carry(self, link: Link) -> None:
        showing = self._adapter.showing
        dialler = showing.dials(link.opening.path)
        near = self._onlookers.seen(
            link, self._adapter.name, other(dialler), dialler, self._there.address
        )
        options = self._options(link.opening)
        async with open_dialer(self._there.address, options) as dialer:
            far = await _reach(dialer, near)
            if far is None:
                return
            if self._disagree(near.opening, far.opening):
                await near.close(DISAGREED, "the other half agreed to no such subprotocol")
                return
            async with trio.open_nursery() as nursery:
                # The client of a call has no status to give: it can only cut the call.
                nursery.start_soon(_pump, near, far, far.speaks_status, nursery.cancel_scope)
                nursery.start_soon(_pump, far, near, False, nursery.cancel_scope)
            await far.close(1000)
            await near.close(1000)

    def _disagree(self, near: Opening, far: Opening) -> bool:
        """Whether one half has a subprotocol that the other, a WebSocket too, has not."""
        upgraded = self._there.address.startswith(("ws:", "wss:"))
        return upgraded and bool(near.headers) and near.subprotocol != far.subprotocol

    def _options(self, opening: Opening) -> Options:
        """Those of the other half: with what the dialler has shown of itself."""
        part = self._adapter.showing.dials(opening.path)
        entry = entry_of(self._adapter, part, self._there)
        options = dialling(carried(self._adapter, entry), opening.path)
        headers = {**options.headers, **_passed_on(opening.headers)}
        return attrs.evolve(options, headers=headers, subprotocols=_offered(opening, options))


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name not in _OURS and not name.startswith((":", "sec-websocket-", "grpc-"))
    }


def _offered(opening: Opening, options: Options) -> tuple[str, ...]:
    """The subprotocol that the near half has agreed to, or none where none was offered to it."""
    if not opening.headers:  # it came over a carriage without any
        return options.subprotocols
    return () if opening.subprotocol is None else (opening.subprotocol,)


async def _reach(dialer: Dialer, near: Link) -> Link | None:
    try:
        return await dialer.dial()
    except LinkError as error:
        await near.close(_UNAVAILABLE if near.speaks_status else UNREACHABLE, str(error)[:100])
        return None


async def _pump(source: Link, target: Link, cuts: bool, both: trio.CancelScope) -> None:
    """Carry frames one way, and then the end of the source. `cuts`: what ends otherwise than in
    order is cut, for the target has no word for it."""
    try:
        while True:
            frames = await source.receive_some()
            try:
                await target.send_some(frames)
            except (LinkBroken, LinkClosed):
                return  # how the target has ended comes the other way
    except PeerClosed as end:
        await _close(target, end.code, end.reason)
    except trio.EndOfChannel:
        if await _half_closed(target):
            if not source.speaks_status:
                return  # the other way goes on
            await source.wait_over()  # whoever called has been answered, or has given up
            await _close(target, None)
        else:
            await _close(target, 1000)
    except LinkBroken as error:
        cut = cuts or error.code == ABNORMAL_CLOSURE
        await _close(target, None if cut else error.code, error.reason)
    except LinkClosed:
        return  # the other way has ended, and ends this one
    except LinkError:  # the carriage there has no form for a frame from here
        await _close(source, None)
        await _close(target, None)
    both.cancel()


async def _half_closed(target: Link) -> bool:
    try:
        return await target.send_eof()
    except LinkError:
        return True  # it has ended, and that comes the other way


async def _close(link: Link, code: int | None, reason: str = "") -> None:
    with trio.CancelScope(shield=True):
        await link.close(code, reason)
