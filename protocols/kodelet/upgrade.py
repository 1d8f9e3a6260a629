"""The HTTP side of a connection: who is let in, and where a runner dials (W 2). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from fleetgate.protocols.carriage import Denial
from fleetgate.protocols.kodelet import go_json
from fleetgate.protocols.kodelet.wire import ENDPOINT, SUBPROTOCOL

_COOKIE: Final = "kodelet_auth_token"
_SCHEME: Final = re.compile(r"(?:bearer|token)\s+(.*)", re.IGNORECASE | re.DOTALL)
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~-]+")
_PORTS: Final = {"http": 80, "https": 443}
_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
_SAFE: Final = "/:@!$&'()*+,;=~"


class BadServer(ValueError):
    """A control plane's URL cannot be dialled; the text says what is wanted."""


class BadToken(ValueError):
    """A token that no control plane would have; the text repeats nothing of it."""


def check_token(token: str) -> None:
    """Whether a token is one (W 2.3).

    Raises: `BadToken`.
    """
    if not _TOKEN.fullmatch(token):
        raise BadToken("a token of kodelet is one or more of A-Z, a-z, 0-9, '-', '.', '_' and '~'")


def shown_token(headers: Mapping[str, str]) -> str | None:
    """The token that a request shows: with the scheme Bearer or Token, bare, or as a cookie
    where there is no `Authorization` at all (W 2.3)."""
    shown = headers.get("authorization", "").strip()
    if shown:
        found = _SCHEME.fullmatch(shown)
        return found[1].strip() if found is not None else shown
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == _COOKIE:
            return value.strip().strip('"')
    return None


def refuse(
    headers: Mapping[str, str], authenticated: bool, origins: tuple[str, ...] = ()
) -> Denial | None:
    """Why an upgrade is refused; None: it is not. Who shows no token hears of nothing else.
    `origins` may come beside those that always may (W 2.2)."""
    if not authenticated:
        return _denial(401, "runner authentication required")
    offered = headers.get("sec-websocket-protocol", "").split(",")
    if SUBPROTOCOL not in [name.strip() for name in offered]:
        return _denial(400, "runner websocket subprotocol is required")
    origin = headers.get("origin", "")
    if origin and origin not in origins and not _is_near(origin, headers.get("host", "")):
        return Denial(403, b"origin is not allowed", {"content-type": "text/plain"})
    return None


def _is_near(origin: str, host: str) -> bool:
    """Whether a page of this origin is of this machine, or of the server itself."""
    try:
        parts = urlsplit(origin)
        name = parts.hostname or ""
    except ValueError:
        return False
    return _LOOPBACK.fullmatch(name) is not None or parts.netloc.lower() == host.lower()


def _denial(status: int, error: str) -> Denial:
    body = go_json.dump({"error": error, "status": status, "success": False})
    return Denial(status, body.encode(), {"content-type": "application/json"})


def canonical_server(url: str) -> str:
    """A control plane's base URL in its one form: lower case, no default port, no dots.

    Raises: `BadServer`.
    """
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise BadServer("the control plane's URL cannot be read") from None
    if scheme not in _PORTS or not host:
        raise BadServer("expected http://HOST or https://HOST as the control plane's URL")
    if scheme == "http" and _LOOPBACK.fullmatch(host) is None:
        raise BadServer("http is for loopback only; use https")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise BadServer("the control plane's URL has no user, query or fragment")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, _PORTS[scheme]) else f"{shown}:{port}"
    return f"{scheme}://{place}{_path(parts.path)}"


def _path(path: str) -> str:
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(quote(unquote(segment), safe=_SAFE.replace("/", "")))
    return "".join(f"/{segment}" for segment in kept)


def websocket_url(server: str) -> str:
    """Where a runner dials, from the base URL of its control plane.

    Raises: `BadServer`.
    """
    return "ws" + canonical_server(server).removeprefix("http") + ENDPOINT
