"""Frames as bytes, judged by a library that reads them."""

from __future__ import annotations

import asyncio

from hpack import Decoder
from hyperframe.frame import PingFrame, SettingsFrame, WindowUpdateFrame

from fleetgate.transports.grpc_http2_testing import (
    PING,
    Wire,
    fields,
    frame,
    made_of,
    setting,
    window,
)


def test_frames_are_what_they_are_said_to_be() -> None:
    wire = Wire()
    wire.write(frame(PING, 1, 0, b"are you ") + setting((4, 7)))
    wire.write(window(3, 9))
    ping, settings, room = wire.frames()
    assert isinstance(ping, PingFrame)
    assert (ping.opaque_data, list(ping.flags)) == (b"are you ", ["ACK"])
    assert isinstance(settings, SettingsFrame)
    assert settings.settings == {4: 7}
    assert isinstance(room, WindowUpdateFrame)
    assert (room.stream_id, room.window_increment) == (3, 9)


def test_a_frame_may_lie_about_its_length() -> None:
    assert frame(PING, 0, 0, b"x", 9)[:3] == b"\0\0\x09"


def test_a_block_can_be_read_by_itself() -> None:
    pairs = [(":status", "200"), ("x-test", "1")]
    assert Decoder().decode(fields(*pairs)) == pairs


def test_a_transport_is_closed_in_either_way() -> None:
    for end in ("close", "abort"):
        wire = Wire()
        assert not wire.is_closing()
        getattr(wire, end)()
        assert wire.is_closing()
    assert wire.get_write_buffer_size() == 0


def test_a_connection_that_closes_without_a_word_has_ended() -> None:
    class Mute(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            wire.close()

    wire = Wire()
    assert made_of(Mute(), wire, b"x") == ("ended", None)
