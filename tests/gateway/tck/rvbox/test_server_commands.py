"""Servers that break the requirements about commands, one each."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_fails, check_mutants
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.rvbox.bending import OTHER_CODE, change, leave_out, repeat
from fleetgate.gateway.tck.rvbox.server_commands import TOPIC
from fleetgate.gateway.tck.testing import Bend, Change, Mutants
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w


def full(frame: bytes) -> Sequence[bytes]:
    """A server that looks at no figures."""
    envelope = codec.decode(frame)
    payload = envelope.payload
    if isinstance(payload, w.ClientHello | w.ClientCapacity):
        payload = attrs.evolve(payload, max_running_commands=4, max_queued_commands=4)
    return (codec.encode(attrs.evolve(envelope, payload=payload)),)


def once() -> Change:
    """A server that acknowledges nothing again."""
    seen: set[bytes] = set()

    def bend(frame: bytes) -> Sequence[bytes]:
        if isinstance(codec.decode(frame).payload, w.EventAck):
            if frame in seen:
                return ()
            seen.add(frame)
        return (frame,)

    return bend


MUTANTS: Mutants = (
    ("RVBOX-S-040", Bend(says=change(w.CommandDispatch, command_revision=2))),
    ("RVBOX-S-040", Bend(says=change(w.CommandDispatch, issue_uuid="ABC"))),
    ("RVBOX-S-040", Bend(says=change(w.CommandDispatch, spec=w.ExecutionSpec()))),
    ("RVBOX-S-041", Bend(says=change(w.CommandDispatch, immutable_request_sha256=bytes(32)))),
    ("RVBOX-S-042", Bend(hears=full)),
    ("RVBOX-S-043", Bend(says=change(w.EventAck, through_event_seq=9))),
    ("RVBOX-S-043", Bend(says=leave_out(w.EventAck))),
    ("RVBOX-S-044", Bend(says=once())),
    ("RVBOX-S-045", OTHER_CODE),
    ("RVBOX-S-045", Bend(says=change(w.ReconcileRequest, targets=()))),
    ("RVBOX-S-046", Bend(says=change(w.ReconcileRequest, targets=()))),
    (
        "RVBOX-S-047",
        Bend(
            says=change(
                w.ReconcileResult,
                terminate_local_issue_uuids=(),
                discard_local_terminal_issue_uuids=(),
            )
        ),
    ),
    ("RVBOX-S-048", Bend(says=repeat(w.CommandDispatch))),
    ("RVBOX-S-049", Bend(says=change(w.SignalCommand, command_revision=2))),
    ("RVBOX-S-049", Bend(says=change(w.SignalCommand, signal=1))),
    ("RVBOX-S-050", Bend(says=change(w.StdinWrite, write_seq=1))),
    ("RVBOX-S-050", Bend(says=change(w.StdinWrite, data=b""))),
)


def test_each_requirement_has_its_mutant() -> None:
    check_mutants(TOPIC, MUTANTS)


@pytest.mark.parametrize(("id", "bend"), MUTANTS, ids=[id for id, _ in MUTANTS])
async def test_a_bent_server_fails(
    server: Runner, autojump_clock: MockClock, id: str, bend: Bend
) -> None:
    await check_fails(server, id, bend)
