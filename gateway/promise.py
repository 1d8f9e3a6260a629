"""What is promised for a run, by its worker's protocol, its controller's, and the journal.

`gateway check` prints these sentences for each route, and the tables of docs/guarantees.md are
made of them (`tools/reference.py`). A setting that weakens one is named in its sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from fleetgate.core.routing import OPERATOR


@attrs.frozen(slots=True)
class Promise:
    """What holds between the gateway and a run's worker, in words: how often a start, an input
    and an event arrive, how far back the worker can say again what was lost on the way, and what
    becomes of the run when something fails."""

    start: str
    input: str
    events: str
    replay: str
    link_lost: str
    gateway_restarted: str
    worker_restarted: str


@attrs.frozen(slots=True)
class Showing:
    """What holds between the gateway and a run's controller, in words: how often events arrive,
    by what it knows their order, how far back it can ask for them, and what becomes of the run
    when its link is lost or the gateway restarts."""

    delivery: str
    order: str
    replay: str
    link_lost: str
    gateway_restarted: str


ORDER: Final = (
    "one for the run's events, the journal's, the same for every watcher; its orders reach the "
    "worker in the order in which they were accepted; none between runs"
)
"""What holds for every protocol."""

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
    "agency": Promise(
        start="once while the daemon lives: a run it knows is not started again. Where the link is "
        "lost before its answer, the gateway asks the daemon which runs it has",
        input="at most once: inputs carry no number. One whose answer was lost with the link is "
        "not sent again; the run says so, and it may yet arrive, behind later ones",
        events="once: the daemon numbers them",
        replay="what the daemon keeps: the genuine one its last 2048 events, without those that "
        "were acknowledged",
        link_lost=_AGENCY,
        gateway_restarted=_AGENCY,
        worker_restarted="lost, because the daemon keeps nothing",
    ),
    "iop": Promise(
        start="at most once: an open run is never sent again",
        input="none: a node's runs take none",
        events="once from a node that is a gateway, which numbers them; what another node sends "
        "has no place but the link it comes on, and what was lost with that is missing",
        replay="what a node that is a gateway sends again, its retained events; of another node "
        "nothing",
        link_lost=_IOP,
        gateway_restarted=_IOP,
        worker_restarted="lost, unless the node goes on with it",
    ),
    "kodelet": Promise(
        start="at most once: where its answer was lost with the link, the run is lost and not "
        "started again",
        input="at most once, to a terminal: its run ends with the link. Other runs take none",
        events="at most once: they have no place but the link they come on",
        replay="nothing: a run ends with its link",
        link_lost="lost at once, because the protocol cannot take a run up again",
        gateway_restarted="lost at once; the runner ends what it was doing, and side effects are "
        "uncertain",
        worker_restarted="lost, because the runner keeps nothing",
    ),
    LOCAL: Promise(
        start="at most once: a run that was given to the worker is not given again",
        input="at most once: what was not taken when the gateway ends is not sent again",
        events="once: there is nothing between the worker and the gateway",
        replay="nothing: what was not recorded when the gateway ends is gone with the worker",
        link_lost="there is no link: its worker is a part of the gateway",
        gateway_restarted="lost; a stop first waits drain_timeout for its end, then kills its "
        "processes, and after a crash those that are still there are killed at the next start",
        worker_restarted="lost, when its table in the config is changed or taken out",
    ),
    "rvbox": Promise(
        start="once: the host knows the command by its id and hash, and answers a repeat as the "
        "first",
        input="once: inputs are numbered, and sent again until the host has confirmed them",
        events="once: the host numbers them, and sends each until it is acknowledged",
        replay="every event that was not acknowledged, as far as the host keeps them",
        link_lost=_RVBOX,
        gateway_restarted=_RVBOX,
        worker_restarted="what the host's own snapshot says: a command it has not begun waits on, "
        "one it was running is lost",
    ),
}
"""With a durable journal, by the protocol of workers."""

FORGOTTEN: Final[Mapping[str, str]] = {
    "agency": "forgotten with the journal in memory; the daemon works on, unwatched",
    "iop": "forgotten with the journal in memory; a node that returns with it is told to cancel it",
    LOCAL: "forgotten with the journal in memory; a stop first waits drain_timeout for its end, "
    "then kills its processes, and a crash leaves them behind",
    "kodelet": "forgotten with the journal in memory; the runner ends it as its link ends",
    "rvbox": "forgotten with the journal in memory; a host that returns is told to end it",
}

_ATTACHES: Final = "the run goes on; the client attaches again behind the last event that it has"
_TELLS_AGAIN: Final = (
    "the run goes on, unless cancel_on_disconnect and it is a control client's in the foreground; "
    "an edge is told again, a control client asks again from the last event that it has"
)
_RECONCILES: Final = (
    "the run goes on; server and gateway reconcile, and events go out again from the last one that "
    "the server has"
)
_CANCELS: Final = (
    "the run goes on until the control plane is reached again; the next link cancels it before it "
    "registers"
)
_ASKS: Final = "the run goes on; whoever follows it asks again from the last event that it has"

SHOWINGS: Final[Mapping[str, Showing]] = {
    "agency": Showing(
        delivery="at least once, each with its number",
        order="the journal's: the number on the wire is the journal's own",
        replay="replay_bound events back from the last one (0: all), and not those that a client "
        "has acknowledged",
        link_lost=_ATTACHES,
        gateway_restarted=_ATTACHES,
    ),
    "iop": Showing(
        delivery="at least once, each with its number",
        order="the journal's: its number is in the metadata, as gateway.seq",
        replay="to an edge the last retained events; a control client may ask from any event on",
        link_lost=_TELLS_AGAIN,
        gateway_restarted=_TELLS_AGAIN,
    ),
    "kodelet": Showing(
        delivery="the result at most once, with the last output_limit bytes of what was said; "
        "updates come and may be left out, for each has all that came before it",
        order="the journal's, as text; there are no numbers",
        replay="nothing: what a lost link has not brought is not asked for again",
        link_lost=_CANCELS,
        gateway_restarted=_CANCELS,
    ),
    OPERATOR: Showing(
        delivery="at least once, each with its number",
        order="the journal's: seq is the journal's number",
        replay="every event of a run that is kept, from any event on",
        link_lost=_ASKS,
        gateway_restarted=_ASKS,
    ),
    "rvbox": Showing(
        delivery="at least once, each with its number, until the server acknowledges it",
        order="the journal's: the number on the wire is the journal's own",
        replay="every event that the server has not acknowledged, of at most retained commands",
        link_lost=_RECONCILES,
        gateway_restarted=_RECONCILES,
    ),
}
"""With a durable journal, by the protocol of controllers."""

UNKNOWN_AGAIN: Final = "forgotten with the journal in memory: whoever asks is told not_found"
"""What a restart of the gateway leaves controllers, of any protocol, with a journal in memory."""

_UNSAID: Final = "not known here; ask who provides the protocol"
UNKNOWN: Final = Promise(*[_UNSAID] * 7)
UNKNOWN_SHOWING: Final = Showing(*[_UNSAID] * 5)


def promise(protocol: str, durable: bool) -> Promise:
    """The promise for runs at workers of `protocol`. `durable`: the journal outlives the
    process."""
    made = PROMISES.get(protocol, UNKNOWN)
    if durable or protocol not in FORGOTTEN:
        return made
    return attrs.evolve(made, gateway_restarted=FORGOTTEN[protocol])


def showing(protocol: str, durable: bool) -> Showing:
    """The promise for runs of controllers of `protocol`."""
    made = SHOWINGS.get(protocol, UNKNOWN_SHOWING)
    if durable or protocol not in SHOWINGS:
        return made
    return attrs.evolve(made, gateway_restarted=UNKNOWN_AGAIN)
