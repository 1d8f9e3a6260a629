"""The workers: bookkeeping."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core.errors import Fenced, InstanceConflict
from fleetgate.core.hub_testing import POOL, RecordingPort, start_run, worker_info
from fleetgate.core.ids import Epoch, WorkerId
from fleetgate.core.roster import Roster, Worker, remembered
from fleetgate.core.run import start
from fleetgate.core.slots import Slot
from fleetgate.core.worker import Liveness


def make_slot(name: str = "r", resume: str | None = None) -> Slot:
    spec = c.RunSpec(c.Prompt("x"), resume=resume)
    slot = Slot(start(start_run(name, spec), now=0).run)
    slot.run = attrs.evolve(slot.run, pool=POOL)
    return slot


def make_worker(name: str, free: int | None = None, runs: int = 0) -> Worker:
    worker = Worker(worker_info(name), Epoch(1), since=0)
    worker.liveness, worker.port, worker.free = Liveness.READY, RecordingPort(), free
    for number in range(runs):
        slot = make_slot(f"{name}-{number}")
        worker.runs[slot.run.id] = slot
    return worker


def make_roster(*workers: Worker) -> Roster:
    roster = Roster()
    for worker in workers:
        roster.arrive(worker)
    return roster


def test_a_run_goes_to_the_worker_with_the_fewest_runs_that_has_room() -> None:
    busy, full, best = make_worker("busy", runs=3), make_worker("full", 0), make_worker("b", 1, 2)
    roster = make_roster(busy, full, best)
    assert roster.choose(make_slot()) is best
    best.liveness = Liveness.DRAINING
    assert roster.choose(make_slot()) is busy
    busy.liveness = Liveness.AWAY
    assert roster.choose(make_slot()) is None
    assert not roster.has_room(POOL)
    best.liveness, best.reserved = Liveness.READY, 1
    assert not best.takes_runs


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, 0, 1])), max_size=6))
def test_of_those_with_the_fewest_it_is_the_one_that_came_first(
    drawn: list[tuple[int, int | None]],
) -> None:
    workers = [make_worker(str(n), free, runs) for n, (runs, free) in enumerate(drawn)]
    able = [worker for worker in workers if worker.takes_runs]
    fewest = min(able, key=lambda worker: len(worker.runs), default=None)
    assert make_roster(*workers).choose(make_slot()) is fewest


def test_nobody_is_looked_at_behind_one_that_has_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Worker] = []
    monkeypatch.setattr(Worker, "takes_runs", property(lambda w: looked.append(w) or True))
    busy, idle, other = make_worker("busy", runs=1), make_worker("idle"), make_worker("other")
    assert make_roster(busy, idle, other).choose(make_slot()) is idle
    assert looked == [busy, idle]


def test_a_run_of_a_session_goes_where_the_session_lives_or_waits() -> None:
    home, other = make_worker("home", 1, runs=5), make_worker("other")
    roster = make_roster(home, other)
    roster.sessions.open(make_slot(resume="s").run, "s", home.info.id)
    assert roster.choose(make_slot(resume="s")) is home
    assert roster.choose(make_slot(resume="unknown")) is other
    home.free = 0
    assert roster.choose(make_slot(resume="s")) is None
    assert roster.has_room(POOL)


def test_I7_only_the_newest_epoch_with_a_link_is_current() -> None:
    worker = make_worker("w")
    roster = make_roster(worker)
    assert roster.current(worker.info.id, Epoch(1)) is worker
    for id, epoch in ((worker.info.id, 0), (worker.info.id, 2), (WorkerId("none"), 1)):
        with pytest.raises(Fenced):
            roster.current(id, Epoch(epoch))
    worker.port = None
    with pytest.raises(Fenced):
        roster.current(worker.info.id, Epoch(1))


def test_only_an_exclusive_worker_refuses_another_live_instance() -> None:
    worker = make_worker("w")
    worker.info = worker_info("w", instance="one", exclusive=True)
    roster = make_roster(worker)
    roster.check_instance(worker.info)
    with pytest.raises(InstanceConflict):
        roster.check_instance(worker_info("w", instance="two", exclusive=True))
    roster.check_instance(worker_info("w", instance="two"))
    worker.port = None
    roster.check_instance(worker_info("w", instance="two", exclusive=True))


def test_a_worker_is_remembered_across_a_restart_as_away() -> None:
    worker = Worker(worker_info("w", grace=5), Epoch(7), since=0)
    back = remembered(worker.info.id, worker.note(), now=9)
    assert (back.epoch, back.grace, back.info.pool) == (7, 5, POOL)
    assert (back.liveness, back.takes_runs, back.since) == (Liveness.AWAY, False, 9)
    assert back.status().runs == 0
