"""Where a bridge's time goes: what its samples come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import parts, profile
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.pairs.load import PairSample
from fleetgate.gateway.bench.pairs.saying import Work
from fleetgate.gateway.bench.profile import PLAN, QUICK, ProfilePlan, ProfileSample, plan_of
from fleetgate.gateway.bench.sampler import Spot
from fleetgate.gateway.bench.task import BenchFailed


def sample(south: str, seconds: float, **spots: float) -> ProfileSample:
    found = [Spot(room, f"{room}.work", spent) for room, spent in spots.items()]
    return ProfileSample("agency", south, 1000, seconds, found)


SAMPLES = [
    sample("rvbox", 0.010, core=0.002, trio=0.007),
    sample("rvbox", 0.020, core=0.004, trio=0.016),
    sample("agency", 0.001, journal=0.001),
]


def test_a_pair_is_told_by_room() -> None:
    rvbox, agency = profile.sum_up(SAMPLES)
    line = dict(zip(profile.HEAD, profile.row(rvbox), strict=True))
    assert (line["worker"], line["CPU µs/event"], line["core"], line["trio"], line["seen"]) == (
        *("rvbox", "15.0", "3.0", "11.5", "95%"),
    )
    assert line["protocols"] == "0.0"
    assert (agency.micros, agency.rooms["journal"], agency.seen) == pytest.approx((1, 1, 1))


def test_those_functions_are_shown_that_took_most() -> None:
    lines = [profile.function_row(each) for each in profile.functions(SAMPLES, most=1)]
    assert lines == [
        ("agency", "rvbox", "trio", "`trio.work`", "11.5"),
        ("agency", "agency", "journal", "`journal.work`", "1.0"),
    ]
    assert len(profile.functions(SAMPLES)) == 3
    text = profile.tables(SAMPLES)
    assert text.count("| agency | rvbox |") == 3


def test_one_pair_can_be_had_by_itself() -> None:
    assert plan_of("iop-kodelet", QUICK).pairs == (("iop", "kodelet"),)
    assert plan_of("iop-kodelet", PLAN).events == PLAN.events
    with pytest.raises(ValueError, match="unpack"):
        plan_of("iop", PLAN)


def test_a_pair_that_fails_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def run(north: str, south: str, work: Work, disk: Path) -> tuple[PairSample, list[Spot]]:
        if south == "rvbox":
            raise BenchFailed("too slow")
        return PairSample(work.events, 1.0, 0.5, 0), [Spot("core", "core.run.evolve", 0.4)]

    monkeypatch.setattr(profile, "sample_pair", run)
    losses = Losses()
    plan = ProfilePlan(pairs=(("iop", "rvbox"), ("iop", "iop")), events=100, rounds=1)
    (found,) = profile.measure(tmp_path, plan, losses)
    assert (found.south, found.events, found.seconds) == ("iop", 100, 0.5)
    assert losses.lines == ["profile of a bridge from iop to rvbox: too slow"]


def test_the_part_has_both_tables_and_keeps_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "measure", lambda disk, plan, losses: SAMPLES)
    found = parts.PARTS["profile"](Path("disk"), True)
    assert found.table == profile.tables(SAMPLES)
    assert [each.function for each in found.beside["functions"]] == [
        "trio.work",
        "core.work",
        "journal.work",
    ]
