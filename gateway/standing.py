"""Whether the peer of a link may still be here: what let it in may be revoked, or run out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import attrs
import trio

from fleetgate.gateway.tokens import Valid, is_valid
from fleetgate.protocols import api

LOOK_EVERY: Final = 15.0
"""Seconds between two looks: a revoked token is of no use after two, a certificate after one. It is
a read of the file of each token that a link has shown."""

LOOK_AT_ONCE: Final = 100
"""Links that one look takes before others have their turn: to read so many files takes some
milliseconds, and thousands would hold up every run for a tenth of a second."""

MISSED: Final = 2
"""Looks in a row at which a token must be unknown. A file that is just being written is empty,
and a whole fleet would be sent away for good."""

POLICY: Final = 1008
"""RFC 6455, section 7.4.1."""

UNAUTHENTICATED: Final = 16
"""Of gRPC."""

REVOKED: Final = "the token that was shown is not valid any more"
EXPIRED: Final = "the certificate that was shown has expired"


@attrs.define(eq=False)
class Standing:
    """One link's. `identify` tells who a token speaks for; `expires` is when the peer's
    certificate ends (Unix seconds)."""

    identify: Callable[[str], str | None]
    expires: float | None = None
    _shown: tuple[str, bytes] | None = attrs.field(default=None, init=False, repr=False)
    _missed: int = attrs.field(default=0, init=False)

    @property
    def identity(self) -> str | None:
        """Who the token speaks for that was shown last; None where none was."""
        return None if self._shown is None else self._shown[0]

    def whose(self, token: str) -> str | None:
        """The identity that a token proves; None for none. What it was is kept: from now on the
        link lives no longer than that token. Raises: `Unavailable`, as `Tokens`."""
        found = self.identify(token)
        if found is not None:
            self._shown = (found, token.encode("utf-8", "replace"))
        return found

    def expired(self, now: float) -> bool:
        """Whether the peer's certificate has ended. `now`: Unix seconds."""
        return self.expires is not None and now >= self.expires

    def lost(self, valid: Valid, now: float) -> str | None:
        """Why the peer may not be here any more; None while it may. `now`: Unix seconds."""
        if self.expired(now):
            return EXPIRED
        if self._shown is None or is_valid(*self._shown, valid):
            self._missed = 0
            return None
        self._missed += 1
        return REVOKED if self._missed >= MISSED else None


def dismissal(reason: str) -> api.Close:
    """How a link ends whose peer may not be here any more: whoever dialled it need not come back
    with the same."""
    return api.Close(POLICY, reason, retry=False, status=UNAUTHENTICATED)


async def watch_standing(look: Callable[[], Awaitable[None]]) -> None:
    """Look again and again, until cancelled."""
    while True:
        await trio.sleep(LOOK_EVERY)
        await look()
