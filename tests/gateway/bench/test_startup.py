"""The bench of short commands: what it runs, and what its samples come to. Never how fast."""

from __future__ import annotations

import pytest

from fleetgate.gateway.bench import startup
from fleetgate.gateway.bench.startup import PROGRAMS, StartupPlan, StartupSample
from fleetgate.gateway.fakes.cli import FAKES


@pytest.mark.slow
def test_every_command_runs_in_its_turn_and_the_first_round_does_not_count() -> None:
    samples = startup.measure(StartupPlan(rounds=1))
    assert [sample.command for sample in samples] == [*PROGRAMS]
    assert all(sample.taken > 0 for sample in samples)


def test_every_fake_is_measured_those_that_dial_with_a_peer_of_ours() -> None:
    measured = {name: PROGRAMS[f"gateway fake {name} … ready"] for name in FAKES}
    peers = {name: program.dials.split()[2] for name, program in measured.items() if program.dials}
    assert peers == {
        "agency-client": "agency-daemon",
        "iop-node": "iop-edge",
        "kodelet-runner": "kodelet-control-plane",
        "rvbox-client": "rvbox-server",
    }


def test_a_figure_stands_beside_that_of_an_interpreter_that_does_nothing() -> None:
    first, second, third, *_ = PROGRAMS
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
