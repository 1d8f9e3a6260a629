"""Who the tokens of an entry speak for, as they stand in their places when they are asked for."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from fleetgate.core.errors import Unavailable
from fleetgate.gateway.config_entries import Grant, SecretUnreadable

READ_SHARE: Final = 5
"""Hundredths of an entry's time that may go into reading its tokens for wrong ones. Nothing else
is done meanwhile, and five thousand files take a tenth of a second. Above it an unknown token is
answered as one that cannot be judged now, and so may come again."""

READ_BURST: Final = 0.5
"""Seconds of such reading that may come at once: some thousand wrong tokens where an entry has a
few, and a few where it has five thousand in files."""

_TOO_MANY: Final = (
    "the token is none of those that were read last, and too many wrong ones have come to read "
    "them again now; try again in a few seconds"
)

Valid: TypeAlias = Mapping[str, tuple[bytes, ...]]
"""The tokens that prove each id."""


def valid_tokens(grants: Iterable[Grant]) -> Valid:
    """The tokens as they are now; one that cannot be read is not among them."""
    found: dict[str, tuple[bytes, ...]] = {}
    for grant in grants:
        token = _read(grant)
        if token is not None:
            found[grant.id] = (*found.get(grant.id, ()), token)
    return found


def is_valid(id: str, token: bytes, valid: Valid) -> bool:
    """Whether the token proves the id still. In constant time."""
    return any(hmac.compare_digest(token, each) for each in valid.get(id, ()))


class Tokens:
    """Tells who a token speaks for. A fleet shows thousands, so each is looked up by a digest that
    nobody else can compute, under a key that this process has drawn: how long that takes says
    nothing of how much of a token was guessed. The one found is read anew and compared in constant
    time. What is not found may have been written a moment ago: then all are read again, as often
    as `READ_SHARE` allows, so that whoever shows wrong ones keeps nobody waiting. `clock` is in
    seconds and never falls."""

    def __init__(
        self, grants: tuple[Grant, ...], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._grants = grants
        self._clock = clock
        self._spent = 0.0
        """Seconds of reading that are not made up for yet, as of `_spent_at`."""
        self._spent_at = clock()
        self._key = secrets.token_bytes(32)
        self._read: list[bytes | None] = [None] * len(grants)
        self._known: dict[bytes, tuple[Grant, ...]] = {}

    def whose(self, token: str) -> str | None:
        """The identity that a token proves; None for none, which is said of no token that was not
        looked for among all as they are now. A grant whose token cannot be read lets nobody in.

        Raises: `Unavailable`: it is none of those known, and they cannot all be read again now.
        """
        shown = token.encode("utf-8", "replace")
        digest = self._digest(shown)
        found = self._find(digest, shown)
        if found is None:
            self._look()
            found = self._find(digest, shown)
        return found

    def _digest(self, token: bytes) -> bytes:
        return hashlib.blake2b(token, key=self._key).digest()

    def _find(self, digest: bytes, shown: bytes) -> str | None:
        for grant in self._known.get(digest, ()):
            token = _read(grant)
            if token is not None and hmac.compare_digest(shown, token):
                return grant.id
        return None

    def _look(self) -> None:
        """Read all of them again. Raises: `Unavailable`."""
        began = self._clock()
        made_up = (began - self._spent_at) * READ_SHARE / 100
        self._spent, self._spent_at = max(0.0, self._spent - made_up), began
        if self._spent >= READ_BURST:
            raise Unavailable(_TOO_MANY)
        read = list(map(_read, self._grants))
        self._spent += self._clock() - began
        if read == self._read:
            return
        self._read, self._known = read, {}
        for grant, token in zip(self._grants, read, strict=True):
            if token is not None:
                digest = self._digest(token)
                self._known[digest] = (*self._known.get(digest, ()), grant)


def _read(grant: Grant) -> bytes | None:
    try:
        return grant.token.read().encode()
    except SecretUnreadable:
        return None
