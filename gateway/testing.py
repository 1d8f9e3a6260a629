"""A protocol with nothing to it, and observers that remember: for tests of what keeps
entries, links and routes going."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from fleetgate.core.worker import InputKind
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.protocols import api
from fleetgate.protocols.api import Adapter, Connection, Side, Steps
from fleetgate.protocols.carriage import Carriage


@attrs.define
class SeenLink:
    """What one link had to say."""

    reports: list[tuple[str, str]] = attrs.field(factory=list[tuple[str, str]])
    faults: list[BaseException] = attrs.field(factory=list[BaseException])

    def report(self, what: str, detail: str, run: str | None) -> None:
        """Remember a report."""
        self.reports.append((what, detail))

    def fault(self, error: BaseException) -> None:
        """Remember a fault."""
        self.faults.append(error)


@attrs.define
class SeenEntry:
    """What one entry had to say: `(what, detail)` in order."""

    said: list[tuple[str, object]] = attrs.field(factory=list[tuple[str, object]])
    links: list[SeenLink] = attrs.field(factory=list[SeenLink])

    def listening(self, address: str) -> None:
        """It is bound."""
        self.said.append(("listening", address))

    def up(self, peer: str) -> SeenLink:
        """A link is up."""
        self.said.append(("up", peer))
        self.links.append(SeenLink())
        return self.links[-1]

    def down(self, peer: str, reason: str) -> None:
        """A link has ended."""
        self.said.append(("down", reason))

    def retrying(self, reason: str, seconds: float) -> None:
        """It dials again."""
        self.said.append(("retrying", seconds))

    def gave_up(self, reason: str) -> None:
        """It does not dial again."""
        self.said.append(("gave_up", reason))

    def named(self, what: str) -> list[object]:
        """The details of all that was said under one name."""
        return [detail for said, detail in self.said if said == what]


@attrs.define
class SeenHouse:
    """What a house and the gateway had to say."""

    said: list[tuple[str, object]] = attrs.field(factory=list[tuple[str, object]])
    entries: dict[str, SeenEntry] = attrs.field(factory=dict[str, SeenEntry])

    def entry(self, entry: Entry) -> SeenEntry:
        """The observer of one entry; a name that comes again goes on with the same."""
        return self.entries.setdefault(entry.name, SeenEntry())

    def pool(self, pool: LocalPool) -> SeenEntry:
        """The observer of one local pool."""
        return self.entries.setdefault(pool.name, SeenEntry())

    def failed(self, entry: Entry | LocalPool, error: Exception) -> None:
        """An entry could not start."""
        self.said.append(("failed", entry.name))

    def ready(self) -> None:
        """All is started."""
        self.said.append(("ready", None))

    def draining(self) -> None:
        """The end begins."""
        self.said.append(("draining", None))

    def drain_overdue(self, seconds: float) -> None:
        """Not all peers could be told."""
        self.said.append(("drain_overdue", seconds))

    def journal_changed(self, failing: str | None) -> None:
        """Commits fail, or succeed again."""
        self.said.append(("journal", failing))

    def journal_full(self, full: bool) -> None:
        """The journal has reached its size, or is below it again."""
        self.said.append(("journal_full", full))

    def reloaded(self) -> None:
        """A new config is at work."""
        self.said.append(("reloaded", None))

    def reload_refused(self, error: Exception) -> None:
        """A new config cannot be used."""
        self.said.append(("reload_refused", str(error)))

    def needs_restart(self, keys: tuple[str, ...]) -> None:
        """Some settings count after a restart only."""
        self.said.append(("needs_restart", keys))


@attrs.frozen(slots=True)
class PlainSettings:
    """Settings of the protocol with nothing to it."""

    greeting: str = "hello"


class PlainConnection(Connection):
    """Greets, echoes each frame, says `bye` on drain. The frame `end` closes the link for
    good, `fail` closes it so that the peer may come again."""

    def __init__(self, settings: PlainSettings) -> None:
        self._greeting = settings.greeting

    def opened(self, opening: api.Opening, now: int) -> Steps:
        """Greet with the entry's name and instance."""
        text = f"{self._greeting} {opening.link} {opening.instance} {opening.identities}"
        return (api.Send(text.encode()),)

    def receive(self, frame: bytes, now: int) -> Steps:
        """Echo."""
        if frame in (b"end", b"fail"):
            return (api.Close(1000, frame.decode(), retry=frame == b"fail"),)
        return (api.Send(frame),)

    def drain(self, now: int) -> Steps:
        """Say so."""
        return (api.Send(b"bye"),)


def plain_adapter(
    name: str = "plain", make: Callable[[Any], Connection] = PlainConnection
) -> Adapter:
    """The protocol with nothing to it, the same on both sides."""
    carriage = Carriage("varint", 1 << 16)
    side = Side(PlainSettings, make, lambda _: carriage, frozenset({InputKind.PROMPT}))
    return Adapter(name, side, side)
