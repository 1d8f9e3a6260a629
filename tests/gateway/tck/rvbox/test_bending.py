"""Bent envelopes."""

from __future__ import annotations

from fleetgate.gateway.tck.rvbox.bending import change, is_a, leave_out, lifecycle, repeat
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w


def envelope(payload: w.Payload) -> bytes:
    return codec.encode(w.Envelope("s", 1, payload))


QUEUED = w.CommandEvent("u", 1, 1, None, w.LifecycleChanged(2))
CAPACITY = envelope(w.ClientCapacity(1, 2, 3, 4))


def test_members_change_in_payloads_and_in_events() -> None:
    bend = change(w.ClientCapacity, session="t", running_commands=9)
    (frame,) = bend(CAPACITY)
    assert codec.decode(frame) == w.Envelope("t", 1, w.ClientCapacity(9, 2, 3, 4))
    (frame,) = lifecycle(2, 3)(envelope(QUEUED))
    assert codec.decode(frame).payload == w.CommandEvent("u", 1, 1, None, w.LifecycleChanged(3))
    assert change(w.LifecycleChanged, pid=7)(CAPACITY) == (CAPACITY,)


def test_payloads_and_events_are_told_from_others() -> None:
    assert is_a(w.ClientCapacity)(CAPACITY)
    assert is_a(w.LifecycleChanged)(envelope(QUEUED))
    assert not is_a(w.AgentError)(CAPACITY)
    assert not is_a(w.AgentError)(b"\xff\xff")


def test_frames_are_left_out_or_repeated() -> None:
    assert leave_out(w.ClientCapacity)(CAPACITY) == ()
    assert repeat(w.ClientCapacity)(CAPACITY) == (CAPACITY, CAPACITY)
    assert leave_out(w.LifecycleChanged)(envelope(QUEUED)) == ()
    assert lifecycle(4, 5)(envelope(QUEUED)) == (envelope(QUEUED),)


def test_what_is_no_envelope_passes() -> None:
    assert leave_out(w.ClientCapacity)(b"\xff") == (b"\xff",)
