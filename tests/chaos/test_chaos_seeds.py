"""Trials in virtual time: some seeds of each pair, and that a trial can be believed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import attrs
import chaos_world
import pytest
from chaos_allowance import POWERS
from chaos_life import Disk, Life, open_mortal
from chaos_world import Trial, World, try_seed

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.receiver import Receiver

PAIRS = [f"{north}-{south}" for north, south in product(POWERS, POWERS)]
HERE = Path(__file__).parent
DIGEST = """
import sys
sys.path.insert(0, sys.argv[1])
from test_chaos_seeds import digest
from chaos_world import try_seed
print(digest(try_seed(sys.argv[2], sys.argv[3])))
"""


def digest(trial: Trial) -> str:
    """What was seen in a trial, all of it. Sets are put in order: theirs is the process's own."""
    evidence = [
        (sorted(each.ends), attrs.evolve(each, ends=frozenset())) for each in trial.evidence
    ]
    return hashlib.sha256(repr(evidence).encode()).hexdigest()


@pytest.mark.parametrize("pair", PAIRS)
def test_what_was_promised_holds_whatever_strikes(pair: str) -> None:
    """`just chaos-seeds` plays many more."""
    trial = try_seed(pair, "5")
    assert not trial.problems, trial.report()
    assert trial.tally.runs
    assert trial.tally.faults


@pytest.mark.parametrize(
    ("state", "began", "wrong"),
    [
        (RunState.CANCELED, 2.0, ["t: its worker began it at 2.00, and it was canceled by 1.50"]),
        (RunState.CANCELED, 1.0, []),
        (RunState.LOST, 2.0, []),
    ],
)
def test_work_that_begins_behind_a_cancel_is_found_out(
    state: RunState, began: float, wrong: list[str]
) -> None:
    world = Mock(ended={"t": 1.5})
    world.port.began = {"t": began, "still open": 3.0}
    world.bridge.of_kind.return_value = [e.RunFinished(Outcome(state, Reason.ERROR))]
    world._canceled = partial(World._canceled, world)
    assert World.for_nobody(world) == wrong


@pytest.mark.parametrize("pair", ["agency-rvbox", "iop-kodelet"])
def test_a_link_that_twists_what_it_carries_ends_itself_and_nothing_else(pair: str) -> None:
    trial = try_seed(pair, "9", twisted=True)
    assert not trial.problems, trial.report()


@pytest.mark.parametrize(("pair", "seed"), [("rvbox-iop", "7")])
def test_a_seed_is_the_same_trial_in_every_process(pair: str, seed: str) -> None:
    found = {digest(try_seed(pair, seed)) for _ in range(2)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", DIGEST, str(HERE), pair, seed],
        env={**os.environ, "PYTHONHASHSEED": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {done.stdout.strip()} == found


def test_a_journal_that_loses_what_it_has_answered_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The trials must be able to fail: here the last event of each open run dies with the gateway,
    as where a disk answers before it has written."""
    disks: list[Disk] = []
    die = Life.die

    def keep(disk: Disk, *more: Any) -> Any:
        disks.append(disk)
        return open_mortal(disk, *more)

    def forget(self: Life) -> None:
        die(self)
        for kept in disks[-1].runs.values():
            if kept.row.open and kept.events:
                kept.events.pop()
                kept.row = attrs.evolve(kept.row, last_seq=kept.row.last_seq - 1)

    monkeypatch.setattr(chaos_world, "open_mortal", keep)
    monkeypatch.setattr(Life, "die", forget)
    assert any(try_seed("agency-agency", str(seed)).problems for seed in range(6))


def test_a_gateway_that_knows_no_repeats_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Receiver.record

    def unnumbered(self: Receiver, id: Any, epoch: Any, reports: Any) -> Any:
        as_new = [
            (run, [(events, None, stamp) for events, _, stamp in heard]) for run, heard in reports
        ]
        return record(self, id, epoch, as_new)

    monkeypatch.setattr(Receiver, "record", unnumbered)
    assert any(try_seed("agency-rvbox", str(seed)).problems for seed in range(6))
