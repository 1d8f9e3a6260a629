"""From a command line to a running gateway, and what to say where it does not work."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import trio

from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable
from fleetgate.gateway.commands import exits
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.places import place_of
from fleetgate.gateway.printable import printable

ADMIN_VARIABLE: Final = "GATEWAY_ADMIN"


class UsageError(Exception):
    """The command line makes no sense; the text says what to write."""


def find_admin(arguments: Namespace, environment: Mapping[str, str]) -> str:
    """The admin socket: `--admin`, or that of `--config`, or `GATEWAY_ADMIN`.

    Raises: `UsageError`.
    """
    if arguments.admin:
        return _checked("--admin", str(arguments.admin))
    if arguments.config:
        return _of_config(arguments.config)
    if found := environment.get(ADMIN_VARIABLE):
        return _checked(ADMIN_VARIABLE, found)
    raise UsageError(
        f"which gateway? Say --admin ADDRESS or --config FILE, or set {ADMIN_VARIABLE}"
    )


def _checked(where: str, address: str) -> str:
    if place_of(address) is None:
        raise UsageError(f"{where}: {address!r} is no address; use unix:PATH or 127.0.0.1:PORT")
    return address


def _of_config(path: str) -> str:
    # Imported here: a command that is told the address needs no TOML.
    from fleetgate.gateway.config import ConfigError, read_gateway

    try:
        return read_gateway(path).admin
    except ConfigError as error:
        raise UsageError(str(error)) from None


def ask(
    arguments: Namespace,
    question: Callable[[AdminClient], Awaitable[int]],
    *,
    refused: int = exits.FAILED,
    unreachable: int = exits.UNREACHABLE,
) -> int:
    """Ask the gateway that `arguments` name; answers the exit code of `question`, or what was
    given for a refusal and for a gateway that does not answer."""
    try:
        return trio.run(question, AdminClient(find_admin(arguments, os.environ)))
    except UsageError as error:
        complain(str(error))
        return exits.USAGE
    except (AdminError, Unreachable, BaseExceptionGroup) as error:
        return _code_of(unwrapped(error), refused, unreachable)


def _code_of(error: BaseException, refused: int, unreachable: int) -> int:
    match error:
        case AdminError():
            complain(f"{error.message} ({error.code})")
            return refused
        case Unreachable():
            complain(str(error))
            return unreachable
        case KeyboardInterrupt():
            return exits.CANCELED
        case _:
            raise error


def complain(text: str) -> None:
    """Say on stderr why it does not work."""
    print(f"gateway: {printable(text)}", file=sys.stderr)  # noqa: T201
