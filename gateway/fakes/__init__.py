"""Fake peers: one side of one protocol, as a program for any language, or in a Python test.

A *fake* is an entry of the gateway with a hub of its own: the same adapter, driver and
journal. Its *front end* speaks JSON lines on standard input and output: *operations* come
in and are *answered*; what happens meanwhile goes out as *event lines*. A *controller*
(such as an agency client) starts runs; a *worker* (such as an rvbox client) executes them.

In Python a fake is an async context manager of trio's, and its operations are methods:

    async with AgencyDaemon(socket=path) as daemon:
        await daemon.expect("frame", dir="in", name="hello")

`fleetgate.gateway.fakes.threads` has the same for tests without a loop, and `pytest_plugin`
fixtures for both. docs/reference/python.md lists all names. Each is imported when it is used: the
command line needs one fake, and the pytest plugin none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fleetgate.core.errors import InvalidArgument, Refusal, RunNotFound
    from fleetgate.gateway.fakes.fake import CannotStart, Fake, NoAnswer, NotOpen
    from fleetgate.gateway.fakes.options import BadOption
    from fleetgate.gateway.fakes.peers import (
        AgencyClient,
        AgencyDaemon,
        IopEdge,
        IopNode,
        KodeletControlPlane,
        KodeletRunner,
        RvboxClient,
        RvboxServer,
    )
    from fleetgate.gateway.fakes.roles import Controller, Worker
    from fleetgate.gateway.fakes.seen import Frame, NotSeen

__all__ = [
    "AgencyClient",
    "AgencyDaemon",
    "BadOption",
    "CannotStart",
    "Controller",
    "Fake",
    "Frame",
    "InvalidArgument",
    "IopEdge",
    "IopNode",
    "KodeletControlPlane",
    "KodeletRunner",
    "NoAnswer",
    "NotOpen",
    "NotSeen",
    "Refusal",
    "RunNotFound",
    "RvboxClient",
    "RvboxServer",
    "Worker",
]

_ELSEWHERE: Final = {
    "BadOption": "fleetgate.gateway.fakes.options",
    "CannotStart": "fleetgate.gateway.fakes.fake",
    "Controller": "fleetgate.gateway.fakes.roles",
    "Fake": "fleetgate.gateway.fakes.fake",
    "Frame": "fleetgate.gateway.fakes.seen",
    "InvalidArgument": "fleetgate.core.errors",
    "NoAnswer": "fleetgate.gateway.fakes.fake",
    "NotOpen": "fleetgate.gateway.fakes.fake",
    "NotSeen": "fleetgate.gateway.fakes.seen",
    "Refusal": "fleetgate.core.errors",
    "RunNotFound": "fleetgate.core.errors",
    "Worker": "fleetgate.gateway.fakes.roles",
}
"""Where a name is that is not of `peers`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "fleetgate.gateway.fakes.peers")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
