"""What becomes of a request: its handler's answer, a refusal, or a fault of ours (W 5.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from fleetgate.protocols.api import NO_STEPS, Report, Steps
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import errors, wire
from fleetgate.protocols.kodelet.errors import INTERNAL, RpcError, invalid
from fleetgate.protocols.kodelet.peer import Called, Peer
from fleetgate.protocols.kodelet.structs import read

_T = TypeVar("_T")
Handler: TypeAlias = Callable[[Called], Steps]
"""Answers a request through the peer, now or later."""


class Refused(Exception):
    """A request is answered with an error."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


def check(error: RpcError | None) -> None:
    """Raises: `Refused`, where there is an error."""
    if error is not None:
        raise Refused(error)


def read_params(kind: type[_T], called: Called, absent: RpcError | None = None) -> _T:
    """The params of a request; null is all zero values. `absent` refuses a request without any.

    Raises: `Refused`, `Malformed`.
    """
    if called.params is not wire.ABSENT:
        return read(kind, called.params)
    check(absent)
    return kind()


def handle(peer: Peer, called: Called, handler: Handler | None) -> Steps:
    """Have a request handled. A handler that raises costs its request and not the link."""
    if handler is None:
        peer.fail(called.id, errors.NO_HANDLER)
        return NO_STEPS
    try:
        return handler(called)
    except Refused as refused:
        peer.fail(called.id, refused.error)
    except Malformed as error:
        peer.fail(called.id, invalid(str(error)))
    except Exception as error:  # ours: the text of it could hold a payload, so its kind is told
        what = type(error).__name__
        peer.fail(called.id, RpcError(INTERNAL, f"runner rpc handler panic: {what}"))
        return (Report("kodelet_handler_fault", f"{called.method[:64]}: {what}"),)
    return NO_STEPS
