"""Control planes that take manifests which they must not take, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.plane_manifest import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, behind, drop, hears

NEVER_CLOSES = Bend(says=drop("run.close"))
CLOSE = b'{"jsonrpc":"2.0","id":"x","method":"run.close","params":{"runId":"x"}}'

MUTANTS: Mutants = (
    ("KODELET-C-304", Bend(says=behind("run.open", CLOSE))),
    ("KODELET-C-305", NEVER_CLOSES),
    ("KODELET-C-306", NEVER_CLOSES),
    ("KODELET-C-307", NEVER_CLOSES),
    ("KODELET-C-308", NEVER_CLOSES),
    ("KODELET-C-309", NEVER_CLOSES),
    ("KODELET-C-310", hears("9007199254740993", "9007199254740999")),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_control_plane_fails(
    plane: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(plane, id, bend)
