"""What other tests begin with, and the adapter as a whole."""

from fleetgate.protocols.agency import ADAPTER, wire
from fleetgate.protocols.agency import testing as t
from fleetgate.protocols.agency.codec import decode_client, decode_server
from fleetgate.protocols.api import WorkerReady
from fleetgate.protocols.testing import check_adapter


def test_the_adapter_keeps_its_promises_to_the_driver() -> None:
    assert ADAPTER.name == "agency"
    check_adapter(ADAPTER, north=t.CLIENT_FRAMES, south=t.SERVER_FRAMES, rounds=400)


def test_the_frames_are_valid_and_each_kind_is_there() -> None:
    said = {type(f.message) for f in map(_client, t.CLIENT_FRAMES)}
    assert said == {type(message) for message in t.MESSAGES}
    assert all(decode_server(frame) is not None for frame in t.SERVER_FRAMES)


def _client(frame: bytes) -> wire.ClientFrame:
    message = decode_client(frame, 3)
    assert isinstance(message, wire.ClientFrame)
    return message


def test_playbooks_that_have_said_hello() -> None:
    with t.agree(t.play_daemon(version_minor=4), 4) as play:
        assert play.connection is not None
    with t.admit(t.play_client()) as play:
        play.expect(WorkerReady())
