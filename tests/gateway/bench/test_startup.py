"""The bench of short commands: how it is run, and what its samples come to. Never how fast."""

from __future__ import annotations

import subprocess

import pytest

from fleetgate.gateway.bench import startup
from fleetgate.gateway.bench.startup import StartupPlan, StartupSample
from fleetgate.gateway.bench.task import BenchFailed


def test_every_command_runs_in_its_turn_and_the_first_round_does_not_count() -> None:
    samples = startup.measure(StartupPlan(rounds=1))
    assert [sample.command for sample in samples] == [*startup.COMMANDS, *startup.SERVICES]
    assert all(sample.taken > 0 for sample in samples)


def test_a_command_that_fails_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"broken": ("-c", "import sys; sys.exit('no such thing')")}
    monkeypatch.setattr(startup, "COMMANDS", broken)
    with pytest.raises(BenchFailed, match="broken ended with exit code 1: no such thing"):
        startup.measure(StartupPlan(rounds=1))


def test_a_command_that_does_not_end_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(words: tuple[str, ...], timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(subprocess, "run", never)
    with pytest.raises(BenchFailed, match="took more than 60 s"):
        startup.measure(StartupPlan(rounds=1))


def test_a_service_that_never_says_that_it_is_ready_has_no_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(startup, "SERVICES", {"mute": ("-c", "print('hello')")})
    with pytest.raises(BenchFailed, match="mute: it never said"):
        startup.measure(StartupPlan(rounds=1))


def test_a_figure_stands_beside_that_of_an_interpreter_that_does_nothing() -> None:
    first, second, third = startup.COMMANDS
    ms = 1_000_000
    samples = [
        StartupSample(name, taken * ms)
        for name, times in ((first, (10, 12, 8)), (second, (40, 50, 30)), (third, (20, 20, 20)))
        for taken in times
    ]
    base, version, help_ = startup.sum_up(samples)
    assert (base.p50, base.least, base.ratio) == (10, 8, 1)
    assert (version.command, version.p50, version.p90, version.ratio) == (second, 40, 50, 4)
    assert startup.row(help_) == (third, "20", "20", "20", "2.0")
    assert len(startup.HEAD) == len(startup.row(help_))
