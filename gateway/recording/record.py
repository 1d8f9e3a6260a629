"""Standing between two peers: what one says goes to the other, and is seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs
import trio

from fleetgate.gateway.recording.live import Place, carried, dialling, entry_of
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
)
from fleetgate.transports.open import open_dialer, open_listener

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
        options = carried(self._adapter, entry_of(self._adapter, part, here))
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
            single = _asks_once(options, link)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_pump, near, far, single, nursery.cancel_scope)
                nursery.start_soon(_pump, far, near, False, nursery.cancel_scope)
            await near.close(1000)

    def _options(self, opening: Opening) -> Options:
        """Those of the other half: with what the dialler has shown of itself."""
        part = self._adapter.showing.dials(opening.path)
        entry = entry_of(self._adapter, part, self._there)
        options = dialling(carried(self._adapter, entry), opening.path)
        agreed = (opening.subprotocol,) if opening.subprotocol else options.subprotocols
        headers = {**options.headers, **_passed_on(opening.headers)}
        return attrs.evolve(options, headers=headers, subprotocols=agreed)


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name not in _OURS and not name.startswith((":", "sec-websocket-", "grpc-"))
    }


def _asks_once(options: Options, link: Link) -> bool:
    """Whether a call's client sends one message, whose end says nothing of the call's."""
    method = options.grpc.calls.get(link.opening.path) if options.grpc is not None else None
    return method is not None and not method.client_streams


async def _reach(dialer: Dialer, near: Link) -> Link | None:
    try:
        return await dialer.dial()
    except LinkError as error:
        await near.close(_UNAVAILABLE if near.speaks_status else UNREACHABLE, str(error)[:100])
        return None


async def _pump(source: Link, target: Link, asks_once: bool, both: trio.CancelScope) -> None:
    """Carry frames one way. The end of the source is the target's, too."""
    code: int | None = 1000
    try:
        while True:
            await target.send_some(await source.receive_some())
    except trio.EndOfChannel:
        if asks_once:
            return
    except LinkBroken as error:
        code = None if error.code == ABNORMAL_CLOSURE else error.code
    except LinkClosed:
        return  # the other way has ended, and ends this one
    except LinkError:
        code = None
    with trio.CancelScope(shield=True):
        await target.close(code)
    both.cancel()
