"""Which of its two protocols a daemon speaks: a client on a WebSocket wants MCP (section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleetgate.core.answers import Answer
from fleetgate.core.events import Recorded
from fleetgate.protocols.agency.northbound import AgencyNorthbound
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.agency.web import WebConnection
from fleetgate.protocols.api import Opening, Steps
from fleetgate.protocols.bulk import BulkConnection


class Door(BulkConnection):
    """A client's connection: what it turns out to be when it opens."""

    def __init__(self, settings: AgencyNorthboundSettings) -> None:
        self._settings = settings
        self._inside: BulkConnection = AgencyNorthbound(settings)

    def opened(self, opening: Opening, now: int) -> Steps:
        if "host" in opening.headers:  # there was an upgrade
            self._inside = WebConnection(self._settings)
        return self._inside.opened(opening, now)

    def receive(self, frame: bytes, now: int) -> Steps:
        return self._inside.receive(frame, now)

    def tick(self, now: int) -> Steps:
        return self._inside.tick(now)

    def drain(self, now: int) -> Steps:
        return self._inside.drain(now)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        return self._inside.reply(reply_to, answer, now)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        return self._inside.deliver(batch, now)

    def deliver_bulk(self, batch: Sequence[Recorded], now: int) -> Sequence[bytes] | None:
        return self._inside.deliver_bulk(batch, now)
