"""The other end of the operators' socket."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from errno import ENOENT
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, urlencode

import h11
import trio

from fleetgate.gateway.places import TcpPlace, UnixPlace, place_of
from fleetgate.gateway.render import Line, encode

CONNECT_WITHIN: Final = 5.0
"""Seconds to reach a socket of this machine."""

ANSWER_WITHIN: Final = 60.0
"""Seconds for an answer: the gateway itself takes at most 20, with a worker to ask."""

MAX_ANSWER: Final = 64 << 20
"""Bytes of one answer: a page of runs with room to spare."""

MAX_LINE: Final = 16 << 20
"""Bytes of one line: an event of 64 KiB, and what free-form JSON may come to in one frame."""

CHUNK: Final = 64 * 1024


_FOREIGN: Final = "the answer ({}) is not JSON: no gateway's admin socket is there"

Connect: TypeAlias = Callable[[str], Awaitable[trio.abc.Stream]]


class AdminError(Exception):
    """The gateway said no. `code` is stable, the text is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Unreachable(Exception):
    """No gateway answers at that address, or it went away in mid-answer."""


def path_of(*parts: str, **query: str | int | None) -> str:
    """A path under `/v1`, with each part percent-encoded, and a query of what is not None."""
    path = "/v1/" + "/".join(quote(part, safe="") for part in parts)
    given = {key: value for key, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


class AdminClient:
    """Asks the gateway whose admin socket is at `address`, a connection for each question.
    `connect` reaches an address; what it raises as `OSError` is said to the operator."""

    def __init__(self, address: str, connect: Connect | None = None) -> None:
        self.address = address
        self._connect = connect or connect_to

    async def get(self, path: str) -> Line:
        """Raises: `AdminError`, `Unreachable`."""
        return await self._ask("GET", path, b"")

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Line:
        """Raises: `AdminError`, `Unreachable`. Cancelled, it may or may not be done."""
        return await self._ask("POST", path, encode(dict(body or {})))

    async def _ask(self, method: str, path: str, body: bytes) -> Line:
        async with self._connected() as stream:
            try:
                with trio.fail_after(ANSWER_WITHIN):
                    exchange = _Exchange(stream)
                    status = await exchange.send(method, path, body)
                    return _read_answer(status, await exchange.whole())
            except trio.TooSlowError:
                raise Unreachable(f"{self.address} gave no answer in {ANSWER_WITHIN:g} s") from None
            except (trio.BrokenResourceError, h11.RemoteProtocolError) as error:
                raise _cut(self.address) from error

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncGenerator[Lines, None]:
        """The lines of a stream, as they come.

        Raises: `AdminError`, `Unreachable`.
        """
        async with self._connected() as stream:
            exchange = _Exchange(stream)
            try:
                with trio.fail_after(ANSWER_WITHIN):
                    status = await exchange.send("GET", path, b"")
                    if status != 200:
                        _read_answer(status, await exchange.whole())
            except trio.TooSlowError:
                raise Unreachable(f"{self.address} gave no answer in {ANSWER_WITHIN:g} s") from None
            except (trio.BrokenResourceError, h11.RemoteProtocolError) as error:
                raise _cut(self.address) from error
            yield Lines(exchange, self.address)

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[trio.abc.Stream, None]:
        try:
            with trio.fail_after(CONNECT_WITHIN):
                stream = await self._connect(self.address)
        except (OSError, trio.TooSlowError) as error:
            raise Unreachable(_nobody(self.address, error)) from None
        async with stream:
            yield stream


class Lines:
    """JSON objects, one at a time; it ends when the gateway has no more to say.

    Iterating raises: `Unreachable` when the stream is cut before its end; `AdminError` when the
    gateway has more, and cannot give it.
    """

    def __init__(self, exchange: _Exchange, address: str) -> None:
        self._exchange = exchange
        self._address = address
        self._buffer = bytearray()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> Line:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_LINE:
                raise Unreachable(f"{self._address} sent a line over {MAX_LINE} bytes")
            try:
                data = await self._exchange.data()
            except (trio.BrokenResourceError, h11.RemoteProtocolError) as error:
                raise _cut(self._address) from error
            if data is None:
                raise StopAsyncIteration
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        found = cast(Line, json.loads(line))
        if "error" in found:
            raise _error(found)
        return found


class _Exchange:
    """One request and its answer."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)

    async def send(self, method: str, path: str, body: bytes) -> int:
        """Send the request; answers the status."""
        headers = [("host", "localhost"), ("connection", "close")]
        if method == "POST":
            headers.append(("content-type", "application/json"))
            headers.append(("content-length", str(len(body))))
        data = self._http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        if body:
            data += self._http.send(h11.Data(body)) or b""
        data += self._http.send(h11.EndOfMessage()) or b""
        with suppress(trio.BrokenResourceError):
            # It may have answered and closed without reading: what it said is there all the same.
            await self._stream.send_all(data)
        response = await self._next_event()
        if not isinstance(response, h11.Response):
            raise h11.RemoteProtocolError("no response came")
        return response.status_code

    async def data(self) -> bytes | None:
        """The next piece of the answer's body; None behind the last."""
        event = await self._next_event()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def whole(self) -> bytes:
        """The whole body."""
        body = bytearray()
        while (data := await self.data()) is not None:
            body += data
            if len(body) > MAX_ANSWER:
                raise h11.RemoteProtocolError(f"the answer is over {MAX_ANSWER} bytes")
        return bytes(body)

    async def _next_event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(bytes(await self._stream.receive_some(CHUNK)))
        return event


async def connect_to(address: str) -> trio.abc.Stream:
    """Reach `unix:PATH` or `HOST:PORT`. Raises: `OSError`."""
    match place_of(address):
        case UnixPlace(path=path):
            return await trio.open_unix_socket(path)
        case TcpPlace(host=host, port=port):
            try:
                return await trio.open_tcp_stream(host, port)
            except OSError as error:
                raise _only_attempt(error) from None
        case _:
            raise OSError(0, "it is no address; use unix:PATH or 127.0.0.1:PORT")


def _only_attempt(error: OSError) -> OSError:
    """The system's own error. Where trio makes one of all attempts, a loopback address has one."""
    match error.__cause__:
        case BaseExceptionGroup(exceptions=(OSError() as attempt, *_)):
            return attempt
        case _:
            return error


def _read_answer(status: int, body: bytes) -> Line:
    try:
        line = json.loads(body)
    except ValueError:
        raise AdminError("no_json", _FOREIGN.format(status)) from None
    if status >= 400:
        raise _error(line)
    return cast(Line, line)


def _error(line: Line) -> AdminError:
    error = line.get("error", {})
    return AdminError(str(error.get("code")), str(error.get("message")))


def _nobody(address: str, error: Exception) -> str:
    """Why nobody answers, and what to do about it."""
    said = f"no gateway answers at {address}"
    match error:
        case FileNotFoundError() | ConnectionRefusedError():
            what = "there is no such socket" if error.errno == ENOENT else "nobody listens there"
            return (
                f"{said}: {what}. Start one with `gateway serve --config FILE`, or say where "
                "it is with --admin, --config or GATEWAY_ADMIN"
            )
        case PermissionError():
            return f"{said}: permission denied. Only the user who started it may ask it"
        case OSError() if error.strerror:
            return f"{said}: {error.strerror}"
        case trio.TooSlowError():
            return f"{said} within {CONNECT_WITHIN:g} s"
        case _:
            return f"{said}: {error}"


def _cut(address: str) -> Unreachable:
    return Unreachable(f"the gateway at {address} went away in the middle of its answer")
