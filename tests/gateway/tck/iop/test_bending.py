"""Bent link messages."""

from __future__ import annotations

from fleetgate.gateway.tck.iop.bending import CANCEL, HEARTBEAT, REGISTERED, leave_out
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w

MESSAGES = {
    REGISTERED: codec.encode_edge(w.RegisterResponse(True)),
    HEARTBEAT: codec.encode_edge(w.Heartbeat(1)),
    CANCEL: codec.encode_edge(w.CancelRequest("r")),
}


def test_one_kind_is_left_out() -> None:
    for number in MESSAGES:
        bend = leave_out(number)
        for other, frame in MESSAGES.items():
            assert bend(frame) == (() if other == number else (frame,))
    assert leave_out(HEARTBEAT)(b"") == (b"",)
