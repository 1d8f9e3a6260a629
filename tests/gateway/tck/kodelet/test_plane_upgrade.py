"""Control planes that let in whom they should not, or say so in other words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.kodelet.plane_upgrade import TOPIC
from fleetgate.gateway.tck.peer import Patience
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner, Verdict
from fleetgate.gateway.tck.target import Wants, open_target
from fleetgate.gateway.tck.testing import STAYS, Bend, Mutants, says
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
async def test_what_needs_http_or_a_websocket(
    at_web_plane: Callable[[], AbstractAsyncContextManager[Runner]], id: str, bend: Bend
) -> None:
    """The bodies of refusals, and binary messages. In real time, for they need a real socket."""
    async with at_web_plane() as runner:
        (requirement,) = (each for each in runner.kit.requirements if each.id == id)
        result = await runner.attempt(requirement)
        assert result.verdict is Verdict.PASS, result.reason
        runner.patience = Patience(within=0.1)
        await check_fails(runner, id, bend)
