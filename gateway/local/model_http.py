"""One streamed answer of a model server over HTTP, line by line, and what can go wrong with it.

httpx is an extra, so it is imported at the first use, and seen through the few calls that are
needed of it.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
import trio

from fleetgate.core.json import NOTHING, Json
from fleetgate.gateway.local.work import Declined, WorkFailed

MAX_LINE: Final = 1 << 20
"""Bytes of one line of an answer: some ten thousand times what a piece of text takes, and room for
the context that Ollama's last line may hold. A longer one fails the run."""

MISSING: Final = (
    "models are reached with httpx, which is not installed: "
    "pip install 'fleetgate[models]' where fleetgate is"
)


def missing() -> str | None:
    """What to say where httpx is not installed."""
    return MISSING if find_spec("httpx") is None else None


@attrs.frozen(slots=True)
class Question:
    """One request. `headers` may hold a secret."""

    url: str
    body: Mapping[str, Json] = attrs.field(repr=False)
    connect_timeout: float
    silence_timeout: float
    headers: Mapping[str, str] = attrs.field(default=NOTHING, repr=False)

    @property
    def server(self) -> str:
        """The server, for people."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


class ModelClient:
    """Asks model servers, each time on a new connection: an answer is over with its last word, and
    nobody waits for what its server may send behind it."""

    def __init__(self) -> None:
        self._client: Any = None

    @asynccontextmanager
    async def ask(self, question: Question) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """The lines of an answer, without their ends, as they come. Left early, or cancelled, the
        connection is closed, and the server hears of it.

        Raises: `Declined` where httpx is missing; `WorkFailed`, also from the lines: `unavailable`
        (it cannot be reached), `upstream_status` (it answered otherwise than 200), `stream_broken`
        (the answer was cut off), `timeout` (it fell silent), `oversize_line`.
        """
        httpx = _httpx()
        if self._client is None:
            self._client = _make_client(httpx)
        patience = httpx.Timeout(
            question.silence_timeout, connect=question.connect_timeout, pool=None
        )
        request = self._client.build_request(
            "POST",
            question.url,
            content=json.dumps(_plain(question.body)).encode(),
            headers={"content-type": "application/json", **question.headers},
            timeout=patience,
        )
        with _typed(httpx, question):
            response = await self._client.send(request, stream=True)
        try:
            _check_status(response.status_code, question)
            chunks = response.aiter_raw()
            try:
                async with aclosing(_lines(httpx, chunks, question)) as lines:
                    yield lines
            finally:
                await _unwind(httpx, chunks)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """End it."""
        if self._client is not None:
            await self._client.aclose()


def _httpx() -> Any:
    try:
        return import_module("httpx")
    except ImportError:
        raise Declined("unavailable", MISSING) from None


def _make_client(httpx: Any) -> Any:
    """Without proxies and credentials from the environment: what is asked is what the config says.
    The number of connections is bounded by that of runs."""
    return httpx.AsyncClient(
        verify=ssl.create_default_context(),
        trust_env=False,
        headers={"accept-encoding": "identity", "user-agent": "fleetgate"},
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )


def _plain(value: Json) -> Any:
    """A value as `json` wants it."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {key: _plain(member) for key, member in value.items()}
        case _:
            return [_plain(item) for item in value]


@contextmanager
def _typed(httpx: Any, question: Question) -> Generator[None, None, None]:
    """httpx's errors as ours. Their texts may hold what was sent, so they are not repeated."""
    server = question.server
    try:
        yield
    except httpx.ConnectTimeout:
        said = f"{server} took no connection within {question.connect_timeout:g} s"
        raise WorkFailed("unavailable", f"{said}; is it running?") from None
    except httpx.ConnectError:
        raise WorkFailed("unavailable", f"{server} cannot be reached; is it running?") from None
    except httpx.TimeoutException:
        said = f"{server} sent nothing for {question.silence_timeout:g} s"
        raise WorkFailed("timeout", f"{said}; set silence_timeout higher") from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        kind = type(error).__name__
        raise WorkFailed("invalid_argument", f"{server} cannot be asked ({kind})") from None
    except httpx.TransportError as error:
        kind = type(error).__name__
        said = f"the answer of {server} was cut off ({kind})"
        raise WorkFailed("stream_broken", said) from None


_HINTS: Final[Mapping[int, str]] = {
    400: "it does not take this request; does the model take system text and messages?",
    401: "it wants a token, or another one",
    403: "it wants a token, or another one",
    404: "it has no such model, or is no such server",
    429: "it has too much to do; try later",
    503: "it has too much to do, or is just starting; try later",
}


def _check_status(status: int, question: Question) -> None:
    if status != 200:
        hint = _HINTS.get(status, "its log says why")
        raise WorkFailed("upstream_status", f"{question.server} answered {status}: {hint}")


async def _lines(httpx: Any, chunks: Any, question: Question) -> AsyncGenerator[bytes, None]:
    splitter = Lines()
    with _typed(httpx, question):
        async for chunk in chunks:
            for line in splitter.feed(chunk):
                yield line
    for line in splitter.end():
        yield line


async def _unwind(httpx: Any, chunks: Any) -> None:
    """End an iteration that was left early. It is one of httpx's generators around several others,
    and closing it leaves those in it open, for the garbage collector to complain of; a
    cancellation where the innermost waits ends them all."""
    with trio.CancelScope(shield=True) as scope, suppress(httpx.HTTPError):
        scope.cancel()
        async for _ in chunks:
            pass


class Lines:
    """Bytes into lines, without `\\n` or `\\r\\n` at their ends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are complete now.

        Raises: `WorkFailed` where one is longer than `MAX_LINE`.
        """
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._add(end)
            yield from self.end()
        self._add(rest)

    def end(self) -> Iterator[bytes]:
        """The line that has come so far."""
        line = b"".join(self._parts)
        self._parts, self._size = [], 0
        yield line.removesuffix(b"\r")

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_LINE:
            said = f"a line of the answer has more than {MAX_LINE} bytes"
            raise WorkFailed("oversize_line", said)
        self._parts.append(part)
