"""The parts of grpclib and h2 under a connection, with what they lack.

Read here in the order of use: settings, the state of HTTP/2, the dispatch of its events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from grpclib.config import Configuration
from grpclib.protocol import AbstractHandler, Connection, EventsProcessor
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, Event
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame, GoAwayFrame

STREAM_WINDOW: Final = 512 * 1024
"""Bytes that a peer may send on a call before some of them are read: 10 MB/s over a path of
50 ms, and what an unread call costs at most, beside one message."""

CONNECTION_WINDOW: Final = 4 << 20
"""The same for a connection. It is given back as bytes come, read or not: else calls that nobody
reads would stop those beside them."""

FRAME: Final = 64 * 1024
"""Bytes of a DATA frame that we take: four times HTTP/2's default, for a quarter of the work."""

CALLS: Final = 256
"""Calls at a time on one connection: more than a fleet's controllers need, and a bound on what a
single peer has at work here."""

HEADERS: Final = 16 * 1024
"""Bytes of a call's headers that we take; gRPC's own bound is half of that."""


def h2_config(client: bool) -> H2Configuration:
    """Headers as bytes: a peer's need not be text. h2's own checks of them are of HTTP, not of
    gRPC, and cost more than all else that is done with a small message."""
    return H2Configuration(
        client_side=client,
        header_encoding=None,
        validate_inbound_headers=False,
        validate_outbound_headers=False,
        normalize_inbound_headers=False,
        normalize_outbound_headers=False,
    )


def grpclib_config() -> Configuration:
    """Without grpclib's pings: ours have gRPC's rules on both sides."""
    config = Configuration(
        http2_connection_window_size=CONNECTION_WINDOW, http2_stream_window_size=STREAM_WINDOW
    )
    return config.__for_test__()


class H2(H2Connection):
    """h2's state of a connection, which outlives a GOAWAY in either direction.

    h2 holds a connection for over with the first GOAWAY. HTTP/2 does not: calls that run go on
    to their end, which is how a gRPC server drains.
    """

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config=config)
        values: dict[SettingCodes, int] = {
            SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
            SettingCodes.MAX_FRAME_SIZE: FRAME,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADERS,
            SettingCodes.MAX_CONCURRENT_STREAMS: CALLS,
        }
        if config.client_side:
            values[SettingCodes.ENABLE_PUSH] = 0
        self.local_settings = Settings(client=bool(config.client_side), initial_values=values)
        self.max_inbound_frame_size = FRAME
        self.decoder.max_header_list_size = HEADERS

    @property
    def open_inbound_streams(self) -> int:
        """At a server never so many that h2 would end the connection: a call too many is an error
        of that call alone (RFC 9113, 5.1.2), and whoever serves refuses it."""
        count: int = super().open_inbound_streams
        return count if self.config.client_side else min(count, CALLS - 1)

    def go_away(self, error: int = 0, reason: bytes = b"") -> bytes:
        """A GOAWAY for calls above those that have come. To be sent behind what is prepared."""
        frame = GoAwayFrame(0)
        frame.last_stream_id = self.highest_inbound_stream_id
        frame.error_code = error
        frame.additional_data = reason
        return frame.serialize()

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        event = ConnectionTerminated()
        event.error_code = frame.error_code
        event.last_stream_id = frame.last_stream_id
        event.additional_data = frame.additional_data or None
        return [], [event]


class NoHandler(AbstractHandler):
    """grpclib asks for one. Calls are made and ended by the processor itself."""

    def accept(self, stream: Any, headers: Any, release_stream: Any) -> None:
        """Never called."""

    def cancel(self, stream: Any) -> None:
        """Never called."""

    def close(self) -> None:
        """The connection has ended."""


class Processor(EventsProcessor):
    """grpclib's dispatch, to functions of ours. Events of no interest are let be: grpclib raises
    on frames that HTTP/2 tells everybody to ignore."""

    def __init__(
        self,
        connection: Connection,
        processors: dict[type[Event], Callable[[Any], None]],
    ) -> None:
        super().__init__(NoHandler(), connection)
        self._processors = processors

    def process(self, event: Event) -> None:
        process = self._processors.get(type(event))
        if process is not None:
            process(event)
