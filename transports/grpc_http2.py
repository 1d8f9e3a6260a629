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
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event
from h2.exceptions import DenialOfServiceError, FrameTooLargeError, ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame, RstStreamFrame

STREAM_WINDOW: Final = 512 * 1024
"""Bytes that a peer may send on a call before some of them are read: 10 MB/s over a path of
50 ms, and what an unread call costs at most, beside one message."""

CONNECTION_WINDOW: Final = 4 << 20
"""The same for a connection. It is given back as bytes come, read or not: else calls that nobody
reads would stop those beside them."""

FRAME: Final = 64 * 1024
"""Bytes of a frame that we take: four times HTTP/2's default, for a quarter of the work. A longer
one ends the connection once its length is known."""

CALLS: Final = 256
"""Calls at a time on one connection: more than a fleet's controllers need, and a bound on what a
single peer has at work here."""

HEADERS: Final = 16 * 1024
"""Bytes of a call's headers that we take, and of those that have come where not all have; gRPC's
own bound is half of that. More end the connection."""


WRONG_VERSION: Final = (
    b"HTTP/1.1 505 HTTP Version Not Supported\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 35\r\nConnection: close\r\n\r\nthis port speaks gRPC, over HTTP/2\n"
)
"""For whoever comes with a browser, or with curl."""


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

    def receive_data(self, data: Any) -> list[Event]:
        """What these bytes bring about.

        h2 itself keeps whatever a frame's length says, up to 16 MiB, and looks at that length when
        all of it is there; and 64 frames of headers before it decodes them.

        Raises: `ProtocolError`.
        """
        events = super().receive_data(data)
        # h2 tells of neither in public; a test fails where another version calls them otherwise.
        whole = self.incoming_buffer
        begun, headers = whole._data, whole._headers_buffer  # pyright: ignore[reportPrivateUsage]
        if len(begun) >= 3 and int.from_bytes(begun[:3], "big") > self.max_inbound_frame_size:
            self._terminate_connection(ErrorCodes.FRAME_SIZE_ERROR)
            raise FrameTooLargeError("a frame is longer than any that is taken")
        if headers and sum(len(piece.data) for piece in headers) > HEADERS:
            self._terminate_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            raise DenialOfServiceError("the headers of a call do not end")
        return events

    def let_go(self) -> None:
        """Nothing more will be received: what h2 looks methods up in refers to itself, and would
        keep 20 KiB of a connection that has ended until Python looks for cycles."""
        self._frame_dispatch_table.clear()  # pyright: ignore[reportUnknownMemberType]

    def go_away(self, error: int = 0, reason: bytes = b"") -> bytes:
        """A GOAWAY for calls above those that have come. To be sent behind what is prepared."""
        frame = GoAwayFrame(0)
        frame.last_stream_id = self.highest_inbound_stream_id
        frame.error_code = error
        frame.additional_data = reason
        return frame.serialize()

    def _receive_headers_frame(self, frame: HeadersFrame) -> tuple[list[Frame], list[Event]]:
        # Pushes are off, and a server begins nothing else (RFC 9113, 5.1 and 8.4).
        if self.config.client_side and frame.stream_id % 2 == 0:
            raise ProtocolError("a server began a call")
        taken: tuple[list[Frame], list[Event]] = super()._receive_headers_frame(frame)
        return taken

    def _receive_rst_stream_frame(self, frame: RstStreamFrame) -> tuple[list[Frame], list[Event]]:
        if frame.stream_id > max(self.highest_inbound_stream_id, self.highest_outbound_stream_id):
            raise ProtocolError("a call was cut that was never made")
        taken: tuple[list[Frame], list[Event]] = super()._receive_rst_stream_frame(frame)
        return taken

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
        self.processors.clear()  # grpclib's own: methods of this object, which it would so keep
        self._processors = processors

    def process(self, event: Event) -> None:
        process = self._processors.get(type(event))
        if process is not None:
            process(event)

    def close(self, reason: str = "") -> None:
        """Tell nobody any more. A connection and its functions here hold each other: an ended one
        would stay until Python looks for cycles."""
        self._processors = {}
