"""Bends of envelopes, for tests of the kits: what a peer says, with a member changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from fleetgate.gateway.tck.testing import Bend, Change
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code


def _bent(become: Callable[[w.Envelope], Sequence[w.Envelope]]) -> Change:
    def bend(frame: bytes) -> Sequence[bytes]:
        try:
            envelope = codec.decode(frame)
        except RemoteProtocolError:
            return (frame,)
        became = become(envelope)
        same = len(became) == 1 and became[0] is envelope
        return (frame,) if same else tuple(map(codec.encode, became))

    return bend


def _part(envelope: w.Envelope, kind: type[Any]) -> Any:
    """Its payload, or the event in it, if it is of this kind."""
    payload = envelope.payload
    if isinstance(payload, kind):
        return payload
    event = payload.event if isinstance(payload, w.CommandEvent) else None
    return event if isinstance(event, kind) else None


def is_a(kind: type[Any]) -> Callable[[bytes], bool]:
    """Whether a frame carries a payload, or an event, of this kind."""

    def look(frame: bytes) -> bool:
        try:
            return _part(codec.decode(frame), kind) is not None
        except RemoteProtocolError:
            return False

    return look


def change(
    kind: type[Any], *, session: str | None = None, generation: int | None = None, **members: Any
) -> Change:
    """Payloads, or events, of this kind have other members; envelopes another fence."""

    def become(envelope: w.Envelope) -> Sequence[w.Envelope]:
        part = _part(envelope, kind)
        if part is None:
            return (envelope,)
        made = attrs.evolve(part, **members)
        payload = made if part is envelope.payload else attrs.evolve(envelope.payload, event=made)
        id = envelope.session_id if session is None else session
        number = envelope.session_generation if generation is None else generation
        return (w.Envelope(id, number, payload),)

    return _bent(become)


def lifecycle(old: int, new: int) -> Change:
    """A lifecycle is said for another."""

    def become(envelope: w.Envelope) -> Sequence[w.Envelope]:
        part = _part(envelope, w.LifecycleChanged)
        if part is None or part.lifecycle != old:
            return (envelope,)
        event = attrs.evolve(part, lifecycle=new)
        return (attrs.evolve(envelope, payload=attrs.evolve(envelope.payload, event=event)),)

    return _bent(become)


def leave_out(kind: type[Any]) -> Change:
    """Payloads, or events, of this kind do not arrive."""
    return _bent(lambda envelope: () if _part(envelope, kind) is not None else (envelope,))


def repeat(kind: type[Any]) -> Change:
    """Payloads, or events, of this kind arrive twice."""
    return _bent(lambda envelope: (envelope,) * (1 if _part(envelope, kind) is None else 2))


def rejected(code: Code) -> Bend:
    """Who rejects a command does it with this code."""
    return Bend(says=change(w.CommandAccepted, rejection=w.ControlError(code, "x")))


OTHER_CODE: Final = Bend(says=change(w.AgentError, error=w.ControlError(Code.INTERNAL, "x")))
"""Every error that it says has a code that none of the requirements asks for."""

LEAVES: Final = Bend(leaves=is_a(w.AgentError))
"""It ends the link behind each error that it says."""
