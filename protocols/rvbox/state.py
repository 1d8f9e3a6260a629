"""Which message may come when. The table knows two peers and not which of them we are.

A session begins with hello, welcome and a first reconcile; a later reconcile takes an
open session through request, snapshot and result once more, while what was already on
its way still comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Final, TypeAlias

from fleetgate.protocols.rvbox import wire as w


@unique
class Phase(Enum):
    """What a session waits for."""

    HELLO = "hello"
    WELCOME = "welcome"
    REQUEST = "the first reconcile request"
    SNAPSHOT = "the first reconcile snapshot"
    RESULT = "the first reconcile result"
    OPEN = "work"
    SNAPSHOT_AGAIN = "a reconcile snapshot"
    RESULT_AGAIN = "a reconcile result"


@unique
class Peer(Enum):
    """The two ends of a session."""

    CLIENT = "client"
    SERVER = "server"


class OutOfPlace(Exception):
    """A message that this peer may not send now. Nothing has changed."""


P = Phase
Kind: TypeAlias = type[w.Payload]

_STEADY_CLIENT: Final[tuple[Kind, ...]] = (w.CommandAccepted, w.CommandEvent, w.ClientCapacity)
_STEADY_SERVER: Final[tuple[Kind, ...]] = (
    w.EventAck,
    w.StdinWrite,
    w.CloseStdin,
    w.SignalCommand,
    w.ScriptChunk,
    w.ScriptCommit,
)


def _stay(phase: Phase, *kinds: Kind) -> dict[Kind, Phase]:
    return dict.fromkeys(kinds, phase)


_CLIENT: Final[Mapping[Phase, Mapping[Kind, Phase]]] = {
    P.HELLO: {w.ClientHello: P.WELCOME},
    P.WELCOME: {},
    P.REQUEST: {},
    P.SNAPSHOT: {w.ReconcileSnapshot: P.RESULT},
    P.RESULT: {},
    P.OPEN: _stay(P.OPEN, *_STEADY_CLIENT),
    P.SNAPSHOT_AGAIN: {
        w.ReconcileSnapshot: P.RESULT_AGAIN,
        **_stay(P.SNAPSHOT_AGAIN, *_STEADY_CLIENT),
    },
    P.RESULT_AGAIN: {},
}

_SERVER: Final[Mapping[Phase, Mapping[Kind, Phase]]] = {
    P.HELLO: {},
    P.WELCOME: {w.ServerWelcome: P.REQUEST},
    P.REQUEST: {w.ReconcileRequest: P.SNAPSHOT},
    P.SNAPSHOT: {},
    P.RESULT: {w.ReconcileResult: P.OPEN},
    P.OPEN: {
        w.ReconcileRequest: P.SNAPSHOT_AGAIN,
        **_stay(P.OPEN, w.CommandDispatch, w.ReconcileResult, *_STEADY_SERVER),
    },
    P.SNAPSHOT_AGAIN: _stay(P.SNAPSHOT_AGAIN, *_STEADY_SERVER),
    P.RESULT_AGAIN: {
        w.ReconcileResult: P.OPEN,
        **_stay(P.RESULT_AGAIN, *_STEADY_SERVER),
    },
}

TABLE: Final[Mapping[Peer, Mapping[Phase, Mapping[Kind, Phase]]]] = MappingProxyType(
    {Peer.CLIENT: _CLIENT, Peer.SERVER: _SERVER}
)
"""For each peer and phase: what it may send, and the phase that this leads to."""


def after(phase: Phase, sender: Peer, kind: Kind) -> Phase:
    """The phase behind a message of `kind` from `sender`. An `AgentError` may always come, but for
    a client's before its hello: nothing comes before that.

    Raises: `OutOfPlace`.
    """
    if kind is w.AgentError and (phase, sender) != (P.HELLO, Peer.CLIENT):
        return phase
    following = TABLE[sender][phase].get(kind)
    if following is None and kind is w.ClientHello and sender is Peer.CLIENT:
        raise OutOfPlace("a client says hello once; to begin a new session, open a new link")
    if following is None:
        raise OutOfPlace(
            f"a {sender.value} may not send {kind.__name__} while the session waits for "
            f"{phase.value}"
        )
    return following
