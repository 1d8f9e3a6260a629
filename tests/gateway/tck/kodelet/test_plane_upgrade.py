"""Control planes that let in whom they should not, or say so in other words."""

from __future__ import annotations

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fakes.options import GivenToken
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.kodelet.plane_upgrade import TOPIC
from fleetgate.gateway.tck.peer import Patience
from fleetgate.gateway.tck.proving import check_fails, check_mutants, open_controller
from fleetgate.gateway.tck.runner import Runner, Verdict
from fleetgate.gateway.tck.target import Wants, open_target
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, says
from fleetgate.gateway.testing import SeenHouse
from fleetgate.transports.api import Link
from fleetgate.transports.open import open_listener

OTHER = Bend(opens=lambda opening: attrs.evolve(opening, subprotocol="tck.other"))
BODIES = ("KODELET-C-103", "KODELET-C-105")

REFUSES_NOBODY = ("KODELET-C-102", "KODELET-C-104", "KODELET-C-108")
REFUSES_ALL = ("KODELET-C-101", "KODELET-C-106", "KODELET-C-107")


def test_each_requirement_has_its_mutant() -> None:
    mutants: Mutants = [(id, OTHER) for id in (*REFUSES_NOBODY, *REFUSES_ALL, *BODIES)]
    check_mutants(TOPIC, mutants)


async def test_another_subprotocol_is_found(plane: Runner, autojump_clock: MockClock) -> None:
    await check_fails(plane, "KODELET-C-101", OTHER)


async def keep(link: Link) -> None:
    async for _ in link:
        pass


@pytest.mark.parametrize(
    ("id", "status"),
    [*((id, None) for id in REFUSES_NOBODY), *((id, 403) for id in REFUSES_ALL)],
)
async def test_a_door_that_is_always_open_or_always_shut_fails(
    autojump_clock: MockClock, id: str, status: int | None
) -> None:
    kit = kit_of("kodelet", "control-plane")
    given, address = kit.given(token="t"), "memory:door"
    door = attrs.evolve(kit.options(given), authorize=lambda _: status)
    async with (
        open_listener(address, door) as listener,
        open_target(kit, address, kit.options(given), Wants({})) as target,
    ):
        target._nursery.start_soon(listener.serve, keep)
        await check_fails(Runner(kit, target, given), id, Bend())


@pytest.mark.parametrize(
    ("id", "bend"),
    [*((id, says('"success":false', '"success":true')) for id in BODIES), ("KODELET-C-019", STAYS)],
)
async def test_what_needs_http_or_a_websocket(id: str, bend: Bend) -> None:
    """The bodies of refusals, and binary messages. In real time, for they need a real socket."""
    kit, token = kit_of("kodelet", "control-plane"), "t"
    tokens = (Grant(GivenToken(value=token), "runner"),)
    settings = adapters(())["kodelet"].southbound.settings()
    url = "ws://127.0.0.1:0/api/runner/v1/connect"
    entry = Entry("south", "runners", "kodelet", url, True, settings, tokens=tokens)
    seen, given = SeenHouse(), kit.given(token=token)
    async with open_controller(entry, seen):
        address = str(seen.entries["runners"].named("listening")[0])
        async with open_target(kit, address, kit.options(given), Wants({})) as target:
            runner = Runner(kit, target, given)
            (requirement,) = (each for each in kit.requirements if each.id == id)
            result = await runner.attempt(requirement)
            assert result.verdict is Verdict.PASS, result.reason
            runner.patience = Patience(within=0.1)
            await check_fails(runner, id, bend)
