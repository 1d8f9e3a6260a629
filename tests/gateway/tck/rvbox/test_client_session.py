"""Hosts that break the requirements of a session, one each."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.local.script import load_script
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.peer import Patience
from fleetgate.gateway.tck.proving import check_fails, check_mutants, open_worker
from fleetgate.gateway.tck.runner import Runner, Verdict
from fleetgate.gateway.tck.rvbox.bending import OTHER_CODE, change, leave_out, repeat
from fleetgate.gateway.tck.rvbox.client_session import TOPIC
from fleetgate.gateway.tck.target import Wants, open_target
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, nth
from fleetgate.protocols.rvbox import wire as w
from fleetgate.transports.api import LinkBroken

OPEN = Bend(says=change(w.AgentError, close_session=False))

EXAMPLES = Path(__file__).parents[4] / "examples" / "tck"
TEXT = "RVBOX-C-013"

MUTANTS: Mutants = (
    ("RVBOX-C-001", Bend(says=change(w.ClientHello, session="s"))),
    ("RVBOX-C-002", Bend(says=change(w.ClientHello, client_id="a b"))),
    ("RVBOX-C-002", Bend(says=change(w.ClientHello, supported_shells=()))),
    ("RVBOX-C-002", Bend(says=change(w.ClientHello, client_instance_id=""))),
    ("RVBOX-C-003", Bend(says=repeat(w.ClientHello))),
    ("RVBOX-C-004", Bend(says=change(w.ReconcileSnapshot, generation=1))),
    ("RVBOX-C-004", Bend(says=repeat(w.ReconcileSnapshot))),
    ("RVBOX-C-005", Bend(says=leave_out(w.ClientCapacity))),
    ("RVBOX-C-006", Bend(says=nth("host-1", 2, change(w.ClientHello, client_instance_id="b")))),
    ("RVBOX-C-007", OTHER_CODE),
    ("RVBOX-C-007", OPEN),
    ("RVBOX-C-007", STAYS),
    ("RVBOX-C-008", OTHER_CODE),
    ("RVBOX-C-009", OTHER_CODE),
    ("RVBOX-C-010", OPEN),
    ("RVBOX-C-011", STAYS),
    ("RVBOX-C-012", Bend(says=nth("", 4, leave_out(w.ReconcileSnapshot)))),
    ("RVBOX-C-014", Bend(ends=LinkBroken("the peer closed with code 1002", 1002))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, (*MUTANTS, (TEXT, Bend())))


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)


async def test_text_is_refused_on_a_real_websocket(folder: Path) -> None:
    """In real time, for a WebSocket's two ends do not run in step."""
    kit = kit_of("rvbox", "client")
    given = kit.given()
    script = load_script(str(EXAMPLES / "rvbox-client.toml"))
    options = kit.options(given)
    async with open_target(kit, "ws://127.0.0.1:0/agent", options, Wants({})) as target:
        settings = adapters(())["rvbox"].northbound.settings(client_id="host-1")
        entry = Entry("north", "server", "rvbox", target.address, False, settings)
        async with open_worker(entry, script, folder):
            runner = Runner(kit, target, given)
            (requirement,) = (each for each in kit.requirements if each.id == TEXT)
            assert (await runner.attempt(requirement)).verdict is Verdict.PASS
            runner.patience = Patience(within=0.1)
            await check_fails(runner, TEXT, Bend(stays=True))
