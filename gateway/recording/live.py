"""Links to a live peer for a recording: those that we dial, and those that come."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import attrs
import trio

from fleetgate.gateway.carrying import check_carried, options_of
from fleetgate.gateway.config_entries import Entry, Secret
from fleetgate.gateway.recording.reading import LinkUp
from fleetgate.gateway.recording.replay import Open
from fleetgate.protocols.api import Adapter
from fleetgate.protocols.explaining import Speaker
from fleetgate.transports.api import (
    GrpcMethod,
    GrpcOptions,
    Link,
    LinkError,
    Listener,
    Options,
    TlsFiles,
)
from fleetgate.transports.open import open_dialer, open_listener


@attrs.frozen(slots=True)
class Place:
    """Where a peer is, or comes."""

    address: str
    listens: bool
    tls: TlsFiles | None = None
    token: Secret | None = None


def entry_of(adapter: Adapter, side: Speaker, place: Place) -> Entry:
    """The entry that would play `side` there, with the protocol's defaults."""
    played = adapter.northbound if side == "worker" else adapter.southbound
    return Entry(
        "north" if side == "worker" else "south",
        "replay",
        adapter.name,
        place.address,
        place.listens,
        played.settings(),
        place.tls,
        place.token,
    )


def carried(adapter: Adapter, entry: Entry) -> Options:
    """How its frames are carried. Over gRPC with the calls of both sides: a recording may have any.

    Raises: `SecretUnreadable`.
    """
    options = options_of(entry, entry.side(adapter).carriage(entry.settings))
    if options.grpc is None:
        return options
    calls: dict[str, GrpcMethod] = {}
    for side in (adapter.northbound, adapter.southbound):
        use = side.carriage(side.settings()).grpc
        for path, call in use.calls.items() if use is not None else ():
            calls[path] = GrpcMethod(call.client_streams, call.server_streams)
    return attrs.evolve(options, grpc=attrs.evolve(options.grpc, calls=calls))


def checked(adapter: Adapter, entry: Entry) -> Entry:
    """The same, which a place of its kind can carry.

    Raises: `AddressError`.
    """
    check_carried(entry, entry.side(adapter).carriage(entry.settings))
    return entry


def dialling(options: Options, path: str) -> Options:
    """The options with which a call is made by its path; of other carriages the same."""
    if options.grpc is None or not path:
        return options
    grpc: GrpcOptions = attrs.evolve(options.grpc, dial=path)
    return attrs.evolve(options, grpc=grpc)


@asynccontextmanager
async def open_live(
    adapter: Adapter, side: Speaker, place: Place, bound: Callable[[str], None]
) -> AsyncGenerator[Open, None]:
    """A way to the links of a live peer. `bound` is told the address once it is, with the real
    port. The links end with the block.

    Raises: `AddressError`, `ListenFailed`, `SecretUnreadable`; its `Open` raises `LinkError`.
    """
    options = carried(adapter, checked(adapter, entry_of(adapter, side, place)))
    if not place.listens:
        async with trio.open_nursery() as nursery:
            yield Dials(nursery, place.address, options).open
            nursery.cancel_scope.cancel()
        return
    async with open_listener(place.address, options) as listener, trio.open_nursery() as nursery:
        arrivals = Arrivals()
        nursery.start_soon(arrivals.serve, listener)
        bound(listener.addresses[0])
        yield arrivals.open
        nursery.cancel_scope.cancel()


class Dials:
    """Dials a link for each that was recorded, and keeps it in a task of its own."""

    def __init__(self, nursery: trio.Nursery, address: str, options: Options) -> None:
        self._nursery = nursery
        self._address = address
        self._options = options

    async def open(self, up: LinkUp) -> Link:
        """A link. Raises: `LinkError`."""
        link: Link | LinkError = await self._nursery.start(self._hold, up.path)
        if isinstance(link, LinkError):
            raise link
        return link

    async def _hold(
        self,
        path: str,
        task_status: trio.TaskStatus[Link | LinkError] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        async with open_dialer(self._address, dialling(self._options, path)) as dialer:
            try:
                link = await dialer.dial()
            except LinkError as error:
                task_status.started(error)
                return
            task_status.started(link)
            await trio.sleep_forever()


class Arrivals:
    """Links that came and nobody has asked for yet."""

    def __init__(self) -> None:
        self._here: list[Link] = []
        self._news = trio.Event()

    async def serve(self, listener: Listener) -> None:
        """Take links, until cancelled."""
        await listener.serve(self._hold)

    async def _hold(self, link: Link) -> None:
        self._here.append(link)
        self._news.set()
        await trio.sleep_forever()

    async def open(self, up: LinkUp) -> Link:
        """The first link that has the path of a recorded one, where paths tell links apart."""
        while True:
            for link in self._here:
                if not link.speaks_status or link.opening.path == up.path:
                    self._here.remove(link)
                    return link
            self._news = trio.Event()
            await self._news.wait()
