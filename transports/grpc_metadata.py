"""Headers of a call: what a client asks with, and what of it whoever serves it gets to see."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from grpclib.metadata import USER_AGENT

from fleetgate.transports.api import DialFailed

Headers: TypeAlias = list[tuple[str, str]]

CONTENT_TYPE: Final = "application/grpc"
ANSWER: Final[Headers] = [
    (":status", "200"),
    ("content-type", CONTENT_TYPE),
    ("grpc-accept-encoding", "identity"),
]
"""The head of every answer."""

_NAME: Final = re.compile(r"[0-9a-z_.-]+")
_VALUE: Final = re.compile(r"[ -~]*")
_OURS: Final = frozenset({"te", "content-type", "user-agent", "connection", "host"})
"""Names that the carriage fills in itself."""


_NEEDED: Final = frozenset({b":method", b":scheme", b":path"})
_PSEUDO: Final = _NEEDED | {b":authority"}
_OF_HTTP_1: Final = frozenset(
    {b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"}
)
"""Names that say something of a connection, which HTTP/2 says in frames."""


def malformed(pairs: Iterable[Sequence[bytes]]) -> bool:
    """Whether a request is none of HTTP/2 (RFC 9113 sections 8.2 and 8.3). Who passes it on would
    not know what it was: it is cut."""
    seen: set[bytes] = set()
    regular = False
    for name, value in pairs:
        if name.startswith(b":"):
            if regular or name in seen or name not in _PSEUDO or not value:
                return True
            seen.add(name)
        else:
            regular = True
            if _is_wrong(name) or (name == b"te" and value != b"trailers"):
                return True
    return not seen >= _NEEDED


def malformed_answer(pairs: Sequence[Sequence[bytes]]) -> bool:
    """Whether the head of an answer is none of HTTP/2 (RFC 9113 sections 8.2 and 8.3.2): the one
    pseudo-header is its status, and stands first."""
    if not pairs or pairs[0][0] != b":status":
        return True
    return malformed_trailers(pairs[1:])


def malformed_trailers(pairs: Iterable[Sequence[bytes]]) -> bool:
    """Whether trailers are none of HTTP/2 (RFC 9113 section 8.1): they have no pseudo-header."""
    return any(name.startswith(b":") or _is_wrong(name) for name, _ in pairs)


def _is_wrong(name: bytes) -> bool:
    return name in _OF_HTTP_1 or name != name.lower()


def decoded(pairs: Iterable[Sequence[bytes]]) -> dict[str, str]:
    """Headers by name. One that came several times is joined as HTTP joins them."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def request(authority: str, path: str, scheme: str, metadata: Mapping[str, str]) -> Headers:
    """The headers of a call. Raises: `DialFailed`, which names the one that cannot be sent."""
    headers: Headers = [
        (":method", "POST"),
        (":scheme", scheme),
        (":path", path),
        (":authority", authority),
        ("te", "trailers"),
        ("content-type", CONTENT_TYPE),
        ("user-agent", USER_AGENT),
    ]
    for given, value in metadata.items():
        name = given.lower()
        if not _NAME.fullmatch(name) or name.startswith("grpc-") or name in _OURS:
            raise DialFailed(f"{given!r} is no name for metadata of gRPC")
        if not _VALUE.fullmatch(value):
            raise DialFailed(f"the value of {name} is not printable ASCII, as metadata must be")
        headers.append((name, value))
    return headers


def metadata_of(headers: Mapping[str, str]) -> dict[str, str]:
    """What a call brings besides its own machinery: text only. `host` is what it was sent to."""
    shown = {
        name: value
        for name, value in headers.items()
        if not name.startswith((":", "grpc-"))
        and not name.endswith("-bin")
        and name not in ("te", "content-type")
    }
    if ":authority" in headers:
        shown.setdefault("host", headers[":authority"])
    return shown


def is_grpc(content_type: str) -> bool:
    """Whether a body consists of messages of gRPC, in whatever encoding of its own."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == CONTENT_TYPE or kind.startswith(CONTENT_TYPE + "+")
