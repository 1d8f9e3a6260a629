"""Servers that break the requirements of a session, one each."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from trio.testing import MockClock

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.peer import Patience
from fleetgate.gateway.tck.proving import check_fails, check_mutants, open_controller
from fleetgate.gateway.tck.runner import Runner, Verdict
from fleetgate.gateway.tck.rvbox.bending import OTHER_CODE, change, leave_out, repeat
from fleetgate.gateway.tck.rvbox.client import RANGE
from fleetgate.gateway.tck.rvbox.server_session import TOPIC
from fleetgate.gateway.tck.target import Wants, open_target
from fleetgate.gateway.tck.testing import Bend, Mutants, says
from fleetgate.gateway.testing import SeenHouse
from fleetgate.protocols.rvbox import wire as w
from fleetgate.transports.api import LinkBroken

OPEN = Bend(says=change(w.AgentError, close_session=False))


MUTANTS: Mutants = (
    ("RVBOX-S-001", Bend(says=change(w.ServerWelcome, selected_protocol=w.ProtocolVersion(2)))),
    ("RVBOX-S-001", Bend(says=change(w.ServerWelcome, session=""))),
    ("RVBOX-S-002", Bend(says=leave_out(w.ReconcileRequest))),
    ("RVBOX-S-002", Bend(says=repeat(w.ReconcileRequest))),
    ("RVBOX-S-003", Bend(says=change(w.ReconcileResult, terminate_local_issue_uuids=("u",)))),
    ("RVBOX-S-004", Bend(says=change(w.ServerWelcome, generation=1))),
    ("RVBOX-S-005", OTHER_CODE),
    ("RVBOX-S-005", Bend(stays=True)),
    ("RVBOX-S-006", OTHER_CODE),
    ("RVBOX-S-007", OPEN),
    ("RVBOX-S-008", OTHER_CODE),
    ("RVBOX-S-009", OTHER_CODE),
    ("RVBOX-S-009", Bend(ends=LinkBroken("the peer closed with code 1002", 1002))),
    ("RVBOX-S-010", OPEN),
    ("RVBOX-S-011", OTHER_CODE),
    ("RVBOX-S-012", Bend(stays=True)),
    ("RVBOX-S-013", Bend(hears=change(w.ClientHello, supported_protocol=RANGE))),
    ("RVBOX-S-015", Bend(ends=LinkBroken("the peer closed with code 1002", 1002))),
    ("RVBOX-S-016", OTHER_CODE),
    ("RVBOX-S-016", Bend(stays=True)),
    ("RVBOX-S-017", OTHER_CODE),
    ("RVBOX-S-017", Bend(hears=change(w.ClientHello, client_instance_id="same"))),
    ("RVBOX-S-018", Bend(says=change(w.ReconcileResult, terminate_local_issue_uuids=()))),
    ("RVBOX-S-019", OTHER_CODE),
    ("RVBOX-S-020", OPEN),
    ("RVBOX-S-021", OTHER_CODE),
    ("RVBOX-S-021", Bend(says=change(w.AgentError, close_session=True))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, (*MUTANTS, (TEXT, Bend()), (PATH, Bend())))


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_server_fails(
    server: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(server, id, bend)


TEXT = "RVBOX-S-014"
PATH = "RVBOX-S-022"


@asynccontextmanager
async def at_our_websocket() -> AsyncGenerator[Runner, None]:
    """In real time, for a WebSocket's two ends do not run in step."""
    kit = kit_of("rvbox", "server")
    settings = adapters(())["rvbox"].southbound.settings()
    entry = Entry("south", "hosts", "rvbox", "ws://127.0.0.1:0/agent", True, settings)
    seen = SeenHouse()
    async with open_controller(entry, seen):
        address = str(seen.entries["hosts"].named("listening")[0])
        async with open_target(kit, address, kit.options(kit.given()), Wants({})) as target:
            yield Runner(kit, target, kit.given())


async def verdict_of(runner: Runner, id: str) -> Verdict:
    (requirement,) = (each for each in runner.kit.requirements if each.id == id)
    return (await runner.attempt(requirement)).verdict


async def test_text_is_refused_on_a_real_websocket() -> None:
    async with at_our_websocket() as runner:
        assert await verdict_of(runner, TEXT) is Verdict.PASS
        runner.patience = Patience(within=0.1)
        await check_fails(runner, TEXT, Bend(stays=True))


async def test_another_path_is_not_there_on_a_real_websocket() -> None:
    async with at_our_websocket() as runner:
        assert await verdict_of(runner, PATH) is Verdict.PASS
        await check_fails(runner, PATH, says("404", "101"))
