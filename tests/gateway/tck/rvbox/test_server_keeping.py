"""Servers that break the requirements about what is kept, one each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import change, is_a
from fleetgate.gateway.tck.rvbox.server_commands import state_of
from fleetgate.gateway.tck.rvbox.server_keeping import TOPIC
from fleetgate.gateway.tck.rvbox.talk import new_uuid
from fleetgate.gateway.tck.testing import Bend, Change, Mutants, nth
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w


def second(kind: type[Any], become: Change) -> Change:
    """What becomes of the second frame with this payload."""
    seen = 0

    def bend(frame: bytes) -> Sequence[bytes]:
        nonlocal seen
        seen += is_a(kind)(frame)
        return become(frame) if is_a(kind)(frame) and seen == 2 else (frame,)

    return bend


def never_comes(_frame: bytes) -> Sequence[bytes]:
    return ()


def sees(**members: Any) -> Bend:
    """A server that sees other members in what a client retains."""

    def hears(frame: bytes) -> Sequence[bytes]:
        payload = codec.decode(frame).payload
        if not isinstance(payload, w.ReconcileSnapshot):
            return (frame,)
        states = tuple(attrs.evolve(each, **members) for each in payload.retained_commands)
        return change(w.ReconcileSnapshot, retained_commands=states)(frame)

    return Bend(hears=hears)


def with_dispatch(bend: Callable[[w.CommandDispatch, bytes], Sequence[bytes]]) -> Bend:
    """A server that hears something else, once it has dispatched a command."""
    dispatches: list[w.CommandDispatch] = []

    def says(frame: bytes) -> Sequence[bytes]:
        payload = codec.decode(frame).payload
        if isinstance(payload, w.CommandDispatch):
            dispatches.append(payload)
        return (frame,)

    def hears(frame: bytes) -> Sequence[bytes]:
        return bend(dispatches[-1], frame) if dispatches else (frame,)

    return Bend(says=says, hears=hears)


def hopes() -> Bend:
    """A server that gives up nothing: what is missing it takes for retained."""

    def hears(dispatch: w.CommandDispatch, frame: bytes) -> Sequence[bytes]:
        return change(w.ReconcileSnapshot, retained_commands=(state_of(dispatch, 2),))(frame)

    return with_dispatch(hears)


def complains_behind_the_exit() -> Bend:
    """A server that forgets a command with its exit."""
    over = False

    def hears(frame: bytes) -> Sequence[bytes]:
        nonlocal over
        if over:
            return change(w.CommandEvent, issue_uuid=new_uuid())(frame)
        over = is_a(w.CommandExit)(frame)
        return (frame,)

    return Bend(hears=hears)


def right_digest() -> Bend:
    """A server that looks at no digest."""

    def hears(dispatch: w.CommandDispatch, frame: bytes) -> Sequence[bytes]:
        payload = codec.decode(frame).payload
        if not isinstance(payload, w.ReconcileSnapshot):
            return (frame,)
        sum = dispatch.immutable_request_sha256
        states = tuple(
            attrs.evolve(each, immutable_request_sha256=sum) for each in payload.retained_commands
        )
        return change(w.ReconcileSnapshot, retained_commands=states)(frame)

    return with_dispatch(hears)


def not_again() -> Bend:
    """A server that dispatches once. One for each use, since it counts."""
    return Bend(says=second(w.CommandDispatch, never_comes))


MUTANTS: Mutants = (
    ("RVBOX-S-060", Bend(says=nth("two", 2, change(w.StdinWrite, write_seq=1)))),
    ("RVBOX-S-060", Bend(says=nth("two", 2, change(w.StdinWrite, data=b"")))),
    ("RVBOX-S-060", Bend(says=nth("two", 2, lambda frame: (frame, frame)))),
    ("RVBOX-S-061", sees(tombstoned=False)),
    ("RVBOX-S-062", hopes()),
    ("RVBOX-S-063", not_again()),
    (
        "RVBOX-S-063",
        Bend(says=second(w.CommandDispatch, change(w.CommandDispatch, command_revision=2))),
    ),
    ("RVBOX-S-064", hopes()),
    ("RVBOX-S-065", Bend(hears=change(w.ReconcileSnapshot, retained_commands=()))),
    ("RVBOX-S-066", not_again()),
    ("RVBOX-S-067", sees(last_client_event_seq=2)),
    ("RVBOX-S-067", right_digest()),
    ("RVBOX-S-068", complains_behind_the_exit()),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_server_fails(
    server: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(server, id, bend)
