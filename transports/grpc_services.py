"""What a gRPC listener serves by itself: the health service, and reflection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs
import trio

from fleetgate.transports.api import GrpcMethod, GrpcOptions, LinkError
from fleetgate.transports.grpc_ends import ServedLink
from fleetgate.transports.grpc_fields import fields, number_field, text
from fleetgate.transports.grpc_reflection import PATHS, Reflection
from fleetgate.transports.grpc_server import OwnHandler, Route
from fleetgate.transports.grpc_status import INVALID_ARGUMENT, NOT_FOUND, OK, UNAVAILABLE

CHECK: Final = "/grpc.health.v1.Health/Check"
WATCH: Final = "/grpc.health.v1.Health/Watch"

SERVING: Final = 1
NOT_SERVING: Final = 2
UNKNOWN_SERVICE: Final = 3


@attrs.frozen(slots=True)
class OwnServices:
    """The carriage's own calls, and how they learn that the server takes no more."""

    routes: Mapping[str, Route]
    drain: Callable[[], None]


def own_services(use: GrpcOptions) -> OwnServices:
    """The services beside those that a listener is asked to serve. Health is for everybody, as
    what asks for it seldom has credentials; reflection is for those who may call."""
    names = {path.split("/")[1] for path in use.calls}
    drained = trio.Event()
    health = _Health(names, drained)
    reflection = Reflection(use.descriptors, names)
    routes = {
        CHECK: Route(GrpcMethod(False, False), _guarded(health.check), open=True),
        WATCH: Route(GrpcMethod(False, True), _guarded(health.watch), open=True),
    }
    reflect = Route(GrpcMethod(), _until(drained, _guarded(_reflecting(reflection))))
    return OwnServices({**routes, **dict.fromkeys(PATHS, reflect)}, drained.set)


def _guarded(serve: OwnHandler) -> OwnHandler:
    """Answers what is no message with a status, and takes the end of a call as it comes."""

    async def handler(link: ServedLink) -> None:
        try:
            await serve(link)
        except ValueError:
            await link.close(INVALID_ARGUMENT, "the request is not the message that it should be")
        except (LinkError, trio.EndOfChannel):
            await link.close(OK)

    return handler


def _until(drained: trio.Event, serve: OwnHandler) -> OwnHandler:
    """Ends with the listener: a call that asks nothing must not hold it up."""

    async def watch(link: ServedLink, nursery: trio.Nursery) -> None:
        await drained.wait()
        await link.close(UNAVAILABLE, "the server stops")
        nursery.cancel_scope.cancel()

    async def handler(link: ServedLink) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, link, nursery)
            await serve(link)
            nursery.cancel_scope.cancel()

    return handler


def _reflecting(reflection: Reflection) -> OwnHandler:
    async def reflect(link: ServedLink) -> None:
        while True:
            for question in await link.receive_some():
                await link.send(reflection.answer(question))

    return reflect


class _Health:
    """The health of all that is served (the empty name) and of each service: it serves until it
    is drained."""

    def __init__(self, services: set[str], drained: trio.Event) -> None:
        self._services = {"", *services}
        self._drained = drained

    def _state(self, service: str) -> int:
        if service not in self._services:
            return UNKNOWN_SERVICE
        return NOT_SERVING if self._drained.is_set() else SERVING

    async def check(self, link: ServedLink) -> None:
        """One answer, or NOT_FOUND."""
        state = self._state(_service(await link.receive()))
        if state == UNKNOWN_SERVICE:
            await link.close(NOT_FOUND, "this server has no such service")
        else:
            await link.send(number_field(1, state))
            await link.close(OK)

    async def watch(self, link: ServedLink) -> None:
        """The state, and again when it changes; the last one ends it."""
        service = _service(await link.receive())
        await link.send(number_field(1, self._state(service)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_watch_end, link, nursery.cancel_scope)
            await self._drained.wait()
            nursery.cancel_scope.cancel()
        if self._drained.is_set():
            await link.send(number_field(1, self._state(service)))
            await link.close(UNAVAILABLE, "the server stops")


async def _watch_end(link: ServedLink, scope: trio.CancelScope) -> None:
    """Stop waiting once the client has gone. That it sends no more is how it asks."""
    try:
        while True:
            await link.receive()
    except trio.EndOfChannel:
        await link.wait_over()
    except LinkError:
        pass
    scope.cancel()


def _service(question: bytes) -> str:
    return next((text(value) for number, value in fields(question) if number == 1), "")
