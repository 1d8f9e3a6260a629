"""Keeping one entry of the config going: its listener or its dialler, and its links."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol, TypeAlias

import attrs
import trio

from fleetgate.core.errors import NotAllowed, Unavailable
from fleetgate.core.hub import Hub
from fleetgate.core.journal.api import Done
from fleetgate.core.json import NOTHING
from fleetgate.core.timers import Clock
from fleetgate.core.times import SECOND
from fleetgate.gateway.backoff import Backoff
from fleetgate.gateway.carrying import gatekeeper_of, options_of
from fleetgate.gateway.config_entries import Entry, SecretUnreadable
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.exposure import asks_nobody, certified
from fleetgate.gateway.last_words import Ended, last_words
from fleetgate.gateway.latch import Latch
from fleetgate.gateway.rights import rights_of
from fleetgate.gateway.speaking import Observer
from fleetgate.gateway.standing import EXPIRED, LOOK_AT_ONCE, Standing, dismissal, watch_standing
from fleetgate.gateway.tokens import valid_tokens
from fleetgate.protocols import api
from fleetgate.protocols.api import Side
from fleetgate.transports.api import DialRefused, Link, LinkError, Listener
from fleetgate.transports.open import open_dialer, open_listener

STEADY: Final = 30.0
"""Seconds after which a link counts as one that worked, whatever its adapter says: as long as
the longest wait between two dials."""

LAST_WORDS: Final = 10.0
"""Seconds that the peers of an entry which its controller stopped may take to be given the ends of
its runs: as long as a whole gateway gives its peers (`drain_timeout`)."""


class EntryObserver(Protocol):
    """Where an entry says what the operator should see. Nothing of it blocks or raises."""

    def listening(self, address: str) -> None:
        """It is bound; `address` has the real port."""
        ...

    def up(self, peer: str) -> Observer:
        """A link is up; what it has to say goes to the observer that comes back."""
        ...

    def down(self, peer: str, reason: str) -> None:
        """A link has ended."""
        ...

    def retrying(self, reason: str, seconds: float) -> None:
        """A dial failed, or its link ended; it dials again in `seconds`."""
        ...

    def gave_up(self, reason: str) -> None:
        """The peer refused for good; nothing is dialled until the config changes."""
        ...


Wrap: TypeAlias = Callable[[Entry, Link], Link]
"""What is put around each link of an entry before it is driven: a tap, faults."""


def bare(entry: Entry, link: Link) -> Link:
    """Nothing is."""
    return link


@attrs.frozen(slots=True)
class Surroundings:
    """What every entry shares. `instance` is an entry's durable id, by name; `memory` is what
    each wants to know again, and `remember` puts something there."""

    hub: Hub
    clock: Clock
    gateway: str
    instance: Callable[[str], str]
    random: Callable[[], float]
    memory: Mapping[str, str] = NOTHING
    remember: Callable[[str, str, Done], None] = lambda name, text, done: done(None)
    wrap: Wrap = bare


class Keeper:
    """One entry at work. `run` keeps it going; all else may be called meanwhile."""

    def __init__(
        self, entry: Entry, side: Side, around: Surroundings, observer: EntryObserver
    ) -> None:
        self.entry = entry
        self._side = side
        self._gatekeeper = gatekeeper_of(entry, side.carriage(entry.settings).websocket)
        self._around = around
        self._observer = observer
        self._drivers: dict[Driver, Standing] = {}
        self._listener: Listener | None = None
        self._draining = False
        self._emptied = Latch()

    @property
    def drivers(self) -> frozenset[Driver]:
        """The links that are up."""
        return frozenset(self._drivers)

    async def run(self, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen or dial until cancelled, or until the entry's controller stops it. Reports
        the address once it is bound, or what it is about to dial.

        Raises: `AddressError`, `OSError` (it cannot be bound), before it has reported.
        """
        if self.entry.listens:
            await self._listen(task_status)
            return
        task_status.started(self.entry.address)
        if not self._may_be_stopped:
            # Each daemon of a fleet is such an entry: a task and a nursery less for every one.
            await self._dial()
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stop_when_asked, nursery.cancel_scope)
            await self._dial()
            nursery.cancel_scope.cancel()

    @property
    def _may_be_stopped(self) -> bool:
        """Whether a controller may stop it: where it is one that is faced."""
        return self.entry.facing == "north"

    async def _stop_when_asked(self, scope: trio.CancelScope) -> None:
        await self._around.hub.wait_stopped(self.entry.name)
        # The last end is committed, and may not be with those who wait for it yet. Nobody can ask
        # for it later: the entry is gone then.
        with trio.move_on_after(LAST_WORDS):
            async with trio.open_nursery() as nursery:
                for driver in self._drivers:
                    nursery.start_soon(driver.catch_up)
        await self.drain()
        scope.cancel()

    async def _listen(self, task_status: trio.TaskStatus[str]) -> None:
        carriage = self._side.carriage(self.entry.settings)
        options = options_of(self.entry, carriage, self._gatekeeper)
        # Binding comes before the nursery, so that its error comes out as it is.
        async with (
            open_listener(self.entry.address, options) as listener,
            trio.open_nursery() as nursery,
        ):
            self._listener = listener
            if self._may_be_stopped:
                nursery.start_soon(self._stop_when_asked, nursery.cancel_scope)
            if not asks_nobody(self.entry):
                nursery.start_soon(watch_standing, self._look)
            address = listener.addresses[0]
            self._observer.listening(address)
            task_status.started(address)
            await listener.serve(self._serve)

    async def _serve(self, link: Link) -> None:
        await self._drive(link)

    async def _look(self) -> None:
        """Send away whose token was revoked, or whose certificate has expired. Between every
        `LOOK_AT_ONCE` links all else has its turn."""
        links = tuple(self._drivers.items())
        for at in range(0, len(links), LOOK_AT_ONCE):
            self._look_at(links[at : at + LOOK_AT_ONCE])
            await trio.lowlevel.checkpoint()

    def _look_at(self, links: Sequence[tuple[Driver, Standing]]) -> None:
        """Reads the file of each token that one of these links has shown, and no others."""
        shown = {standing.identity for _, standing in links}
        valid = valid_tokens(grant for grant in self.entry.tokens if grant.id in shown)
        now = self._around.clock() / SECOND
        for driver, standing in links:
            reason = standing.lost(valid, now)
            if reason is not None and driver in self._drivers:
                driver.dismiss(dismissal(reason))

    async def _dial(self) -> None:
        backoff = Backoff(self._around.random, self._side.carriage(self.entry.settings).redial)
        while not self._draining:
            began = trio.current_time()
            reason, ended = await self._dial_once()
            if ended is not None and (ended.ready or trio.current_time() - began >= STEADY):
                backoff.reset()
            if ended is not None and not ended.retry:
                self._observer.gave_up(reason)
                return
            if self._draining:
                return  # the end is ours, and nothing to report
            seconds = backoff.next()
            self._observer.retrying(reason, seconds)
            await trio.sleep(seconds)

    async def _dial_once(self) -> tuple[str, Ended | None]:
        """Dial, and drive the link to its end. The token is read anew each time."""
        try:
            options = options_of(self.entry, self._side.carriage(self.entry.settings))
            async with open_dialer(self.entry.address, options) as dialer:
                try:  # in here: a dialer has a nursery, which would wrap what it lets out
                    link = await dialer.dial()
                except DialRefused as error:
                    return str(error), Ended(str(error), retry=not error.final, ready=False)
                except LinkError as error:
                    return str(error), None
                ended = await self._drive(link)
                return ended.reason, ended
        except (SecretUnreadable, OSError, ValueError) as error:
            return str(error), None

    async def _drive(self, link: Link) -> Ended:
        """Drive a link to its end. An adapter's fault ends its link, not the gateway (I11)."""
        around = self._around
        link = around.wrap(self.entry, link)
        peer = link.opening.peer
        observer = self._observer.up(peer)
        try:
            connection = self._side.open(self.entry.settings)
            standing = self._standing(link)
            if standing.expired(around.clock() / SECOND):
                # TLS verifies no certificate again where a session is resumed.
                raise NotAllowed(EXPIRED)
            opening = self._opening(link, standing)
            rights = rights_of(self.entry, link.opening.identities, standing.identity)
        except Exception as error:
            return await self._not_driven(link, observer, error)
        within = self._side.carriage(self.entry.settings).write_within
        remember = partial(around.remember, self.entry.name)
        driver = Driver(
            link, connection, around.hub, around.clock, observer, within, remember, rights
        )
        self._drivers[driver] = standing
        reason = "cancelled"
        try:
            if self._draining:
                await link.close(1001, "this side stops")
            ended = await driver.run(opening)
            reason = ended.reason
            return ended
        finally:
            self._drivers.pop(driver, None)
            self._observer.down(peer, reason)
            if not self._drivers:
                self._emptied.set()

    async def _not_driven(self, link: Link, observer: Observer, error: Exception) -> Ended:
        known = isinstance(error, SecretUnreadable | Unavailable | NotAllowed)
        reason = str(error) if known else "a fault of the gateway"
        if not known:
            observer.fault(error)
        closing = dismissal(reason) if isinstance(error, NotAllowed) else None
        await link.close(*last_words(closing, link, None))
        self._observer.down(link.opening.peer, reason)
        return Ended(reason, retry=True, ready=False)

    def _standing(self, link: Link) -> Standing:
        expires = link.opening.expires if self.entry.listens else None
        return Standing(self._gatekeeper.whose, expires)

    def _opening(self, link: Link, standing: Standing) -> api.Opening:
        seen = link.opening
        entry = self.entry
        carriage = self._side.carriage(entry.settings)
        token = self._gatekeeper.shown(seen.headers) if entry.tokens else None
        identity = None if token is None else self._identity(token, standing)
        shown = entry.token.read() if entry.token is not None and carriage.in_band else None
        return api.Opening(
            link=entry.name,
            gateway=self._around.gateway,
            instance=self._around.instance(entry.name),
            peer=seen.peer,
            path=seen.path,
            headers=seen.headers,
            identities=(*seen.identities, *((identity,) if identity else ())),
            guarded=bool(entry.tokens),
            authenticated=certified(entry) or (bool(entry.tokens) and not carriage.in_band),
            entropy=secrets.token_bytes(16),
            token=shown,
            subprotocol=seen.subprotocol or "",
            remembered=self._around.memory.get(entry.name, ""),
            identify=standing.whose,
        )

    def _identity(self, token: str, standing: Standing) -> str | None:
        try:
            return standing.whose(token)
        except Unavailable:
            if self._side.carriage(self.entry.settings).in_band:
                return None  # the connection asks for itself, and has words for it
            raise

    async def drain(self) -> None:
        """Have every peer told that the gateway stops, and end its link once it is. Links that
        come from now on are told at once; over gRPC none come, for that has a word of its own for
        it. Cancelled, the links are as they are."""
        self._draining = True
        if self._listener is not None:
            self._listener.retire()
        if self._emptied.is_set():  # else somebody may wait for it: an entry can be drained twice
            self._emptied = Latch()
        for driver in list(self._drivers):
            driver.drain()
        async with trio.open_nursery() as nursery:
            for driver in list(self._drivers):
                nursery.start_soon(driver.finish)
        if self._drivers:
            await self._emptied.wait()
