"""The frames of one command."""

from __future__ import annotations

from fleetgate.gateway.bench.speech import PLAIN_SESSION, Speech
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec import decode


def test_events_are_numbered_from_one_and_offsets_count_the_bodies() -> None:
    speech = Speech(("session", 7), w.CommandDispatch("uuid", command_revision=3))
    frames = [
        speech.running(10),
        speech.output(b"abc", 11),
        speech.output(b"de", 12),
        speech.exit(13),
    ]
    envelopes = [decode(frame) for frame in frames]
    assert {(e.session_id, e.session_generation) for e in envelopes} == {("session", 7)}
    stdout, revision = w.OutputStream.STDOUT, 3
    assert [e.payload for e in envelopes] == [
        w.CommandEvent("uuid", revision, 1, 10, w.LifecycleChanged(w.CommandLifecycle.RUNNING, 1)),
        w.CommandEvent("uuid", revision, 2, 11, w.OutputChunk(stdout, b"abc", 0)),
        w.CommandEvent("uuid", revision, 3, 12, w.OutputChunk(stdout, b"de", 3)),
        w.CommandEvent("uuid", revision, 4, 13, w.CommandExit(w.CommandLifecycle.EXITED, 0)),
    ]
    assert speech.seq == 4


def test_frames_outside_of_a_session_are_as_long_as_a_gateway_would_have_them() -> None:
    dispatch = w.CommandDispatch("u" * 36, command_revision=1)
    real = Speech(("ab" * 16, 1), dispatch).output(b"x" * 64, 1)
    assert len(Speech(PLAIN_SESSION, dispatch).output(b"x" * 64, 1)) == len(real)
