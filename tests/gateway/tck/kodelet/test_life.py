"""Peers that ping too rarely, or wait for pongs too long or too short. Over a real WebSocket, since
nothing else has pings, and in virtual time: the clock waits until bytes that are under way between
two ends in one process have surely come."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.life import life_of
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Result, Runner, Verdict
from fleetgate.gateway.tck.testing import Bend, Mutants
from fleetgate.transports.api import LinkBroken
from fleetgate.transports.websocket_guard import Guard

At: TypeAlias = Callable[..., AbstractAsyncContextManager[Runner]]

UNDER_WAY = 0.05
"""Real seconds in which nothing has happened: then nothing is under way."""

WRONG = (
    ("401", {"dead_after": 200.0, "ping_every": 30.0}, "it is up after"),
    ("401", {"dead_after": 20.0, "ping_every": 10.0}, "it has left after"),
    ("402", {"dead_after": 200.0, "ping_every": 90.0}, "0 came"),
    ("402", {"dead_after": 200.0, "ping_every": 60.0}, "1 came"),
)
"""Which requirement a peer with these settings breaks, and what is said of it."""

MUTANTS: Mutants = [(f"KODELET-{side}-{number}", Bend()) for side in "RC" for number, *_ in WRONG]
"""That these settings bend: no frame could."""


@pytest.fixture(params=["R", "C"])
def side(request: pytest.FixtureRequest) -> str:
    """Whether it is a runner or a control plane."""
    return str(request.param)


@pytest.fixture
def at(side: str, at_web_runner: At, at_web_plane: At) -> At:
    """The kit at ours, of that side."""
    return at_web_runner if side == "R" else at_web_plane


async def tried(runner: Runner, id: str) -> Result:
    (requirement,) = (each for each in runner.kit.requirements if each.id == id)
    return await runner.attempt(requirement)


def test_each_requirement_has_its_mutant() -> None:
    for side in "RC":
        of = [(id, bend) for id, bend in MUTANTS if id[8] == side]
        check_mutants(life_of(f"KODELET-{side}"), of)


@pytest.mark.parametrize("number", ["401", "402"])
async def test_ours_meets_it(side: str, at: At, autojump_clock: MockClock, number: str) -> None:
    autojump_clock.autojump_threshold = UNDER_WAY
    async with at() as runner:
        result = await tried(runner, f"KODELET-{side}-{number}")
        assert result.verdict is Verdict.PASS, result.reason


@pytest.mark.parametrize(("number", "settings", "reason"), WRONG)
async def test_other_times_fail(
    side: str,
    at: At,
    autojump_clock: MockClock,
    number: str,
    settings: dict[str, Any],
    reason: str,
) -> None:
    autojump_clock.autojump_threshold = UNDER_WAY
    async with at(**settings) as runner:
        result = await tried(runner, f"KODELET-{side}-{number}")
    assert result.verdict is Verdict.FAIL
    assert reason in result.reason


async def test_an_end_with_a_close_frame_fails(
    side: str, at: At, autojump_clock: MockClock
) -> None:
    autojump_clock.autojump_threshold = UNDER_WAY
    said = LinkBroken("the peer closed with code 1002", 1002)
    async with at() as runner:
        await check_fails(runner, f"KODELET-{side}-401", Bend(ends=said))


async def test_pings_that_carry_something_are_noted(
    side: str, at: At, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    autojump_clock.autojump_threshold = UNDER_WAY
    lets_go = Guard._lets_go

    def with_payload(guard: Guard, header: bytes, payload: bytes) -> bool:
        gone = lets_go(guard, header, payload)
        guard.pings.last = b"life"
        return gone

    monkeypatch.setattr(Guard, "_lets_go", with_payload)
    async with at() as runner:
        result = await tried(runner, f"KODELET-{side}-402")
    assert (result.verdict, result.notes) == (Verdict.PASS, ("its pings carry something: b'life'",))


@pytest.mark.parametrize("carriage", ["runner", "plane"])
async def test_other_carriages_have_no_pings(
    runner: Runner,
    plane: Runner,
    autojump_clock: MockClock,
    carriage: str,
) -> None:
    at, side = (runner, "R") if carriage == "runner" else (plane, "C")
    result = await tried(at, f"KODELET-{side}-402")
    assert (result.verdict, result.elsewhere) == (Verdict.SKIP, True)
