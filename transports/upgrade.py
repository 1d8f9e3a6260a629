"""What two ends settle before a link is up: subprotocol, permission. The rules, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fleetgate.transports.api import Opening, Options, Rejection

FINAL_STATUSES: Final = (401, 403)
"""Answers that the same credentials will get again."""


def choose_subprotocol(offered: Sequence[str], supported: Sequence[str]) -> str | None:
    """The first offered one that is supported; `"*"` supports any. None is an agreement too: none
    is required here, and who requires one says so in `authorize`."""
    return next((name for name in offered if name in supported or "*" in supported), None)


def refusal(options: Options, opening: Opening) -> Rejection | None:
    """What `authorize` says of a peer. None: let it in."""
    verdict = options.authorize(opening) if options.authorize is not None else None
    return Rejection(verdict) if isinstance(verdict, int) else verdict


def offered_headers(options: Options) -> dict[str, str]:
    """The headers of a dialler as the other end sees them: names in lower case, the offered
    subprotocols among them."""
    headers = {name.lower(): value for name, value in options.headers.items()}
    if options.subprotocols:
        headers["sec-websocket-protocol"] = ", ".join(options.subprotocols)
    return headers


def is_final(status: int) -> bool:
    """Whether dialling again with the same credentials is of no use."""
    return status in FINAL_STATUSES
