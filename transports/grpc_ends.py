"""The two ends of a call as links: whoever serves it ends it with a status, whoever made it
hears of that."""

from __future__ import annotations

import trio
from h2.errors import ErrorCodes

from fleetgate.transports.api import FrameRefused, GrpcMethod, GrpcOptions, Opening, Options
from fleetgate.transports.grpc_connection import GrpcConnection
from fleetgate.transports.grpc_link import End, GrpcLink
from fleetgate.transports.grpc_messages import Messages
from fleetgate.transports.grpc_metadata import ANSWER, is_grpc
from fleetgate.transports.grpc_status import (
    CANCELLED,
    DEADLINE_EXCEEDED,
    INTERNAL,
    LAST,
    OK,
    UNAVAILABLE,
    UNIMPLEMENTED,
    UNKNOWN,
    name_of,
    read_status,
    status_of,
    status_of_http,
    status_of_reset,
    trailers_of,
)

_COUNT = "this call takes exactly one message, and {} came"


class ServedLink(GrpcLink):
    """The server's end.

    What came and is no message ends the receiving side. The answer to it is the status, once the
    link is closed in order or with a close code: whoever means another has a status for it. The
    client's own end lets us go on sending.
    """

    _lost_code = CANCELLED

    def __init__(
        self,
        connection: GrpcConnection,
        stream_id: int,
        method: GrpcMethod,
        opening: Opening,
        options: Options,
        encoding: str,
    ) -> None:
        super().__init__(connection, stream_id, method, opening, options)
        self._messages = Messages(options.limit, encoding)
        self._verdict: tuple[int, str] | None = None
        self._answered = False

    @property
    def over(self) -> bool:
        """Whether the call has ended: nothing can be done for it any more."""
        return self._over is not None

    def on_headers(self, headers: dict[str, str], last: bool) -> None:
        """A client has no trailers to send; what it sends all the same says nothing."""

    def on_data(self, data: bytes, size: int) -> None:
        super().on_data(data, size)
        if self._counted > 1 and not self._method.client_streams:
            self._refuse(_COUNT.format("more"), UNIMPLEMENTED)

    def on_end(self) -> None:
        super().on_end()
        if self._counted == 0 and not self._method.client_streams:
            self._refuse(_COUNT.format("none"), UNIMPLEMENTED)
        self._stop(End(None))

    def on_reset(self, error: int) -> None:
        self._finish(End("the peer cancelled the call", CANCELLED))

    def _refuse(self, text: str, status: int, *, no_frame: bool = False) -> None:
        if self._end is None:
            self._verdict = status, text
            self._stop(End(text, status, no_frame=no_frame))

    @property
    def _streams(self) -> bool:
        return self._method.server_streams

    def _send_piece(self, piece: bytes, last: bool) -> None:
        head = None if self._answered else ANSWER
        self._answered = True
        self._connection.send_data(self.id, piece, head=head)

    async def expire(self, seconds: float) -> None:
        """End it with DEADLINE_EXCEEDED when its client's time is over."""
        await trio.sleep(seconds)
        if self._over is None:
            text = "the client's deadline has passed"
            self._say_status(DEADLINE_EXCEEDED, text)
            self._finish(End(text, DEADLINE_EXCEEDED))

    def _give_up(self, code: int, reason: str) -> None:
        # A status needs no window. With OK the half of a message would pass for all there is.
        if status_of(code) != OK:
            self._say_status(status_of(code), reason)
            self._finish(End(None))

    async def _say_end(self, code: int, reason: str) -> None:
        status = status_of(code)
        if self._verdict is not None and (status == OK or code > LAST):
            status, reason = self._verdict
        if status == OK and self._sent == 0 and not self._streams:
            status, reason = INTERNAL, "the call was ended without the message that answers it"
        self._say_status(status, reason)
        self._finish(End(None))
        await self._wait_drained()

    def _say_status(self, status: int, message: str) -> None:
        head = [] if self._answered else ANSWER
        self._connection.send_headers(self.id, [*head, *trailers_of(status, message)], last=True)
        if not self._peer_ended:
            # The answer is whole, says HTTP/2 with this: spare yourself the rest of the request.
            self._connection.reset(self.id, ErrorCodes.NO_ERROR)
        self._connection.forget(self)


class DialledLink(GrpcLink):
    """The client's end. It alone uses its connection, and ends it.

    A client has no status to send: closing with any code says that no more comes, and hears the
    server out.
    """

    _lost_code = UNAVAILABLE

    def __init__(
        self,
        connection: GrpcConnection,
        stream_id: int,
        method: GrpcMethod,
        opening: Opening,
        options: Options,
        use: GrpcOptions,
    ) -> None:
        super().__init__(connection, stream_id, method, opening, options)
        self._final = use.final
        self._half_closed = False

    @property
    def end(self) -> End | None:
        """How the call ended; None: it lives."""
        return self._over

    # --- told by the connection

    def on_headers(self, headers: dict[str, str], last: bool) -> None:
        if headers.get(":status", "200") != "200":
            status = int(headers[":status"]) if headers[":status"].isdigit() else 0
            self._conclude(status_of_http(status), f"the answer was {headers[':status']} of HTTP")
        elif ":status" in headers and not is_grpc(headers.get("content-type", "")):
            self._conclude(UNKNOWN, "the answer is none of gRPC")
        elif last:
            self._conclude(*read_status(headers))
        else:
            self._messages = Messages(self._options.limit, headers.get("grpc-encoding", "identity"))

    def on_data(self, data: bytes, size: int) -> None:
        super().on_data(data, size)
        if self._counted > 1 and not self._method.server_streams:
            self._refuse(_COUNT.format("more"), UNIMPLEMENTED)

    def on_end(self) -> None:
        super().on_end()
        self._conclude(UNKNOWN, "the answer ended without a status")

    def on_reset(self, error: int) -> None:
        status = status_of_reset(error)
        self._finish(
            End(f"the peer cut the call: {name_of(status)}", status, self._is_final(status))
        )

    def on_goaway(self, last: int, reason: str) -> None:
        """The server takes no calls above `last`, and so perhaps not this one."""
        if self._over is None and self.id > last:
            self._finish(End(reason, UNAVAILABLE))

    def _conclude(self, status: int, message: str) -> None:
        """The server has said how it ends."""
        if self._over is not None:
            return
        end = End(None)
        if status != OK:
            text = f"the peer ended the call with {name_of(status)}"
            text = f"{text}: {message}" if message else text
            end = End(text, status, self._is_final(status), reason=message)
        elif self._messages.held:
            end = End("the stream ended in the middle of a message", INTERNAL)
        elif self._counted == 0 and not self._method.server_streams:
            end = End(_COUNT.format("none"), UNIMPLEMENTED)
        if not self._half_closed:
            self._connection.reset(self.id, ErrorCodes.CANCEL)
        self._connection.forget(self)
        self._finish(end)

    def _is_final(self, status: int) -> bool:
        return status in self._final

    def _refuse(self, text: str, status: int, *, no_frame: bool = False) -> None:
        if self._over is None:
            self._reset(ErrorCodes.CANCEL)
            self._finish(End(text, status, no_frame=no_frame))

    # --- sending and closing

    @property
    def _streams(self) -> bool:
        return self._method.client_streams

    def _send_piece(self, piece: bytes, last: bool) -> None:
        end = last and not self._streams
        self._half_closed = self._half_closed or end
        self._connection.send_data(self.id, piece, last=end)

    async def send_eof(self) -> bool:
        await trio.lowlevel.checkpoint()
        if self._writing is not None:
            raise trio.BusyResourceError("another task sends on this link")
        self._check_open()
        self._half_close()
        return True

    def _half_close(self) -> None:
        if not self._half_closed and self._over is None:
            self._half_closed = True
            self._connection.end_stream(self.id)

    def _check_sendable(self) -> None:
        super()._check_sendable()
        if self._half_closed and self._streams:
            raise FrameRefused("nothing can be sent behind send_eof")

    async def _say_end(self, code: int, reason: str) -> None:
        self._half_close()
        while self._over is None:
            self._clear()
            self._give_back()
            self._arrived = trio.Event()
            await self._arrived.wait()

    def _drop(self) -> None:
        super()._drop()
        if self._connection.drained:
            self._connection.end("the link was closed here")
        else:
            self._connection.fail("the link was closed here")
