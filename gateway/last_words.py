"""With which code, and which words, a link is closed."""

from __future__ import annotations

from fleetgate.protocols.api import Close
from fleetgate.transports.api import Link


def last_words(closing: Close | None, link: Link, otherwise: int | None) -> tuple[int | None, str]:
    """The code and reason to close with: those that were asked for, whoever gets to closing first.
    A peer that is done at once may end the reading before the close that was asked for is on its
    way."""
    if closing is None:
        return otherwise, ""
    code = closing.status if link.speaks_status else closing.code
    code = closing.code if code is None else code
    return otherwise if code is None else code, closing.reason
