"""What the command lines of `gateway record` and `gateway replay` have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio

from fleetgate.gateway.config_entries import SecretUnreadable
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.printable import printable
from fleetgate.gateway.recording.reading import Unusable
from fleetgate.gateway.recording.recorder import CannotRecord
from fleetgate.transports.api import AddressError, LinkError, TlsFiles

_T = TypeVar("_T")

OK: Final = 0
BAD: Final = 2
"""The command line, or the recording, makes no sense."""

_KNOWN: Final = (LinkError, AddressError, Unusable, CannotRecord, SecretUnreadable)


def add_tls(parser: argparse.ArgumentParser) -> None:
    """Certificates, as everywhere."""
    parser.add_argument("--tls-ca", metavar="FILE", help="verifies the peer's certificate")
    parser.add_argument("--tls-cert", metavar="FILE", help="our own certificate")
    parser.add_argument("--tls-key", metavar="FILE", help="its key")


def tls_of(arguments: argparse.Namespace, address: str) -> TlsFiles | None:
    """The files that were named, for an address that is encrypted."""
    files = TlsFiles(arguments.tls_cert, arguments.tls_key, arguments.tls_ca)
    encrypted = address.startswith(("tls:", "wss:", "grpcs:"))
    return files if encrypted and files != TlsFiles() else None


def run_work(command: str, work: Callable[[], Awaitable[int]], otherwise: int) -> int:
    """Run a command to its end; answers its exit code. What stops it is said on standard error, and
    is `BAD`, or `otherwise` where nothing is wrong with what was asked for."""
    try:
        return trio.run(work)
    except (*_KNOWN, BaseExceptionGroup) as group:
        error = unwrapped(group)
        if not isinstance(error, _KNOWN):
            raise
        sys.stderr.write(printable(f"gateway {command}: {error}\n"))
        return BAD if isinstance(error, AddressError | Unusable) else otherwise
