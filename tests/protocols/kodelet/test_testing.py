"""What other tests begin with, and the adapter as a whole."""

from fleetgate.protocols.kodelet import ADAPTER
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.codec import decode
from fleetgate.protocols.testing import check_adapter


def test_the_adapter_keeps_its_promises_to_the_driver() -> None:
    assert ADAPTER.name == "kodelet"
    check_adapter(ADAPTER, north=t.NORTH_FRAMES, south=t.SOUTH_FRAMES, rounds=400)


def test_the_frames_are_valid() -> None:
    for frame in (*t.NORTH_FRAMES, *t.SOUTH_FRAMES):
        decode(frame)


def test_playbooks_that_have_registered() -> None:
    with t.ready(t.play_control_plane()) as play:
        assert t.running(play) == "server:2"
    with t.attached(t.play_runner()) as play:
        assert t.open_run(play)["runId"] == "r1"
    assert not t.is_cut(())
    assert t.rest(()) == []
