"""The framings that carry this protocol, with real bytes: cases A3 and A5, and lines."""

import pytest

from fleetgate.protocols.agency import ADAPTER, wire
from fleetgate.protocols.agency.carriage import client_carriage, daemon_carriage
from fleetgate.protocols.agency.codec import decode_client
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.agency.settings import (
    AgencyNorthboundSettings,
    AgencySouthboundSettings,
)
from fleetgate.protocols.carriage import Carriage
from fleetgate.transports.framing import Framer, FramingError, make_framer

LIST = b'{"requestId":2,"type":"list_runs"}'
PREFIXED = bytes.fromhex("0000002300") + LIST
MESSAGE = wire.ClientFrame(2, wire.ListRuns())


def north(**settings: object) -> Framer:
    carriage = ADAPTER.northbound.carriage(
        AgencyNorthboundSettings(**settings)  # type: ignore[arg-type]
    )
    assert carriage.stream is not None
    return make_framer(carriage.stream, carriage.limit)


def south(**settings: object) -> Framer:
    carriage = ADAPTER.southbound.carriage(
        AgencySouthboundSettings(**settings)  # type: ignore[arg-type]
    )
    assert carriage.stream is not None
    return make_framer(carriage.stream, carriage.limit)


def test_both_framings_are_served_and_strict_parity_refuses_lines() -> None:
    """Case 3: which bytes are which is the transport's `kind` framing."""
    assert daemon_carriage(AgencyNorthboundSettings()).stream == "kind_or_lines"
    assert daemon_carriage(AgencyNorthboundSettings(strict_parity=True)).stream == "kind"
    assert daemon_carriage(AgencyNorthboundSettings()).limit == 1_048_577


def test_websockets_have_text_and_show_their_key_in_band() -> None:
    made = daemon_carriage(AgencyNorthboundSettings())
    assert made.websocket is not None
    assert (made.websocket.binary, made.websocket.loopback, made.in_band) == (False, True, True)


def test_whoever_shows_a_key_is_the_controller_that_it_stands_for() -> None:
    """The gateway looks at it before the connection does, and runs of nobody are refused."""
    made = daemon_carriage(AgencyNorthboundSettings()).websocket
    assert made is not None
    assert made.shown_token is not None
    key = "k" * 32
    offered = {"sec-websocket-protocol": f"mcp, agency-proxy.{key}"}
    assert made.shown_token(offered) == key
    assert made.shown_token({"authorization": f"Bearer {key}"}) is None


def test_a_client_has_one_framing() -> None:
    assert client_carriage(AgencySouthboundSettings()) == Carriage("kind", 1_048_577)
    lines = client_carriage(AgencySouthboundSettings(framing="lines"))
    assert lines == Carriage("lines", 1_048_577)


def messages(frames: list[bytes]) -> list[object]:
    return [decode_client(frame, 3) for frame in frames]


@pytest.mark.parametrize("strict", [False, True])
def test_case_a5_two_frames_in_one_write_and_one_in_many(strict: bool) -> None:
    framer = north(strict_parity=strict)
    assert messages(framer.feed(PREFIXED + PREFIXED)) == [MESSAGE, MESSAGE]
    found: list[bytes] = []
    for at in range(len(PREFIXED)):
        found += framer.feed(PREFIXED[at : at + 1])
    assert messages(found) == [MESSAGE]
    framer.eof()


def test_case_a5_the_end_inside_a_frame() -> None:
    framer = north()
    assert framer.feed(bytes.fromhex("0000000a") + b"abc") == []
    with pytest.raises(FramingError, match="middle of a frame"):
        framer.eof()


def test_case_a3_lines_are_refused_in_strict_parity_and_served_otherwise() -> None:
    with pytest.raises(FramingError):
        north(strict_parity=True).feed(LIST + b"\n")
    framer = north()
    assert messages(framer.feed(LIST + b"\n" + LIST + b"\n")) == [MESSAGE, MESSAGE]
    assert framer.encode(encode_client(MESSAGE)) == LIST + b"\n"


def test_a_peer_is_answered_in_its_own_framing() -> None:
    framer = north()
    framer.feed(PREFIXED)
    assert framer.encode(encode_client(MESSAGE)) == PREFIXED


def test_a_client_of_ours_speaks_the_framing_that_is_set() -> None:
    assert south().encode(encode_client(MESSAGE)) == PREFIXED
    assert south(framing="lines").encode(encode_client(MESSAGE)) == LIST + b"\n"


@pytest.mark.parametrize("framer", [north(), north(strict_parity=True), south()])
def test_a_length_above_the_limit_is_refused_before_its_body(framer: Framer) -> None:
    limit = 1_048_577
    with pytest.raises(FramingError):
        framer.feed((limit + 1).to_bytes(4, "big"))


def test_the_largest_frame_is_taken() -> None:
    framer = north()
    padded = b"\0" + LIST + b" " * (wire.MAX_TEXT - len(LIST))
    (frame,) = framer.feed(len(padded).to_bytes(4, "big") + padded)
    assert decode_client(frame, 3) == MESSAGE


@pytest.mark.parametrize("strict", [False, True])
def test_a_length_of_nothing_is_refused(strict: bool) -> None:
    with pytest.raises(FramingError):
        north(strict_parity=strict).feed(bytes(4))
