"""Two ends of HTTP/2 in memory: ours, and h2 as it is."""

from __future__ import annotations

import pytest
from grpclib.protocol import Connection
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    UnknownFrameReceived,
)
from h2.exceptions import ProtocolError

from fleetgate.transports.grpc_http2 import (
    CALLS,
    CONNECTION_WINDOW,
    FRAME,
    H2,
    STREAM_WINDOW,
    NoHandler,
    Processor,
    grpclib_config,
    h2_config,
)
from fleetgate.transports.grpc_http2_testing import frame

HEAD = [(":method", "POST"), (":path", "/a.B/C"), (":scheme", "http"), (":authority", "x")]


def pair() -> tuple[H2, H2Connection]:
    """A server of ours, and a client."""
    ours, theirs = H2(h2_config(False)), H2Connection(H2Configuration(client_side=True))
    ours.initiate_connection()
    theirs.initiate_connection()
    exchange(ours, theirs)
    return ours, theirs


def exchange(ours: H2Connection, theirs: H2Connection) -> list[Event]:
    """Carry what is prepared; what happens at ours."""
    seen: list[Event] = []
    while True:
        there, here = ours.data_to_send(), theirs.data_to_send()
        if not there and not here:
            return seen
        theirs.receive_data(there)
        seen += ours.receive_data(here)


def test_a_peer_learns_our_bounds() -> None:
    _, theirs = pair()
    settings = theirs.remote_settings
    assert settings.initial_window_size == STREAM_WINDOW
    assert settings.max_frame_size == FRAME
    assert settings.max_concurrent_streams == CALLS
    assert grpclib_config().http2_connection_window_size == CONNECTION_WINDOW


def one_call_too_many(here: H2, there: H2Connection) -> list[Event]:
    for number in range(CALLS):
        there.send_headers(2 * number + 1, HEAD)
    exchange(here, there)
    there.remote_settings.max_concurrent_streams = CALLS + 1
    there.remote_settings.acknowledge()
    there.send_headers(2 * CALLS + 1, HEAD)
    return here.receive_data(there.data_to_send())


@pytest.mark.limit("transports/grpc_http2.CALLS")
def test_a_call_too_many_is_told_to_a_server() -> None:
    """RFC 9113, 5.1.2: an error of that call alone. Who serves refuses it, the others go on."""
    ours, theirs = pair()
    (event,) = one_call_too_many(ours, theirs)
    assert isinstance(event, RequestReceived)
    assert event.stream_id == 2 * CALLS + 1


def test_a_client_is_not_filled_with_calls_of_its_server() -> None:
    """Nobody there would refuse them."""
    ours, theirs = pair()
    ours.config.client_side = True
    with pytest.raises(ProtocolError):
        one_call_too_many(ours, theirs)


def test_a_call_lives_on_behind_a_goaway_of_the_peer() -> None:
    ours, theirs = pair()
    theirs.send_headers(1, HEAD)
    exchange(ours, theirs)
    theirs.close_connection(error_code=0, additional_data=b"so long", last_stream_id=0)
    (event,) = ours.receive_data(theirs.data_to_send())
    assert isinstance(event, ConnectionTerminated)
    assert (event.error_code, event.additional_data) == (0, b"so long")
    ours.send_headers(1, [(":status", "200")])
    ours.send_data(1, b"still here", end_stream=True)
    assert b"still here" in ours.data_to_send()


def test_our_goaway_leaves_calls_alive() -> None:
    ours, theirs = pair()
    theirs.send_headers(1, HEAD)
    exchange(ours, theirs)
    other = H2(h2_config(True))
    other.initiate_connection()
    other.send_headers(1, HEAD)
    other.data_to_send()
    other.receive_data(H2(h2_config(False)).data_to_send() + ours.go_away(11, b"too_many_pings"))
    other.send_data(1, b"more")
    assert b"more" in other.data_to_send()
    theirs.send_data(1, b"more")
    assert any(isinstance(event, DataReceived) for event in exchange(ours, theirs))


def test_events_go_where_they_are_wanted_and_others_nowhere() -> None:
    ours, theirs = pair()
    seen: list[Event] = []
    connection = Connection(ours, None, config=grpclib_config())  # type: ignore[arg-type]
    processor = Processor(connection, {RequestReceived: seen.append})
    theirs.send_headers(1, HEAD)
    unknown = frame(0xF0, 0, 0, b"grease")
    events = ours.receive_data(theirs.data_to_send() + unknown)
    assert any(isinstance(event, UnknownFrameReceived) for event in events)
    for event in events:
        processor.process(event)
    assert [type(event) for event in seen] == [RequestReceived]


def test_the_handler_that_grpclib_asks_for_does_nothing() -> None:
    handler = NoHandler()
    handler.accept(None, None, None)
    handler.cancel(None)
    handler.close()
