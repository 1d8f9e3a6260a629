"""Addresses, written as URLs: where a listener is bound and what a dialer reaches."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

import attrs

from fleetgate.transports.api import AddressError

FORMS: Final = {
    "unix": "unix:/path/to/socket",
    "tcp": "tcp://HOST:PORT",
    "tls": "tls://HOST:PORT",
    "ws": "ws://HOST[:PORT]/PATH",
    "wss": "wss://HOST[:PORT]/PATH",
    "grpc": "grpc://HOST:PORT",
    "grpcs": "grpcs://HOST:PORT",
    "stdio": "stdio:",
    "memory": "memory:NAME",
}
"""Each scheme with the form that is wanted."""

WITHIN: Final = ("stdio", "memory")
"""What leads to whoever started this process, or stays within it: for tests and other code."""

DEFAULT_PORTS: Final = {"ws": 80, "wss": 443}

GRPC: Final = ("grpc", "grpcs")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@attrs.frozen(slots=True)
class Address:
    """One address. `path` is the socket's path, the resource of a WebSocket (empty: none was
    given) or the name in memory. An IPv6 `host` has no brackets. `str()` is the URL."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def netloc(self) -> str:
        """Host and port as they stand in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        if self.host:
            return f"{self.scheme}://{self.netloc}{self.path}"
        return f"{self.scheme}:{self.path}"


def parse_address(text: str) -> Address:
    """Read a URL-style address. Port 0 is let through: a listener takes any free port.

    Raises: `AddressError`, whose text shows the form that is wanted.
    """
    scheme, colon, rest = text.partition(":")
    if not colon or scheme not in FORMS:
        raise _no_address(text)
    if _CONTROL.search(text) or (" " in text and scheme != "unix"):
        raise _unwanted(text, scheme, "it holds a space or a control character")
    if scheme == "stdio":
        if rest:
            raise _unwanted(text, scheme, "nothing follows the colon")
        return Address(scheme)
    if scheme == "memory":
        if not _NAME.fullmatch(rest):
            raise _unwanted(
                text, scheme, "a name is at most 100 letters, digits, dots, dashes or underscores"
            )
        return Address(scheme, path=rest)
    if scheme == "unix":
        if not rest or rest.startswith("//"):
            raise _unwanted(text, scheme, "one path follows the colon")
        return Address(scheme, path=rest)
    return _parse_network(text, scheme)


def check_reached(text: str) -> None:
    """Whether an address is one at which other processes are met.

    Raises: `AddressError`.
    """
    if parse_address(text).scheme in WITHIN:
        raise _no_address(text)


def _no_address(text: str) -> AddressError:
    forms = ", ".join(form for scheme, form in FORMS.items() if scheme not in WITHIN)
    return AddressError(f"{_shown(text)} is no address: wanted one of {forms}")


def _parse_network(text: str, scheme: str) -> Address:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        # Not in its words: they quote the text too.
        raise _unwanted(text, scheme, "host and port cannot be read") from None
    if not host:
        raise _unwanted(text, scheme, "the host is missing")
    if parts.username is not None or parts.password is not None:
        raise AddressError(f"an address holds no user name or password: wanted {FORMS[scheme]}")
    if port is None:
        if scheme not in DEFAULT_PORTS:
            raise _unwanted(text, scheme, "the port is missing")
        port = DEFAULT_PORTS[scheme]
    if "[" in parts.netloc:
        _check_ipv6(text, scheme, host)
    return Address(scheme, host, port, _resource(text, scheme, parts))


def _check_ipv6(text: str, scheme: str, host: str) -> None:
    try:
        IPv6Address(host)
    except ValueError:
        raise _unwanted(text, scheme, "brackets hold an IPv6 address") from None


def _resource(text: str, scheme: str, parts: SplitResult) -> str:
    if "#" in text:
        raise _unwanted(text, scheme, "an address has no fragment")
    if scheme in DEFAULT_PORTS:
        if not text.isascii():
            raise _unwanted(text, scheme, "write other than ASCII characters as %XX")
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.path or '/'}{query}" if query else parts.path
    if parts.path or "?" in text:
        raise _unwanted(text, scheme, "nothing follows the port")
    return ""


def _unwanted(text: str, scheme: str, why: str) -> AddressError:
    return AddressError(f"{_shown(text)} cannot be used: {why}; wanted {FORMS[scheme]}")


def _shown(text: str) -> str:
    """The text for people, without what stands before an @: it may be a secret."""
    _secret, at, rest = text.rpartition("@")
    return repr(f"...@{rest}" if at else text)
