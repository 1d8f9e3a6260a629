"""One HTTP/2 connection: grpclib's protocol between a transport of asyncio and calls of ours.

Nothing here waits: a transport calls in with bytes, calls are told of what they hold, and links
call out with what they send. All of it in trio's thread.
"""

from __future__ import annotations

from asyncio import BaseTransport, Transport
from collections.abc import Callable, Mapping
from typing import Any, Final

import trio
from grpclib.protocol import Connection, H2Protocol
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingAckReceived,
    PingReceived,
    RemoteSettingsChanged,
    RequestReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import H2Error, ProtocolError

from fleetgate.transports.grpc_call import Call
from fleetgate.transports.grpc_http2 import (
    CONNECTION_WINDOW,
    H2,
    WRONG_VERSION,
    NoHandler,
    Processor,
    grpclib_config,
    h2_config,
)
from fleetgate.transports.grpc_metadata import (
    Headers,
    decoded,
    malformed,
    malformed_answer,
    malformed_trailers,
)
from fleetgate.transports.grpc_parting import abort, close
from fleetgate.transports.stream import CHUNK

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client of HTTP/2 says first."""

UNSENT: Final = 1 << 20
"""Bytes that wait for a peer that does not read. Messages stop at `CHUNK`; beyond that there are
only answers that it asks for, to pings and settings, and does not take."""

HELD: Final = 64 << 20
"""Bytes of one connection's calls that nobody has read: sixteen messages of 4 MiB. The call that
goes above ends with RESOURCE_EXHAUSTED."""


def _nothing() -> None:
    """Nobody wants to know."""


class GrpcConnection(H2Protocol):
    """A connection, client's or server's."""

    def __init__(self, *, client: bool) -> None:
        super().__init__(NoHandler(), grpclib_config(), h2_config(client))
        self.client = client
        self.h2 = H2(self.h2_config)
        self.calls: dict[int, Call] = {}
        self.waiting: set[Call] = set()
        self.ready = trio.Event()
        """The peer has shown that it speaks HTTP/2."""
        self.lost = trio.Event()
        self.why = ""
        """How it was lost; holds no payload."""
        self.held = 0
        """Bytes that came for calls and were not read yet."""
        self.retired = False
        """A GOAWAY was sent or came: no new calls."""
        self.certificate: Mapping[str, Any] = {}
        """What TLS has verified of the peer, known before its first byte is read."""
        self.gone = trio.Event()
        """The transport is done with us: the socket is closed."""
        self.when_gone: Callable[[], None] = _nothing
        self._transport: Transport | None = None
        self._blocked = False
        self._greet = not client
        self._opening = b""
        self._pongs: dict[bytes, trio.Event] = {}

    # --- what an end of it adds

    def on_request(self, stream_id: int, headers: dict[str, str]) -> None:
        """A client began a call."""

    def on_settled(self) -> None:
        """All that came at once has been told."""

    def on_ping(self) -> None:
        """The peer asked whether we are here. HTTP/2 has answered."""

    def on_spoke(self) -> None:
        """Headers or data went out."""

    def on_goaway(self, last: int, error: int, reason: bytes) -> None:
        """The peer takes no calls above `last`."""

    def on_empty(self) -> None:
        """The last call is forgotten."""

    # --- told by the transport

    def connection_made(self, transport: BaseTransport) -> None:
        assert isinstance(transport, Transport)
        # Blocked as soon as the kernel does not take all of it, until it has: what is under way
        # lies in the kernel, or is one chunk. One and not nought: asyncio's TLS counts "not below".
        transport.set_write_buffer_limits(high=1, low=0)
        self._transport = transport
        self.certificate = transport.get_extra_info("peercert") or {}
        self.connection = Connection(self.h2, transport, config=self.config)
        self.processor = Processor(self.connection, self._processors())
        if self.client:
            self._initiate()

    def _initiate(self) -> None:
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(
            CONNECTION_WINDOW - self.h2.inbound_flow_control_window
        )
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self.lost.is_set():
            return
        try:
            if self._greet:
                data = self._greeted(data)
            if data:
                self._take_in(data)
        except ProtocolError as error:
            self.flush()
            self.end(f"the peer broke the rules of HTTP/2: {type(error).__name__}")
        except Exception as error:
            # h2 and hpack have errors of other kinds for bytes that nobody foresaw. Raised from
            # here they would end asyncio's loop, and every connection with it.
            self.fail(f"the connection failed: {type(error).__name__}")

    def _greeted(self, data: bytes) -> bytes:
        """What is to be read as HTTP/2: nothing, until it is sure that it is."""
        opening = self._opening + data
        if opening.startswith(PREFACE):
            self._greet = False
            self._initiate()
            return opening
        self._opening = opening[: len(PREFACE)]
        if not PREFACE.startswith(self._opening):
            if self._transport is not None and b"HTTP/1" in opening[:8192]:
                self._transport.write(WRONG_VERSION)
            self.end("the peer does not speak HTTP/2")
        return b""

    def _take_in(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            self.processor.process(event)
            if self.lost.is_set():
                return
        self.on_settled()
        self._top_up()
        self.flush()

    def _top_up(self) -> None:
        """Give the connection's window back: whatever becomes of the bytes of a call, those of
        others may come."""
        missing = CONNECTION_WINDOW - self.h2.inbound_flow_control_window
        if missing > 0 and (missing >= CONNECTION_WINDOW // 4 or not self.calls):
            self.h2.increment_flow_control_window(missing)

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        self._wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: BaseException | None) -> None:
        self.gone.set()
        self.when_gone()
        strerror = exc.strerror if isinstance(exc, OSError) else None
        self.fail(f"the connection was lost: {strerror}" if strerror else "the peer ended it")
        self.processor.close()
        self.h2.let_go()

    # --- told by HTTP/2

    def _processors(self) -> dict[type[Any], Callable[[Any], None]]:
        return {
            RequestReceived: self._request,
            ResponseReceived: self._response,
            TrailersReceived: self._trailers,
            DataReceived: self._data,
            StreamEnded: self._ended,
            StreamReset: self._reset,
            WindowUpdated: self._window,
            RemoteSettingsChanged: self._settings,
            PingReceived: lambda _event: self.on_ping(),
            PingAckReceived: self._pong,
            ConnectionTerminated: self._goaway,
        }

    def _request(self, event: RequestReceived) -> None:
        if malformed(event.headers):
            self.reset(event.stream_id, ErrorCodes.PROTOCOL_ERROR)
        else:
            self.on_request(event.stream_id, decoded(event.headers))

    def _response(self, event: ResponseReceived) -> None:
        self._headers(event, malformed_answer(event.headers), event.stream_ended is not None)

    def _trailers(self, event: TrailersReceived) -> None:
        self._headers(event, malformed_trailers(event.headers), True)

    def _headers(self, event: ResponseReceived | TrailersReceived, bad: bool, last: bool) -> None:
        call = self.calls.get(event.stream_id)
        if call is not None and bad:
            self.reset(call.id, ErrorCodes.PROTOCOL_ERROR)
            self.forget(call)
            call.on_malformed()
        elif call is not None:
            call.on_headers(decoded(event.headers), last)

    def _data(self, event: DataReceived) -> None:
        call = self.calls.get(event.stream_id)
        if call is not None:
            call.on_data(event.data, event.flow_controlled_length)

    def _ended(self, event: StreamEnded) -> None:
        call = self.calls.get(event.stream_id)
        if call is not None:
            call.on_end()

    def _reset(self, event: StreamReset) -> None:
        call = self.calls.get(event.stream_id)
        if call is not None:
            self.forget(call)
            call.on_reset(int(event.error_code or 0))

    def _window(self, event: WindowUpdated) -> None:
        call = self.calls.get(event.stream_id)
        if call is not None:
            call.on_room()
        elif not event.stream_id:
            self._wake()

    def _settings(self, event: RemoteSettingsChanged) -> None:
        self.ready.set()
        self._wake()

    def _pong(self, event: PingAckReceived) -> None:
        waiting = self._pongs.pop(event.ping_data, None)
        if waiting is not None:
            waiting.set()

    def _goaway(self, event: ConnectionTerminated) -> None:
        self.retired = True
        last, error = int(event.last_stream_id or 0), int(event.error_code or 0)
        self.on_goaway(last, error, bytes(event.additional_data or b""))

    # --- asked by links

    def room(self, stream_id: int) -> int:
        """Bytes that may be sent now; 0: a place in `waiting` tells when to ask again."""
        if self._blocked or self.lost.is_set():
            return 0
        try:
            return min(self.h2.local_flow_control_window(stream_id), CHUNK)
        except H2Error:
            # It has ended in HTTP/2: nothing will be sent, and the call is about to be told.
            return CHUNK

    @property
    def attached(self) -> bool:
        """Whether it has, or had, a transport."""
        return self._transport is not None

    @property
    def drained(self) -> bool:
        """Whether all that was said is on its way."""
        return not self._blocked

    def send_headers(self, stream_id: int, headers: Headers, *, last: bool = False) -> None:
        """Say a head, or a tail. A call that HTTP/2 holds for over gets nothing."""
        self._say(lambda: self.h2.send_headers(stream_id, headers, end_stream=last))

    def send_data(
        self, stream_id: int, data: bytes, *, head: Headers | None = None, last: bool = False
    ) -> None:
        """Send at most `room` bytes, behind a head where there is one."""
        self._say(lambda: self._send_frames(stream_id, data, head, last))

    def _send_frames(self, stream_id: int, data: bytes, head: Headers | None, last: bool) -> None:
        if head is not None:
            self.h2.send_headers(stream_id, head)
        size = self.h2.max_outbound_frame_size
        for at in range(0, len(data) or 1, size):
            piece = data[at : at + size]
            self.h2.send_data(stream_id, piece, end_stream=last and at + size >= len(data))

    def end_stream(self, stream_id: int) -> None:
        """Say that no more comes."""
        self._say(lambda: self.h2.end_stream(stream_id))

    def reset(self, stream_id: int, error: int) -> None:
        """Cut a call."""
        self._say(lambda: self.h2.reset_stream(stream_id, error))

    def give_back(self, stream_id: int, size: int) -> None:
        """Let the peer send so many bytes more on a call."""
        self._say(lambda: self.h2.increment_flow_control_window(size, stream_id))

    def _say(self, say: Callable[[], None]) -> None:
        if self.lost.is_set():
            return
        try:
            say()
        except (H2Error, KeyError):
            # The call has ended in HTTP/2 already, and it will be told, if it was not.
            return
        self.on_spoke()
        self.flush()

    def ping(self, data: bytes) -> trio.Event:
        """Ask whether the peer is here. The event is set when it has answered."""
        answered = self._pongs[data] = trio.Event()
        self._say(lambda: self.h2.ping(data))
        return answered

    def flush(self) -> None:
        """Hand what is prepared to the transport."""
        transport, data = self._transport, self.h2.data_to_send()
        if not data or transport is None or transport.is_closing():
            return
        transport.write(data)
        if transport.get_write_buffer_size() > UNSENT:
            self.fail("the peer asks and asks, and takes no answer")

    def forget(self, call: Call) -> None:
        """A call is over. All that came for it is given back."""
        if self.calls.pop(call.id, None) is None:
            return
        self.waiting.discard(call)
        if not self.calls and not self.lost.is_set():
            self._top_up()
            self.flush()
            self.on_empty()

    def _wake(self) -> None:
        for call in tuple(self.waiting):
            call.on_room()

    # --- its end

    def retire(self, error: int = ErrorCodes.NO_ERROR, reason: bytes = b"") -> None:
        """Say that no further calls are taken; those that run live on."""
        transport = self._transport
        if self.retired or self._greet or transport is None or transport.is_closing():
            return
        self.retired = True
        self.flush()
        transport.write(self.h2.go_away(error, reason))

    def end(self, reason: str) -> None:
        """Close it, behind what is on its way: `gone` may never come of a peer that does not
        read."""
        if self._transport is not None:
            close(self._transport)
        self._over(reason)

    def fail(self, reason: str) -> None:
        """Drop it, at once."""
        if self._transport is not None:
            abort(self._transport)
        self._over(reason)

    def _over(self, reason: str) -> None:
        if self.lost.is_set():
            return
        self.why = reason
        self.lost.set()
        calls, self.calls = list(self.calls.values()), {}
        self._wake()
        for call in calls:
            call.on_lost(reason)
