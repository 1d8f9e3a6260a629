"""The side that starts runs, behind the entry of a fake."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fleetgate.gateway.fakes.lines import Writer
from fleetgate.gateway.fakes.operations import CONTROLLER
from fleetgate.gateway.fakes.performing import Performer
from fleetgate.gateway.fakes.running import Around, Peer
from fleetgate.gateway.fakes.small import Small


def controller(around: Around, beyond: frozenset[type[Any]] = frozenset()) -> Peer:
    """A fake whose operations start runs. `beyond` are those that its protocol cannot carry."""

    @asynccontextmanager
    async def open(small: Small, writer: Writer) -> AsyncGenerator[Performer, None]:
        takes, suffer = around.taken, around.links.suffer
        yield Performer(small, writer, beyond=beyond, suffer=suffer, takes=takes)

    return Peer(around, CONTROLLER, open)
