"""Whole trials, with their processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.gateway.bench.pairs import trial
from fleetgate.gateway.bench.pairs.places import PROTOCOLS
from fleetgate.gateway.bench.pairs.saying import Work
from fleetgate.gateway.bench.rooms import ROOMS
from fleetgate.gateway.bench.sampler import THREADS
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed


@pytest.mark.parametrize("kind", Kind)
async def test_a_trial_ends_with_a_sample_of_every_event_and_leaves_nothing(
    kind: Kind, tmp_path: Path
) -> None:
    sample = await trial.run_pair(kind, "rvbox", "agency", Work(2, 100, 64), tmp_path)
    assert (sample.events, sample.arrived) == (100, 6400)
    assert sample.seconds > 0
    assert os.listdir(tmp_path) == []


async def test_a_bridge_tells_where_its_time_goes(tmp_path: Path) -> None:
    sample, spots = await trial.sample_pair("agency", "rvbox", Work(2, 2_000), tmp_path)
    assert (sample.events, sample.arrived) == (2_000, 512_000)
    rooms = {spot.room for spot in spots}
    assert rooms <= set(ROOMS)
    assert rooms & {"core", "protocols", "transports"}, (
        "some of 2,000 events were seen on their way"
    )
    assert THREADS in [(spot.room, spot.function) for spot in spots]
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("south", PROTOCOLS)
@pytest.mark.parametrize("north", PROTOCOLS)
async def test_each_pair_carries_each_text(north: str, south: str, tmp_path: Path) -> None:
    sample = await trial.run_pair(Kind.BRIDGE, north, south, Work(2, 40, 64), tmp_path)
    # A controller that is shown snapshots may see the last of them only. And a worker that shows
    # each text alone has a result which is no more than the last of them: it is shown behind all.
    snapshots = north == south == "kodelet"
    least, most = (64, 42 * 64) if snapshots else (40 * 64, 40 * 64)
    assert least <= sample.arrived <= most


async def test_a_subject_that_cannot_start_fails_the_trial_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_SUBJECT", "fleetgate.gateway.bench.no_such_module")
    with pytest.raises(BenchFailed, match="relay from agency to agency") as raised:
        await trial.run_pair(Kind.RELAY, "agency", "agency", Work(0, 1), tmp_path)
    assert "no_such_module" in str(raised.value)
