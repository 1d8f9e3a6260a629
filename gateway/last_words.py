"""With which code, and which words, a link is closed, and what it has been when it is."""

from __future__ import annotations

import attrs

from fleetgate.protocols.api import Close
from fleetgate.transports.api import Link


@attrs.frozen(slots=True)
class Ended:
    """How a link ended. `retry`: whoever dialled it may dial again; `ready`: it had got as far
    as doing its work, so a backoff starts anew."""

    reason: str
    retry: bool
    ready: bool


def last_words(closing: Close | None, link: Link, otherwise: int | None) -> tuple[int | None, str]:
    """The code and reason to close with: those that were asked for, whoever gets to closing first.
    A peer that is done at once may end the reading before the close that was asked for is on its
    way."""
    if closing is None:
        return otherwise, ""
    code = closing.status if link.speaks_status else closing.code
    code = closing.code if code is None else code
    return otherwise if code is None else code, closing.reason
