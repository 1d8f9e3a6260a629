"""Edges that break the requirements of EdgeControl's other calls, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.iop.edge_control import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner, Verdict
from fleetgate.gateway.tck.testing import Bend, Mutants, says
from fleetgate.transports.api import LinkBroken

OTHER_CODE = Bend(ends=LinkBroken("the peer closed with code 1008: internal: x", 1008))

MUTANTS: Mutants = (
    ("IOP-E-201", OTHER_CODE),
    ("IOP-E-202", says("raw", "raX")),
    ("IOP-E-203", says("unsupported", "unsupporteX")),
    ("IOP-E-204", says("timeout", "timeouX")),
    ("IOP-E-205", says("node.disconnected", "node.disconnecteX")),
    ("IOP-E-206", says("protocol_violation", "protocol_violatioX")),
    ("IOP-E-207", says("node.config_applied", "node.config_applieX")),
)


MIXED_UP = says("raw-1", "raw-0")


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, [*MUTANTS, ("IOP-E-208", MIXED_UP)])


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_edge_fails(
    edge: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(edge, id, bend)


async def test_an_edge_that_mixes_up_callers_fails(grpc_edge: Runner) -> None:
    """In real time, for only gRPC has connections of control clients."""
    (requirement,) = (each for each in grpc_edge.kit.requirements if each.id == "IOP-E-208")
    result = await grpc_edge.attempt(requirement)
    assert result.verdict is Verdict.PASS, result.reason
    await check_fails(grpc_edge, "IOP-E-208", MIXED_UP)
