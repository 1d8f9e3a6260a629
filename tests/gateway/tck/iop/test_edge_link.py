"""Edges that break the requirements of a link, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fakes.options import GivenToken
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.iop.bending import HEARTBEAT, leave_out
from fleetgate.gateway.tck.iop.edge_link import TOPIC
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.peer import Patience
from fleetgate.gateway.tck.proving import check_fails, check_mutants, open_controller
from fleetgate.gateway.tck.runner import Runner, Verdict
from fleetgate.gateway.tck.target import Wants, open_target
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, drop, nth, says, swap
from fleetgate.gateway.testing import SeenHouse
from fleetgate.transports.api import LinkBroken


def edge_at(address: str) -> Entry:
    """Our edge, at a real address."""
    settings = adapters(())["iop"].southbound.settings(control=True, controllers=("*",))
    tokens = (Grant(GivenToken(value="tck"), "node-1"),)
    return Entry("south", "nodes", "iop", address, True, settings, tokens=tokens)


GARBLES = Bend(hears=lambda frame: (frame or b"\xff\xff",))
OTHER_CODE = Bend(ends=LinkBroken("the peer closed with code 1002: x", 1002))

MUTANTS: Mutants = (
    ("IOP-E-001", Bend(says=drop("node-1"))),
    ("IOP-E-002", STAYS),
    ("IOP-E-002", OTHER_CODE),
    ("IOP-E-003", says("protocol_violation", "protocol_violatioX")),
    ("IOP-E-003", OTHER_CODE),
    ("IOP-E-004", STAYS),
    ("IOP-E-005", says("protocol_violation", "protocol_violatioX")),
    ("IOP-E-006", STAYS),
    ("IOP-E-007", GARBLES),
    ("IOP-E-008", says("replaced", "replaceX")),
    ("IOP-E-008", Bend(says=nth("node-1", 2, swap("node-1", "node-2")))),
    ("IOP-E-009", Bend(says=leave_out(HEARTBEAT))),
    ("IOP-E-010", says("unavailable", "unavailablX")),
    ("IOP-E-011", OTHER_CODE),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, (*MUTANTS, (TEXT, Bend())))


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_edge_fails(
    edge: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(edge, id, bend)


TEXT = "IOP-E-012"


async def test_text_is_refused_on_a_real_websocket() -> None:
    """In real time, for a WebSocket's two ends do not run in step."""
    kit = kit_of("iop", "edge")
    seen = SeenHouse()
    async with open_controller(edge_at("ws://127.0.0.1:0/iop"), seen):
        address = str(seen.entries["nodes"].named("listening")[0])
        async with open_target(kit, address, kit.options(kit.given()), Wants({})) as target:
            runner = Runner(kit, target, kit.given())
            (requirement,) = (each for each in kit.requirements if each.id == TEXT)
            result = await runner.attempt(requirement)
            assert result.verdict is Verdict.PASS, result.reason
            runner.patience = Patience(within=0.1)
            await check_fails(runner, TEXT, STAYS)


GRPC = ("IOP-E-001", "IOP-E-002", "IOP-E-003", "IOP-E-102", "IOP-E-107", "IOP-E-201", "IOP-E-203")


async def test_over_grpc_ends_are_statuses() -> None:
    """In real time: the few requirements that tell whether statuses are read as they should."""
    kit = kit_of("iop", "edge")
    seen = SeenHouse()
    async with open_controller(edge_at("grpc://127.0.0.1:0"), seen):
        address = str(seen.entries["nodes"].named("listening")[0])
        async with open_target(kit, address, kit.options(kit.given()), Wants({})) as target:
            runner = Runner(kit, target, kit.given(), Patience(quiet=0.05))
            for requirement in kit.requirements:
                if requirement.id in GRPC:
                    result = await runner.attempt(requirement)
                    assert result.verdict is Verdict.PASS, (requirement.id, result.reason)
            wrong = Bend(ends=LinkBroken("the peer ended the call with ABORTED (10): x: y", 10))
            await check_fails(runner, "IOP-E-003", wrong)
            await check_fails(runner, "IOP-E-107", wrong)
