"""The answer to bytes that are no frame, on a link that can still be sent on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio

from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.writing import CLOSE_WITHIN
from fleetgate.protocols.api import Connection, Steps
from fleetgate.protocols.unframed import AnswersUnframed
from fleetgate.transports.api import LinkBroken, LinkError


async def answer_unframed(
    error: LinkError,
    connection: Connection,
    call: Callable[[Callable[[int], Steps]], None],
    outbox: Outbox,
) -> None:
    """Have the connection say what was wrong, if the link ended so, and wait until that is sent."""
    too_long = error.too_long if isinstance(error, LinkBroken) else None
    if too_long is not None and isinstance(connection, AnswersUnframed):
        call(partial(connection.unframed, too_long, str(error)))
        with trio.move_on_after(CLOSE_WITHIN):
            await outbox.wait_idle()
