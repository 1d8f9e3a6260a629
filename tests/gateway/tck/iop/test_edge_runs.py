"""Edges that break the requirements of EdgeControl's runs, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.iop.bending import CANCEL, leave_out
from fleetgate.gateway.tck.iop.edge_runs import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, drop, hears, nth, says, swap, twice
from fleetgate.transports.api import LinkBroken

NO_CANCELS = Bend(says=leave_out(CANCEL))
OTHER_CODE = Bend(ends=LinkBroken("the peer closed with code 1008: internal: x", 1008))

MUTANTS: Mutants = (
    ("IOP-E-101", says("h\u00e9", "h\u00e8")),
    ("IOP-E-102", says("done", "donX")),
    ("IOP-E-103", Bend(says=drop("start"))),
    ("IOP-E-104", Bend(says=drop("tck-run"))),
    ("IOP-E-105", says("later", "lateX")),
    ("IOP-E-106", Bend(says=nth("start", 2, swap("start", "sturt")))),
    ("IOP-E-107", OTHER_CODE),
    ("IOP-E-108", OTHER_CODE),
    ("IOP-E-109", Bend(says=twice("tck-run"))),
    ("IOP-E-110", NO_CANCELS),
    ("IOP-E-110", says("cancelled", "cancelleX")),
    ("IOP-E-111", says("not_found", "not_founX")),
    ("IOP-E-112", NO_CANCELS),
    ("IOP-E-113", hears("gateway.seq", "gateway.sex")),
    ("IOP-E-114", NO_CANCELS),
    ("IOP-E-114", says("node lost", "node losX")),
    ("IOP-E-115", says("timeout", "timeouX")),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_edge_fails(
    edge: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(edge, id, bend)
