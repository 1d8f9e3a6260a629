"""Heartbeats, row by row (W 8.1, 15.11), and the rule of three omissions."""

from typing import Any

import pytest

from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.structs import read
from fleetgate.protocols.kodelet.wire import Heartbeat, ManifestChanged


def alive() -> Liveness:
    return Liveness("runner_x", 1, last=10, digest="d")


def beat(**members: Any) -> Heartbeat:
    return read(Heartbeat, {"runnerId": "runner_x", "generation": 1, **members})


@pytest.mark.parametrize(
    "members",
    [
        {"state": "future"},
        {"state": ""},
        {"state": "idle", "activeRunIds": ["zz"]},
        {"state": "running"},
        {"state": "stopping"},
        {"state": "running", "activeRunIds": ["a", "a"]},
        {"state": "running", "activeRunIds": ["a", " "]},
        {"state": "running", "activeRunId": "b", "activeRunIds": ["a"]},
    ],
)
def test_invalid_ones_refresh_life_erase_the_digest_and_change_nothing_else(members: Any) -> None:
    runner = alive()
    assert runner.hear(beat(**members), 20) is None
    assert (runner.last, runner.digest, runner.ready) == (20, "", False)


@pytest.mark.parametrize(
    "members", [{"generation": 2}, {"generation": 0}, {"runnerId": ""}, {"runnerId": "other"}]
)
def test_those_of_another_generation_change_nothing(members: Any) -> None:
    runner = alive()
    assert runner.hear(beat(state="idle", **members), 20) is None
    assert runner == alive()


@pytest.mark.parametrize(
    ("members", "runs", "error"),
    [
        ({"state": "idle"}, set(), False),
        ({"state": "idle", "activeRunIds": []}, set(), False),
        ({"state": "running", "activeRunId": "a"}, {"a"}, False),
        ({"state": "stopping", "activeRunId": "a", "activeRunIds": ["a", "b"]}, {"a", "b"}, False),
        ({"state": "error"}, set(), True),
        ({"state": "error", "activeRunIds": ["a"]}, {"a"}, True),
    ],
)
def test_valid_ones(members: Any, runs: set[str], error: bool) -> None:
    runner = alive()
    assert runner.hear(beat(manifestDigest=" e ", **members), 20) == runs
    assert (runner.ready, runner.error, runner.digest) == (True, error, "e")


def test_an_error_lasts_until_a_better_heartbeat() -> None:
    runner = alive()
    runner.hear(beat(state="error"), 1)
    runner.hear(beat(state="nonsense"), 2)
    assert runner.error
    runner.hear(beat(state="idle"), 3)
    assert not runner.error


def test_a_changed_manifest_is_noted_until_a_run_opens_with_it() -> None:
    runner = alive()
    runner.change(ManifestChanged("runner_x", 2, "e"))
    runner.change(ManifestChanged("runner_x", 1, "d"))
    assert not runner.manifest_changed
    runner.change(ManifestChanged("runner_x", 1, "e"))
    runner.change(ManifestChanged("runner_x", 1, "e"))
    assert (runner.manifest_changed, runner.digest) == (True, "e")
    runner.opened("e")
    assert not runner.manifest_changed


def test_three_in_a_row_and_opening_ones_never() -> None:
    runner = alive()
    held = {"a": RunPhase.RUNNING, "b": RunPhase.OPENING, "c": RunPhase.CANCELED}
    none: frozenset[str] = frozenset()
    assert runner.missing(none, held, 3) == []
    assert runner.missing(frozenset({"c"}), held, 3) == []
    assert runner.missing(none, held, 3) == ["a"]
    assert runner.missing(none, {}, 3) == []
    assert runner.omitted == {}
