"""Hosts that break the requirements about what is kept, one each."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import OTHER_CODE, change, lifecycle
from fleetgate.gateway.tck.rvbox.client_keeping import TOPIC
from fleetgate.gateway.tck.rvbox.talk import new_uuid
from fleetgate.gateway.tck.testing import Bend, Mutants
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w


def forgetful() -> Bend:
    """A host that knows on a link only what was dispatched there: what it is given again on the
    next one it executes again."""
    given: dict[str, str] = {}
    alias: dict[str, str] = {}

    def hears(frame: bytes) -> Sequence[bytes]:
        envelope = codec.decode(frame)
        dispatch = envelope.payload
        if not isinstance(dispatch, w.CommandDispatch):
            return (frame,)
        if given.setdefault(dispatch.issue_uuid, envelope.session_id) == envelope.session_id:
            return (frame,)
        other = new_uuid()
        alias[other] = dispatch.issue_uuid
        payload = attrs.evolve(dispatch, issue_uuid=other)
        return (codec.encode(attrs.evolve(envelope, payload=payload)),)

    def says(frame: bytes) -> Sequence[bytes]:
        envelope = codec.decode(frame)
        said = envelope.payload
        if not isinstance(said, w.CommandAccepted | w.CommandEvent) or said.issue_uuid not in alias:
            return (frame,)
        payload = attrs.evolve(said, issue_uuid=alias[said.issue_uuid])
        return (codec.encode(attrs.evolve(envelope, payload=payload)),)

    return Bend(says=says, hears=hears)


MUTANTS: Mutants = (
    ("RVBOX-C-041", Bend(says=change(w.ReconcileSnapshot, retained_commands=()))),
    ("RVBOX-C-042", Bend(hears=change(w.ReconcileResult, terminate_local_issue_uuids=()))),
    ("RVBOX-C-043", Bend(hears=change(w.ReconcileResult, discard_local_terminal_issue_uuids=()))),
    ("RVBOX-C-044", Bend(says=change(w.ReconcileSnapshot, retained_commands=()))),
    ("RVBOX-C-045", OTHER_CODE),
    ("RVBOX-C-045", Bend(says=lifecycle(1, 2))),
    ("RVBOX-C-046", Bend(says=change(w.CommandExit, lifecycle=10))),
    ("RVBOX-C-047", forgetful()),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)
