"""Clients that break the requirements about frames, one each."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.agency.client_frames import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import STAYS, Bend, Change, Mutants, hears


def broken_by(piece: bytes) -> Change:
    return lambda frame: (b"\0{nope",) if piece in frame else (frame,)


def shorter(frame: bytes) -> Sequence[bytes]:
    """A client without a limit."""
    return (frame[:-1],) if len(frame) > 1_048_577 else (frame,)


MUTANTS: Mutants = (
    ("AGENCY-C-020", Bend(hears=broken_by(b"\2"))),
    ("AGENCY-C-021", STAYS),
    ("AGENCY-C-022", hears('"request_id":4711', '"request_id":"x"')),
    ("AGENCY-C-023", hears('"payload":"t"', '"payload":7')),
    ("AGENCY-C-024", STAYS),
    ("AGENCY-C-024", hears('"gossip"', '"response","request_id":9,"type":"accepted"')),
    ("AGENCY-C-025", hears('"payload":null', '"payload":"x"')),
    ("AGENCY-C-026", hears('"ts":1', '"payload":1')),
    ("AGENCY-C-027", Bend(hears=broken_by(b" " * 1000))),
    ("AGENCY-C-028", Bend(hears=shorter)),
    ("AGENCY-C-029", hears('"payload":"t"', '"payload":7')),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_client_fails(
    client: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(client, id, bend)
