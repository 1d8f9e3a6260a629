"""Nodes that break the requirements of runs, one each."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.iop.node_runs import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Change, Mutants, nth, says
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w

REQUIRED = w.SessionMode.REQUIRE_EXISTING


def unset(frame: bytes) -> Sequence[bytes]:
    """A configuration does not arrive."""
    message = codec.decode_edge(frame)
    if not isinstance(message, w.RegisterResponse):
        return (frame,)
    return (codec.encode_edge(attrs.evolve(message, config=None)),)


def forgotten(frame: bytes) -> Sequence[bytes]:
    """A session that a run requires is not the one that it named."""
    message = codec.decode_edge(frame)
    if not isinstance(message, w.RunRequest) or message.session_mode != int(REQUIRED):
        return (frame,)
    return (codec.encode_edge(attrs.evolve(message, session_id=message.session_id + "X")),)


ENDS = {"complete": 101, "cancelled": 116, "error": 117}


def back(type: str) -> Change:
    """The clock goes back for an end of this type."""

    def bend(frame: bytes) -> Sequence[bytes]:
        message = codec.decode_node(frame)
        if not isinstance(message, w.RunEvent) or message.type != type:
            return (frame,)
        return (codec.encode_node(attrs.evolve(message, timestamp=1)),)

    return bend


MUTANTS: Mutants = (
    ("IOP-N-101", says("complete", "completX")),
    ("IOP-N-102", says("conflict", "conflicX")),
    ("IOP-N-103", says("invalid_argument", "invalid_argumenX")),
    ("IOP-N-104", says("invalid_argument", "invalid_argumenX")),
    ("IOP-N-105", says("session_not_found", "session_not_founX")),
    ("IOP-N-106", Bend(hears=forgotten)),
    ("IOP-N-107", says("cancelled", "cancelleX")),
    ("IOP-N-108", says("not_found", "not_founX")),
    ("IOP-N-109", says("session_not_found", "session_not_founX")),
    ("IOP-N-110", says("unsupported", "unsupporteX")),
    ("IOP-N-111", says("tck-q-", "tck-z-")),
    ("IOP-N-118", Bend(says=nth("tck-q-", 2, lambda _: ()))),
    ("IOP-N-112", says("timeout", "timeouX")),
    ("IOP-N-113", says("workspace_outside_root", "workspace_outside_rooX")),
    ("IOP-N-114", Bend(hears=unset)),
    ("IOP-N-115", says("gateway.seq", "gateway.sex")),
    *((f"IOP-N-{id}", Bend(says=back(type))) for type, id in ENDS.items()),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_node_fails(
    node: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(node, id, bend)
