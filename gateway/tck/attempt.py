"""One requirement being tried: its links to the target, what it was told of it, what it saw."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Final, Protocol, TypeVar

import trio

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.tck.peer import Elsewhere, Patience, Peer, RawPeer, Unmet
from fleetgate.gateway.tck.seen import Seen, Show, show_with
from fleetgate.protocols.explaining import Speaker
from fleetgate.transports.api import DialFailed, Link, LinkError

AnyPeer = TypeVar("AnyPeer", bound=Peer)

NO_DIAL: Final = 5.0
"""Seconds in which a peer that must not dial again does not: longer than its first pauses."""

_THERE: Final = "does the target run, and is this where it listens?"


class Target(Protocol):
    """Where links to the target come from."""

    address: str

    async def link(self, stack: AsyncExitStack, arrive: float, **changes: Any) -> Link:
        """A new link, dialled or waited for up to `arrive` seconds; it ends with `stack`.
        `changes` replace members of the transport's options.

        Raises: `LinkError`, or `Unmet` where a target that dials does not come.
        """
        ...

    async def stream(self, stack: AsyncExitStack) -> trio.abc.Stream | None:
        """The byte stream under a link; None where the carriage has none to give."""
        ...

    async def refuse(self, status: int, within: float, after: float) -> int:
        """Answer the upgrades of a target that dials with an HTTP status, the first of which is
        waited for up to `within` seconds; how many have come `after` seconds later.

        Raises: `Skipped`.
        """
        ...

    async def want(self, what: str, **details: str) -> bool:
        """Have the target asked to do something. False: nobody here can ask it.

        Raises: `Skipped`, where asking it failed.
        """
        ...


class Attempt:
    """What a requirement is handed. Protocols add their own words to it."""

    protocol = ""
    """The protocol, by the name of its adapter."""
    target_speaks: Speaker = "worker"
    """Which of the protocol's two sides the target plays."""
    target_dials = False
    """Whether links come from the target."""

    def __init__(
        self,
        target: Target,
        given: Any,
        patience: Patience,
        seen: Seen,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.target = target
        self.given = given
        self.patience = patience
        self.seen = seen
        self.clock = clock or Clock()
        """Now, in Unix nanoseconds."""
        self.stack = AsyncExitStack()
        self.notes: list[str] = []
        """What it has to say beside the verdict."""
        self._links = 0

    def shower(self) -> Show:
        """How the frames of a new link are shown."""
        return show_with(self.protocol, self.target_speaks)

    def note(self, text: str) -> None:
        """Say something beside the verdict."""
        self.notes.append(text)

    def name(self, word: str = "run") -> str:
        """A new name, which no earlier attempt has used at this target."""
        return f"tck-{word}-{secrets.token_hex(6)}"

    def only_over(self, schemes: tuple[str, ...], why: str) -> None:
        """What follows is about targets whose address has one of these schemes, and no others.

        Raises: `Elsewhere`.
        """
        if not self.target.address.startswith(tuple(f"{each}:" for each in schemes)):
            raise Elsewhere(why)

    async def peer(self, kind: type[AnyPeer], **changes: Any) -> AnyPeer:
        """A new link to the target.

        Raises: `Unmet`.
        """
        self._links += 1
        try:
            link = await self.target.link(self.stack, self.patience.arrive, **changes)
        except DialFailed as error:
            raise Unmet(f"a link to {self.target.address}", f"{error}; {_THERE}") from None
        except LinkError as error:
            raise Unmet(f"a link to {self.target.address}", str(error)) from None
        self.seen.add(self._links, not self.target_dials, "the link is up", note=True)
        return kind(link, self.seen, self.patience, self.shower(), self._links)

    async def expect_no_dial(self) -> None:
        """A target that dials must not do so any more."""
        await trio.sleep(NO_DIAL)
        try:
            await self.target.link(self.stack, 0)
        except Unmet:
            return
        raise Unmet("that it does not dial again", "it has")

    async def raw(self) -> RawPeer:
        """A new byte stream to the target.

        Raises: `Elsewhere` where the carriage has none, `Unmet`.
        """
        self._links += 1
        try:
            stream = await self.target.stream(self.stack)
        except OSError as error:
            came = f"it cannot be reached: {error.strerror or error}; {_THERE}"
            raise Unmet(f"a connection to {self.target.address}", came) from None
        if stream is None:
            raise Elsewhere(f"{self.target.address} has no byte stream to put odd bytes on")
        self.seen.add(self._links, True, "the connection is up", note=True)
        return RawPeer(stream, self.seen, self.patience, self._links)

    async def want(self, what: str, **details: str) -> bool:
        """Have the target asked to do something; whoever runs the kit has said how. False: they
        have not, and must do it by hand when they read this."""
        self.seen.add(0, True, f"wanted of the target: {what} {details or ''}".rstrip(), note=True)
        able = await self.target.want(what, **details)
        if not able:
            self.note(f"nothing is given for --on {what}: somebody must do it by hand")
        return able

    async def close(self) -> None:
        """End its links."""
        await self.stack.aclose()
