"""How a call ends: gRPC's statuses, what they are made of, and what becomes of other codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grpclib.const import Status
from grpclib.metadata import decode_grpc_message, decode_timeout, encode_grpc_message
from h2.errors import ErrorCodes

OK: Final = Status.OK.value
CANCELLED: Final = Status.CANCELLED.value
UNKNOWN: Final = Status.UNKNOWN.value
INVALID_ARGUMENT: Final = Status.INVALID_ARGUMENT.value
DEADLINE_EXCEEDED: Final = Status.DEADLINE_EXCEEDED.value
NOT_FOUND: Final = Status.NOT_FOUND.value
PERMISSION_DENIED: Final = Status.PERMISSION_DENIED.value
RESOURCE_EXHAUSTED: Final = Status.RESOURCE_EXHAUSTED.value
UNIMPLEMENTED: Final = Status.UNIMPLEMENTED.value
INTERNAL: Final = Status.INTERNAL.value
UNAVAILABLE: Final = Status.UNAVAILABLE.value
UNAUTHENTICATED: Final = Status.UNAUTHENTICATED.value

LAST: Final = UNAUTHENTICATED
"""Numbers above it are close codes, not statuses."""

CLOSE_CODES: Final[Mapping[int, int]] = {
    1000: OK,
    1001: UNAVAILABLE,
    1002: INTERNAL,
    1003: INVALID_ARGUMENT,
    1005: OK,
    1007: INVALID_ARGUMENT,
    1008: PERMISSION_DENIED,
    1009: RESOURCE_EXHAUSTED,
    1010: UNIMPLEMENTED,
    1011: INTERNAL,
    1012: UNAVAILABLE,
    1013: UNAVAILABLE,
    1014: UNAVAILABLE,
}
"""WebSocket's close codes, which whoever closes a link may use, and the status for each."""

_HTTP: Final[Mapping[int, int]] = {
    400: INTERNAL,
    401: UNAUTHENTICATED,
    403: PERMISSION_DENIED,
    404: UNIMPLEMENTED,
    429: UNAVAILABLE,
    502: UNAVAILABLE,
    503: UNAVAILABLE,
    504: UNAVAILABLE,
}
"""gRPC's own table for answers that never reached a gRPC server."""

_RESETS: Final[Mapping[int, int]] = {
    ErrorCodes.REFUSED_STREAM: UNAVAILABLE,
    ErrorCodes.CANCEL: CANCELLED,
    ErrorCodes.ENHANCE_YOUR_CALM: RESOURCE_EXHAUSTED,
    ErrorCodes.INADEQUATE_SECURITY: PERMISSION_DENIED,
}

LONGEST_MESSAGE: Final = 1024
"""Bytes of a status message that are sent: peers bound a block of headers at 8 KiB, and a
message of three bytes a character, each percent-encoded, stays below half of that."""


def status_of(code: int) -> int:
    """The status for a code to close with, which may be one already."""
    return code if 0 <= code <= LAST else CLOSE_CODES.get(code, UNKNOWN)


def status_of_http(code: int) -> int:
    """The status for an HTTP answer."""
    return _HTTP.get(code, UNKNOWN)


def status_of_reset(error: int) -> int:
    """The status for an HTTP/2 error code that ended a call."""
    return _RESETS.get(error, INTERNAL)


def name_of(status: int) -> str:
    """As people write it: `UNAVAILABLE (14)`."""
    return f"{Status(status).name} ({status})" if 0 <= status <= LAST else f"status {status}"


def trailers_of(status: int, message: str) -> list[tuple[str, str]]:
    """The headers that say how a call ended. OK has no message."""
    trailers = [("grpc-status", str(status))]
    if message and status != OK:
        cut = message.encode("utf-8", "replace")[:LONGEST_MESSAGE].decode("utf-8", "ignore")
        trailers.append(("grpc-message", encode_grpc_message(cut)))
    return trailers


def read_status(headers: Mapping[str, str]) -> tuple[int, str]:
    """Status and message from trailers. What is none is UNKNOWN."""
    text = headers.get("grpc-status", "")
    message = decode_grpc_message(headers.get("grpc-message", ""))[:LONGEST_MESSAGE]
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        return UNKNOWN, "the answer has no status that can be read"
    return int(text), message


def read_timeout(text: str) -> float:
    """Seconds that a call may take. Raises: `ValueError`."""
    if len(text) > 9:
        raise ValueError("a timeout has at most eight digits and a unit")
    return decode_timeout(text)
