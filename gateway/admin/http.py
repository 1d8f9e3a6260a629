"""HTTP/1.1 over one stream: requests in, replies and streams of JSON lines out.

Bounds: `MAX_HEAD` and `MAX_BODY` for what comes in, `HEAD_WITHIN` for a request's head and
`BODY_WITHIN` for its body, `IDLE_FOR` between requests, `SEND_WITHIN` for each write. Whoever
breaks one loses this connection and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import attrs
import h11
import trio

from fleetgate.core.errors import Refusal, Unavailable
from fleetgate.gateway.render import Line, encode

MAX_HEAD: Final = 16 * 1024
"""Bytes of a request's line and headers, beyond what came with one read: ours are under 1 KiB."""

MAX_BODY: Final = 24 << 20
"""Bytes of a body: a script of 16 MiB, the largest input of all, as a JSON string."""

HEAD_WITHIN: Final = 5.0
"""Seconds until a new connection begins its first request, and until the head of a request that
has begun is whole: clients of ours send it at once."""

BODY_WITHIN: Final = 30.0
"""Seconds for a body to come whole: 24 MiB over a local socket."""

IDLE_FOR: Final = 60.0
"""Seconds that a connection may wait for its next request."""

FAREWELL_WITHIN: Final = 1.0
"""Seconds to tell a new connection that there is no room for it, before it is closed."""

SEND_WITHIN: Final = 60.0
"""Seconds that one write may take: a follower that reads nothing holds its task no longer."""

CHUNK: Final = 64 * 1024
"""Bytes read at a time, as of any socket here."""


@attrs.frozen(slots=True)
class Request:
    """A request. `path` holds the segments, percent-decoded each, so that one may hold `/`."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = attrs.field(default=b"", repr=False)


@attrs.frozen(slots=True)
class Reply:
    """One JSON object."""

    line: Line
    status: int = 200


Send: TypeAlias = Callable[[bytes], Awaitable[None]]


@attrs.frozen(slots=True)
class Stream:
    """JSON lines: `write` gives them to its argument and returns behind the last. It is
    cancelled when the peer goes away."""

    write: Callable[[Send], Awaitable[None]]


Handler: TypeAlias = Callable[[Request], Awaitable[Reply | Stream]]
"""Answers a request. What it raises is a fault of ours."""


def error_reply(status: int, code: str, message: str) -> Reply:
    """A typed error."""
    return Reply(error_line(code, message), status)


def error_line(code: str, message: str) -> Line:
    """A typed error as an object: an answer's, or the last of a stream."""
    return {"error": {"code": code, "message": message}}


NO_ROOM: Final = error_reply(
    503, "unavailable", "too many connections are open; close some, or try again"
)


class _Refused(Exception):
    """A request is not taken; its reply is the last one on this connection."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class HttpConnection:
    """One connection. Faults of `handler` are given to `fault` and answered with status 500;
    whatever else goes wrong is given to it too, and ends this connection and nothing else."""

    def __init__(
        self, stream: trio.abc.Stream, handler: Handler, fault: Callable[[Exception], None]
    ) -> None:
        self._stream = stream
        self._handler = handler
        self._fault = fault
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._waiting: trio.CancelScope | None = None
        self._before_begin = HEAD_WITHIN
        self._head_only = False

    @property
    def waiting(self) -> bool:
        """Whether no whole request is there: nothing is lost that was asked for."""
        return self._waiting is not None

    def turn_away(self) -> None:
        """Have a connection that is `waiting` told that there is no room, and closed."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def serve(self) -> None:
        """Serve to its end, and close it. Cancelled, the stream is closed at once."""
        async with self._stream:
            try:
                await self._run()
            except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
                return  # the peer is gone, or as good as gone: there is nobody to tell
            except Exception as error:  # the other connections, and the gateway, go on
                self._fault(error)

    async def refuse(self) -> None:
        """Say that there is no room, and close, whatever the peer has to ask."""
        async with self._stream:
            with suppress(trio.BrokenResourceError), trio.move_on_after(FAREWELL_WITHIN):
                await self._reply(NO_ROOM, last=True)

    async def _run(self) -> None:
        while True:
            try:
                request = await self._request()
                if request is None:
                    return
                await self._answer(await self._handle(request))
            except _Refused as refused:
                await self._reply(refused.reply, last=True)
            except h11.RemoteProtocolError as error:
                said = error_reply(error.error_status_hint, "bad_request", str(error))
                await self._reply(said, last=True)
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _handle(self, request: Request) -> Reply | Stream:
        try:
            return await self._handler(request)
        except Exception as error:
            self._fault(error)
            return error_reply(500, "internal", "a fault of the gateway; see its log")

    # --- in

    async def _request(self) -> Request | None:
        """The next request; None if none comes. Until it is whole we may be turned away."""
        with trio.CancelScope() as self._waiting:
            try:
                return await self._request_in_time()
            finally:
                self._waiting = None
        raise _Refused(NO_ROOM)

    async def _request_in_time(self) -> Request | None:
        begun = self._head_only = False
        with trio.move_on_after(self._before_begin):
            begun = await self._begun()
        if not begun:
            return None
        self._before_begin = IDLE_FOR
        with _limited(HEAD_WITHIN, "a request's head"):
            head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        self._head_only = head.method == b"HEAD"
        with _limited(BODY_WITHIN, "a body"):
            return await self._whole(head)

    async def _begun(self) -> bool:
        """Wait for the first byte of a request. False: the peer has closed."""
        waiting, closed = self._http.trailing_data
        if waiting or closed:
            return bool(waiting)
        data = bytes(await self._stream.receive_some(CHUNK))
        self._http.receive_data(data)
        return bool(data)

    async def _next_event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await self._send(self._http.send(go_on))
            self._http.receive_data(bytes(await self._stream.receive_some(CHUNK)))
        return event

    async def _whole(self, head: h11.Request) -> Request:
        parts = _parts(head.target)
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
        body = bytearray()
        _bound(int(headers.get("content-length", "0")))
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            _bound(len(body))
        return Request(
            head.method.decode("ascii"),
            tuple(unquote(part) for part in parts.path.strip("/").split("/")),
            dict(parse_qsl(parts.query)),
            headers,
            bytes(body),
        )

    # --- out

    async def _answer(self, answer: Reply | Stream) -> None:
        if isinstance(answer, Reply):
            await self._reply(answer)
        else:
            await self._write_stream(answer)

    async def _reply(self, reply: Reply, *, last: bool = False) -> None:
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        body = encode(reply.line)
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        if last:
            headers.append(("connection", "close"))
        data = self._http.send(_head(reply.status, headers))
        if not self._head_only:
            data += self._http.send(h11.Data(body))
        await self._send(data + self._http.send(h11.EndOfMessage()))

    async def _write_stream(self, stream: Stream) -> None:
        """A stream is the last thing on its connection: while it lasts, the peer has nothing
        to say but that it goes away."""
        headers = [("content-type", "application/x-ndjson"), ("connection", "close")]
        headers.append(("transfer-encoding", "chunked"))
        await self._send(self._http.send(_head(200, headers)))
        whole = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, nursery.cancel_scope)
            whole = await self._written(stream)
            nursery.cancel_scope.cancel()
        if whole:  # else the missing end tells the peer that there would have been more
            await self._send(self._http.send(h11.EndOfMessage()))

    async def _written(self, stream: Stream) -> bool:
        try:
            await stream.write(self._send_data)
        except (trio.BrokenResourceError, trio.TooSlowError):
            return False
        except Unavailable as refusal:
            if refusal.lasting:
                # Whoever asked again would be cut off again, and take us for somebody who is gone.
                await self._send_data(encode(error_line(refusal.code, refusal.message)))
            return refusal.lasting
        except Refusal:  # as of a run that was forgotten meanwhile: whoever asks again is told
            return False
        except Exception as error:
            self._fault(error)
            return False
        return True

    async def _watch(self, scope: trio.CancelScope) -> None:
        try:
            while await self._stream.receive_some(CHUNK):
                pass
        except trio.BrokenResourceError:
            pass  # gone in disorder is gone all the same
        scope.cancel()

    async def _send_data(self, data: bytes) -> None:
        await self._send(self._http.send(h11.Data(data)))

    async def _send(self, data: bytes | None) -> None:
        with trio.fail_after(SEND_WITHIN):
            await self._stream.send_all(data or b"")


@contextmanager
def _limited(seconds: float, what: str) -> Generator[None, None, None]:
    """Raises: `_Refused` when it takes longer."""
    try:
        with trio.fail_after(seconds):
            yield
    except trio.TooSlowError:
        said = f"{what} takes at most {seconds:g} s"
        raise _Refused(error_reply(408, "timeout", said)) from None


def _bound(size: int) -> None:
    """Refuse a body of so many bytes, as it says itself or as have come."""
    if size > MAX_BODY:
        raise _Refused(error_reply(413, "too_large", f"a body has at most {MAX_BODY} bytes"))


def _parts(target: bytes) -> SplitResult:
    """Raises: `_Refused` for what is neither a path nor a URL, such as `//[`."""
    try:
        return urlsplit(target.decode("ascii", "replace"))
    except ValueError:
        said = error_reply(400, "bad_request", "the request's target is no path and no URL")
        raise _Refused(said) from None


def _head(status: int, headers: list[tuple[str, str]]) -> h11.Response:
    reason = HTTPStatus(status).phrase.encode()
    return h11.Response(status_code=status, headers=headers, reason=reason)
