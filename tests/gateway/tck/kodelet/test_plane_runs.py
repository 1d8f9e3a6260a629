"""Control planes that break the requirements of runs, one each."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.kodelet.plane_runs import TOPIC
from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.testing import Bend, Mutants, behind, drop, hears, says, twice

NEVER_CLOSES = Bend(says=drop("run.close"))
CALL = b'{"jsonrpc":"2.0","id":"x","method":"tool.execute","params":{"runId":"x"}}'

MUTANTS: Mutants = (
    ("KODELET-C-301", says('"clientCapabilities"', '"capabilities"')),
    ("KODELET-C-301", says('"conversationId":"c', '"conversationId":"","c":"c')),
    ("KODELET-C-302", says('"server:', '"s:')),
    ("KODELET-C-303", hears('"state":"error"', '"state":"idle"')),
    ("KODELET-C-311", says('"toolCallId":"t1"', '"toolCallId":""')),
    ("KODELET-C-312", says('"input":{}', '"input":{},"wantUpdates":true')),
    ("KODELET-C-313", Bend(says=drop("operation.cancel"))),
    ("KODELET-C-313", says('"requestId":"server:', '"requestId":"s:')),
    ("KODELET-C-314", NEVER_CLOSES),
    ("KODELET-C-315", Bend(says=drop("run.cancel"))),
    ("KODELET-C-315", Bend(says=behind("run.cancel", CALL))),
    ("KODELET-C-316", Bend(says=twice("run.open"))),
    (
        "KODELET-C-317",
        hears('"capabilities":{},"kodelet', '"capabilities":{"concurrentRuns":true},"kodelet'),
    ),
    ("KODELET-C-318", hears('"state":"idle"', '"state":"future"')),
    ("KODELET-C-319", says('"status"', '"state"')),
    ("KODELET-C-320", says('"latestSequence"', '"latest"')),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_control_plane_fails(
    plane: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(plane, id, bend)
