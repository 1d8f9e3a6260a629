"""One program a session: turns, idle times, and room for others."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.gateway.local.launch import Launch
from fleetgate.gateway.local.process import spawn
from fleetgate.gateway.local.sessions import Session, Sessions, open_sessions
from fleetgate.gateway.local.talker import Talker
from fleetgate.gateway.local.work import Declined

A, B, C = ("p", "a"), ("p", "b"), ("p", "c")


class Home:
    """A place for sessions, whose programs wait for ever or do what they are told."""

    def __init__(self, sessions: Sessions, path: Path) -> None:
        self.sessions = sessions
        self.path = path
        self.faults: list[BaseException] = []

    async def start(self, key: tuple[str, str], session: Session, script: str = "cat") -> Talker:
        launch = Launch(("sh", "-c", script), str(self.path), os.environ, True, False)
        return self.sessions.keep(key, session, await spawn(launch), "ground")

    async def used(self, key: tuple[str, str]) -> Talker:
        """A turn in which a program is started, if there is none."""
        async with self.sessions.turn(key) as session:
            return session.alive or await self.start(key, session)


@asynccontextmanager
async def home_in(path: Path, most: int = 2, idle: float = 100) -> AsyncIterator[Home]:
    faults: list[BaseException] = []
    async with open_sessions(path / "p", faults.append, most, idle) as sessions:
        home = Home(sessions, path)
        home.faults = faults
        yield home


async def test_a_program_is_kept_for_the_next_run_and_ends_with_the_place(tmp_path: Path) -> None:
    async with home_in(tmp_path) as home:
        assert A not in home.sessions
        talker = await home.used(A)
        assert A in home.sessions
        assert await home.used(A) is talker
        assert await home.used(B) is not talker
        await wait_all_tasks_blocked()
        assert len(os.listdir(tmp_path / "p")) == 2
    assert talker.ended.is_set()
    assert os.listdir(tmp_path / "p") == []


async def test_runs_of_a_session_take_turns(tmp_path: Path) -> None:
    order: list[int] = []
    async with home_in(tmp_path) as home, trio.open_nursery() as nursery:

        async def run(number: int) -> None:
            async with home.sessions.turn(A):
                order.append(number)

        async with home.sessions.turn(A):
            for number in range(3):
                nursery.start_soon(run, number)
                await wait_all_tasks_blocked()
            assert order == []
    assert order == [0, 1, 2]
    assert len(home.sessions) == 0


async def test_a_turn_that_is_broken_off_ends_the_program(tmp_path: Path) -> None:
    async with home_in(tmp_path) as home:
        with trio.CancelScope() as scope:
            async with home.sessions.turn(A) as session:
                talker = await home.start(A, session)
                scope.cancel()
                await trio.lowlevel.checkpoint()
        assert talker.ended.is_set()
        assert A not in home.sessions


async def test_one_that_waits_for_its_turn_and_gives_up_ends_nothing(tmp_path: Path) -> None:
    async with home_in(tmp_path) as home, home.sessions.turn(A) as session:
        talker = await home.start(A, session)
        with trio.CancelScope() as scope:
            scope.cancel()
            async with home.sessions.turn(A):
                raise AssertionError("it had no turn")
        assert session.alive is talker


async def test_an_idle_program_is_closed_and_a_used_one_is_not(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with home_in(tmp_path, idle=100) as home:
        talker = await home.used(A)
        mock_clock.jump(99)
        async with home.sessions.turn(A) as session:
            mock_clock.jump(1000)
            await wait_all_tasks_blocked()
            assert session.alive is talker
        mock_clock.jump(101)
        assert A not in home.sessions
        await talker.ended.wait()


async def test_a_program_that_ends_is_forgotten(tmp_path: Path) -> None:
    async with home_in(tmp_path) as home:
        async with home.sessions.turn(A) as session:
            talker = await home.start(A, session, "exit 3")
            await talker.ended.wait()
            assert talker.code == 3
            assert session.alive is None
        await wait_all_tasks_blocked()
        assert len(home.sessions) == 0


async def test_an_idle_program_of_a_session_that_is_ended_ends_and_no_other(
    tmp_path: Path,
) -> None:
    async with home_in(tmp_path) as home:
        talker, other = await home.used(A), await home.used(B)
        home.sessions.end("a")
        home.sessions.end("none")
        assert A not in home.sessions
        await talker.ended.wait()
        assert B in home.sessions
        assert not other.ended.is_set()
        assert await home.used(A) is not talker


async def test_a_program_at_work_ends_once_the_last_run_of_the_ended_session_is_over(
    tmp_path: Path,
) -> None:
    async with home_in(tmp_path) as home, trio.open_nursery() as nursery:
        seen: list[Talker | None] = []

        async def wait_for_a_turn() -> None:
            async with home.sessions.turn(A) as session:
                seen.append(session.alive)

        async with home.sessions.turn(A) as session:
            talker = await home.start(A, session)
            nursery.start_soon(wait_for_a_turn)
            await wait_all_tasks_blocked()
            home.sessions.end("a")
            assert session.alive is talker
            later = await home.used(A)
            assert later is not talker
        await talker.ended.wait()
        assert seen == [talker]
        assert not later.ended.is_set()


async def test_beyond_the_limit_the_one_that_was_used_longest_ago_goes(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with home_in(tmp_path, most=2) as home:
        first = await home.used(A)
        mock_clock.jump(1)
        second = await home.used(B)
        mock_clock.jump(1)
        await home.used(A)
        mock_clock.jump(1)
        await home.used(C)
        assert second.ended.is_set()
        assert not first.ended.is_set()
        assert len(home.sessions) == 2


async def test_where_all_are_at_work_another_is_declined(tmp_path: Path) -> None:
    async with home_in(tmp_path, most=1) as home, home.sessions.turn(A):
        with pytest.raises(Declined, match="resource_exhausted: all of the 1 sessions"):
            async with home.sessions.turn(B):
                raise AssertionError("it had no room")


async def test_a_fault_of_ours_ends_one_session_and_is_told(tmp_path: Path) -> None:
    async with home_in(tmp_path) as home:
        other = await home.used(B)
        await wait_all_tasks_blocked()
        for file in (tmp_path / "p").iterdir():
            file.unlink()
        (tmp_path / "p").rmdir()
        talker = await home.used(A)
        await talker.ended.wait()
        assert [type(error) for error in home.faults] == [FileNotFoundError]
        assert not other.ended.is_set()
        (tmp_path / "p").mkdir()
