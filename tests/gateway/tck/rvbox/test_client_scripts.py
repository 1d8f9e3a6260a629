"""Hosts that break the requirements about scripts, one each."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import (
    LEAVES,
    OTHER_CODE,
    change,
    is_a,
    leave_out,
    lifecycle,
    rejected,
)
from fleetgate.gateway.tck.rvbox.client_scripts import TOPIC, sum_of
from fleetgate.gateway.tck.testing import Bend, Mutants
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code


def forgets_all() -> Bend:
    """A host that begins an upload anew behind any error: the next chunk is none that fits."""
    complained = False

    def says(frame: bytes) -> Sequence[bytes]:
        nonlocal complained
        complained = complained or is_a(w.AgentError)(frame)
        return (frame,)

    def hears(frame: bytes) -> Sequence[bytes]:
        return change(w.ScriptChunk, offset=9)(frame) if complained else (frame,)

    return Bend(says=says, hears=hears)


def commits_anything() -> Bend:
    """A host that looks at no commit: what has come is the script."""
    came: dict[str, bytes] = {}
    announced: dict[str, w.ScriptRef] = {}

    def hears(frame: bytes) -> Sequence[bytes]:
        payload = codec.decode(frame).payload
        if isinstance(payload, w.CommandDispatch) and isinstance(payload.spec.program, w.ScriptRef):
            announced[payload.issue_uuid] = payload.spec.program
        if isinstance(payload, w.ScriptChunk):
            came[payload.issue_uuid] = payload.data
        if isinstance(payload, w.ScriptCommit):
            ref, data = announced[payload.issue_uuid], came[payload.issue_uuid]
            if len(data) == ref.size_bytes:
                right = change(w.ScriptCommit, size_bytes=len(data), sha256=sum_of(data))
                return right(frame)
        return (frame,)

    return Bend(hears=hears)


MUTANTS: Mutants = (
    ("RVBOX-C-060", OTHER_CODE),
    ("RVBOX-C-060", forgets_all()),
    ("RVBOX-C-060", Bend(says=lifecycle(1, 2))),
    ("RVBOX-C-061", OTHER_CODE),
    ("RVBOX-C-061", LEAVES),
    ("RVBOX-C-062", OTHER_CODE),
    ("RVBOX-C-062", commits_anything()),
    ("RVBOX-C-063", OTHER_CODE),
    ("RVBOX-C-063", Bend(says=change(w.AgentError, close_session=True))),
    ("RVBOX-C-064", rejected(Code.CHECKSUM_MISMATCH)),
    ("RVBOX-C-064", Bend(says=change(w.CommandAccepted, accepted=True))),
    ("RVBOX-C-065", Bend(says=change(w.ReconcileSnapshot, retained_commands=()))),
    ("RVBOX-C-065", Bend(says=leave_out(w.CommandExit))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_host_fails(
    host: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(host, id, bend)
