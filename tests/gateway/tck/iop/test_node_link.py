"""Nodes that break the requirements of a link, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.iop.bending import HEARTBEAT, REGISTERED, leave_out
from fleetgate.gateway.tck.iop.node_link import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import (
    STAYS,
    Bend,
    Mutants,
    before,
    hears,
    nth,
    says,
    swap,
)

GARBLES = Bend(hears=lambda frame: (frame or b"\xff\xff",))

MUTANTS: Mutants = (
    ("IOP-N-001", Bend(says=before("tck", b"\x12\x00"))),
    ("IOP-N-002", says("tck", "tkc")),
    ("IOP-N-003", Bend(says=nth("tck", 2, swap("tck", "tkc")))),
    ("IOP-N-004", says("node.config_applied", "node.config_applieX")),
    ("IOP-N-005", GARBLES),
    ("IOP-N-006", STAYS),
    ("IOP-N-007", STAYS),
    ("IOP-N-008", Bend(hears=leave_out(HEARTBEAT))),
    ("IOP-N-009", Bend(says=leave_out(HEARTBEAT))),
    ("IOP-N-010", STAYS),
    ("IOP-N-011", says("unsupported_adapter", "unsupported_adapteX")),
    ("IOP-N-012", hears("replaced", "replaceX")),
    ("IOP-N-013", Bend(hears=leave_out(REGISTERED))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_node_fails(
    node: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(node, id, bend)
