"""What is promised for a run, by its worker's protocol and the gateway's journal.

`gateway check` prints these sentences for each route, and docs/guarantees.md holds them; a
test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs


@attrs.frozen(slots=True)
class Promise:
    """What becomes of a run when something fails, in words."""

    link_lost: str
    gateway_restarted: str
    worker_restarted: str


_AGENCY: Final = (
    "the run goes on; the gateway attaches again behind the last event it has, and what the "
    "daemon no longer keeps is recorded as a gap"
)
_RVBOX: Final = (
    "the run goes on; gateway and host reconcile, and the host sends again whatever was not "
    "acknowledged"
)

_IOP: Final = (
    "the run goes on, if its node is back within reconnect_grace and says something of it within "
    "as much again; else it is lost, and the node is told to cancel it"
)

LOCAL: Final = "local"
"""Under this name is the promise of the gateway's own workers, which no protocol leads to."""

PROMISES: Final[Mapping[str, Promise]] = {
    "agency": Promise(_AGENCY, _AGENCY, "lost, because the daemon keeps nothing"),
    "iop": Promise(_IOP, _IOP, "lost, unless the node goes on with it"),
    "kodelet": Promise(
        "lost at once, because the protocol cannot take a run up again",
        "lost at once; the runner ends what it was doing, and side effects are uncertain",
        "lost, because the runner keeps nothing",
    ),
    LOCAL: Promise(
        "there is no link: its worker is a part of the gateway",
        "lost; a stop first waits drain_timeout for its end, then kills its processes, and after a "
        "crash those that are still there are killed at the next start",
        "lost, when its table in the config is changed or taken out",
    ),
    "rvbox": Promise(
        _RVBOX,
        _RVBOX,
        "what the host's own snapshot says: a command it has not begun waits on, one it was "
        "running is lost",
    ),
}
"""With a durable journal."""

FORGOTTEN: Final[Mapping[str, str]] = {
    "agency": "forgotten with the journal in memory; the daemon works on, unwatched",
    "iop": "forgotten with the journal in memory; a node that returns with it is told to cancel it",
    LOCAL: "forgotten with the journal in memory; a stop first waits drain_timeout for its end, "
    "then kills its processes, and a crash leaves them behind",
    "kodelet": "forgotten with the journal in memory; the runner ends it as its link ends",
    "rvbox": "forgotten with the journal in memory; a host that returns is told to end it",
}

UNKNOWN: Final = Promise(*["not known here; ask who provides the protocol"] * 3)


def promise(protocol: str, durable: bool) -> Promise:
    """The promise for runs at workers of `protocol`. `durable`: the journal outlives the
    process."""
    made = PROMISES.get(protocol, UNKNOWN)
    if durable or protocol not in FORGOTTEN:
        return made
    return attrs.evolve(made, gateway_restarted=FORGOTTEN[protocol])
