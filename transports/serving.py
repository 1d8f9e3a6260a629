"""What every listener does with a link, and with an accepted stream on its way to become one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

import trio

from fleetgate.transports.api import Handler, Link, LinkBroken, Listener, Options, Report
from fleetgate.transports.crowd import Crowd, place_of

_logger = logging.getLogger("fleetgate.transports")

Greet: TypeAlias = Callable[[trio.SocketStream, trio.Nursery], Awaitable[Link]]
"""Makes a link of an accepted stream: TLS, the upgrade. What the link needs in the background
it starts in the nursery, which lives as long as the link. Raising drops the stream."""


def log_report(what: str, reason: BaseException | None) -> None:
    """The report of a listener that was given none."""
    _logger.warning("%s: %r", what, reason)


async def serve_link(link: Link, handler: Handler, report: Report) -> None:
    """Run the handler and see to it that the link is closed after. What it raises is reported and
    goes no further (I11); being cancelled drops the link without a word."""
    try:
        await handler(link)
    except* Exception as failures:
        report("handler_failed", _single(failures))
        await link.close(1011, "internal error")
    finally:
        await link.close(None if _cancelled() else 1000)


def _cancelled() -> bool:
    return trio.current_effective_deadline() == float("-inf")


def _single(failures: BaseExceptionGroup[Exception]) -> BaseException:
    return failures.exceptions[0] if len(failures.exceptions) == 1 else failures


def first_of(group: BaseExceptionGroup[Exception]) -> Exception:
    """The first failure in it, however deep."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


class StreamListener(Listener):
    """Sockets that are bound, and the way from an accepted stream to a link."""

    def __init__(
        self,
        listeners: Sequence[trio.SocketListener],
        addresses: tuple[str, ...],
        options: Options,
        greet: Greet,
    ) -> None:
        self.addresses = addresses
        self._listeners = list(listeners)
        self._options = options
        self._greet = greet
        self._report = options.report or log_report
        self._links = Crowd("links", options.max_links, options.max_links_each)
        self._handshakes = Crowd("handshakes", options.max_handshakes, options.max_handshakes_each)

    async def serve(self, handler: Handler) -> None:
        serve_one = partial(self._serve_one, handler)
        async with trio.open_nursery() as links:
            try:
                await trio.serve_listeners(serve_one, self._listeners, handler_nursery=links)
            except* trio.ClosedResourceError:
                # `aclose` was called: accept no more, and end with the last link.
                pass

    async def aclose(self) -> None:
        for listener in self._listeners:
            listener.socket.close()
        await trio.lowlevel.checkpoint()

    async def _serve_one(self, handler: Handler, stream: trio.SocketStream) -> None:
        place = place_of(stream)
        if (full := self._links.refusal(place)) is not None:
            await self._drop(stream, "links_full", full)
        elif (full := self._handshakes.refusal(place)) is not None:
            await self._drop(stream, "handshakes_full", full)
        else:
            with self._links.one(place):
                async with trio.open_nursery() as nursery:
                    link = await self._shake_hands(stream, nursery, place)
                    if link is not None:
                        await serve_link(link, handler, self._report)
                    nursery.cancel_scope.cancel()

    async def _shake_hands(
        self, stream: trio.SocketStream, nursery: trio.Nursery, place: str
    ) -> Link | None:
        reason: BaseException = LinkBroken("the handshake took too long")
        try:
            within = trio.move_on_after(self._options.handshake_timeout)
            with self._handshakes.one(place), within:
                return await self._greet(stream, nursery)
        except Exception as error:
            # Whatever a stranger can make us raise here ends the stranger's stream only.
            reason = error
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        await self._drop(stream, "handshake_failed", reason)
        return None

    async def _drop(self, stream: trio.SocketStream, what: str, reason: BaseException) -> None:
        self._report(what, reason)
        await trio.aclose_forcefully(stream)
