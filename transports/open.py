"""The way in: an address and options to a listener or a dialer, whatever the carriage."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from types import ModuleType
from typing import Final, TypeAlias

from fleetgate.transports.address import DEFAULT_PORTS, GRPC, Address, parse_address
from fleetgate.transports.api import AddressError, Dialer, Listener, Options
from fleetgate.transports.framing import FRAMINGS
from fleetgate.transports.memory import MemoryDialer, open_memory_listener
from fleetgate.transports.stdio import StdioDialer, open_stdio_listener
from fleetgate.transports.tcp import TcpDialer, open_tcp_listener
from fleetgate.transports.tls import TlsDialer, check_tls_files, open_tls_listener
from fleetgate.transports.unix import UnixDialer, check_path, open_unix_listener

_OpenListener: TypeAlias = Callable[[Address, Options], AbstractAsyncContextManager[Listener]]
_OpenDialer: TypeAlias = Callable[[Address, Options], AbstractAsyncContextManager[Dialer]]


def _plain(dialer: Callable[[Address, Options], Dialer]) -> _OpenDialer:
    """A dialer whose links need nothing in the background."""
    return lambda address, options: nullcontext(dialer(address, options))


def _grpc() -> ModuleType:
    """Imported where it is used: trio-asyncio replaces asyncio's loop policy for the process, and
    runs on fewer versions of Python than we do. Who has no gRPC address has neither."""
    try:
        from fleetgate.transports import grpc
    except (ImportError, AttributeError) as error:
        version = ".".join(map(str, sys.version_info[:2]))
        raise AddressError(
            f"gRPC cannot be used on Python {version}: trio-asyncio cannot be imported; "
            "use Python 3.11 to 3.13"
        ) from error
    return grpc


def _open_grpc_listener(
    address: Address, options: Options
) -> AbstractAsyncContextManager[Listener]:
    opened: AbstractAsyncContextManager[Listener] = _grpc().open_grpc_listener(address, options)
    return opened


def _open_grpc_dialer(address: Address, options: Options) -> AbstractAsyncContextManager[Dialer]:
    opened: AbstractAsyncContextManager[Dialer] = _grpc().open_grpc_dialer(address, options)
    return opened


def _open_websocket_listener(
    address: Address, options: Options
) -> AbstractAsyncContextManager[Listener]:
    from fleetgate.transports.websocket import open_websocket_listener  # not for nothing: 50 ms

    return open_websocket_listener(address, options)


def _open_websocket_dialer(
    address: Address, options: Options
) -> AbstractAsyncContextManager[Dialer]:
    from fleetgate.transports.websocket import open_websocket_dialer

    return open_websocket_dialer(address, options)


_LISTENERS: Final[dict[str, _OpenListener]] = {
    "unix": open_unix_listener,
    "tcp": open_tcp_listener,
    "tls": open_tls_listener,
    "ws": _open_websocket_listener,
    "wss": _open_websocket_listener,
    "grpc": _open_grpc_listener,
    "grpcs": _open_grpc_listener,
    "stdio": open_stdio_listener,
    "memory": open_memory_listener,
}

_DIALERS: Final[dict[str, _OpenDialer]] = {
    "unix": _plain(UnixDialer),
    "tcp": _plain(TcpDialer),
    "tls": _plain(TlsDialer),
    "ws": _open_websocket_dialer,
    "wss": _open_websocket_dialer,
    "grpc": _open_grpc_dialer,
    "grpcs": _open_grpc_dialer,
    "stdio": _plain(StdioDialer),
    "memory": _plain(MemoryDialer),
}

_STREAMS: Final = ("unix", "tcp", "tls", "stdio")
_TLS: Final = ("tls", "wss", "grpcs")
_ENCRYPTED: Final = {"ws": "wss://", "grpc": "grpcs://"}
_CALL: Final = re.compile(r"/[A-Za-z0-9_.]+/[A-Za-z0-9_]+")


def open_listener(address: str, options: Options) -> AbstractAsyncContextManager[Listener]:
    """Bind `address`; it is bound until the end of the block, and dialling works from the start
    of it. `serve` runs inside the block.

    Raises: `AddressError` at the call, `ListenFailed` on entering.
    """
    checked = check_address(address, options, listener=True)
    return _LISTENERS[checked.scheme](checked, options)


def open_dialer(address: str, options: Options) -> AbstractAsyncContextManager[Dialer]:
    """A way to reach `address`. Entering touches nothing yet. Links that need a task in the
    background (WebSocket, gRPC) have it in this block: leaving it drops those that still live.

    Raises: `AddressError` at the call.
    """
    checked = check_address(address, options, listener=False)
    return _DIALERS[checked.scheme](checked, options)


def check_address(address: str, options: Options, listener: bool) -> Address:
    """Whether the address and the options beside it make sense. Reads certificate files; binds
    and dials nothing.

    Raises: `AddressError`.
    """
    parsed = parse_address(address)
    if options.limit < 1:
        raise AddressError(f"the limit of a frame is at least 1 byte, not {options.limit}")
    if parsed.scheme in _STREAMS and not options.framing:
        raise _not_carried(parsed)
    if parsed.scheme in _STREAMS and options.framing not in FRAMINGS:
        raise AddressError(f"no framing {options.framing!r}: wanted one of {', '.join(FRAMINGS)}")
    if parsed.scheme == "unix":
        check_path(parsed.path)
    if parsed.host and parsed.port == 0 and not listener:
        raise AddressError(f"{address} cannot be dialled: port 0 is for listening")
    if listener and parsed.scheme in DEFAULT_PORTS and "?" in parsed.path:
        raise AddressError(f"{address} cannot be listened at: the path there has no query")
    if parsed.scheme in GRPC:
        _check_grpc(parsed, options, listener)
    _check_tls(parsed, options, listener)
    return parsed


def _not_carried(address: Address) -> AddressError:
    spoken = "what is spoken there is not carried over"
    return AddressError(f"{address} cannot be used: {spoken} {address.scheme}:")


def _check_grpc(address: Address, options: Options, listener: bool) -> None:
    use = options.grpc
    if use is None:
        raise _not_carried(address)
    paths = tuple(use.calls) if listener else (use.dial,)
    if not paths:
        raise AddressError(f"{address} has no method to serve")
    for path in paths:
        if not _CALL.fullmatch(path):
            raise AddressError(f"{path!r} is no method of gRPC: wanted /package.Service/Method")
    _grpc()


def _check_tls(address: Address, options: Options, listener: bool) -> None:
    if address.scheme in _TLS:
        if options.tls is None and listener:
            raise AddressError(f"{address} needs a certificate and a key to listen")
        if options.tls is not None:
            check_tls_files(options.tls, listener)
    elif options.tls is not None:
        better = _ENCRYPTED.get(address.scheme, "tls://")
        raise AddressError(f"{address} is not encrypted, yet certificates are set: use {better}")
