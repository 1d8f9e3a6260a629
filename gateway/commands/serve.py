"""`gateway serve`: the gateway itself."""

from __future__ import annotations

import os
import signal
import uuid
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from fleetgate import __version__
from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.admin.api import Api
from fleetgate.gateway.admin.server import open_admin
from fleetgate.gateway.check import load_usable
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.asking import complain
from fleetgate.gateway.config import Config, ConfigError
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.heap import settle
from fleetgate.gateway.keeper import Keeper
from fleetgate.gateway.logs import Log, Said, kind_of, trace_of
from fleetgate.gateway.observe import Counters, GatewayObserver, bridged_logging
from fleetgate.gateway.recording.onlookers import Onlookers
from fleetgate.gateway.recording.recorder import CannotRecord, open_recorder
from fleetgate.gateway.registry import RegistryError, adapters
from fleetgate.gateway.render import Line
from fleetgate.gateway.serve import Gateway, serve
from fleetgate.protocols.api import Adapter
from fleetgate.transports.api import AddressError, LinkError

if TYPE_CHECKING:
    from fleetgate.gateway.local.pool import LocalPool


_UNSTARTED: Final = "an entry cannot start; entry_failed, further up, says which one and why"

_LOCAL: Final = (JournalError, LinkError, AddressError, CannotRecord)
"""What is wrong around us, and is said in a line: anything else is a fault of ours."""


def run(arguments: Namespace) -> int:
    """Serve until a signal ends it."""
    try:
        known = adapters()
        config = load_usable(arguments.config, known)
    except (ConfigError, RegistryError) as error:
        complain(str(error))
        return exits.FAILED
    log = Log(config.gateway.log_level)
    observer = GatewayObserver(log, Counters())

    def load() -> Config:
        config = load_usable(arguments.config, known)
        log.level = config.gateway.log_level
        return config

    log.say(Said.GATEWAY_STARTING, name=config.gateway.name, version=__version__, pid=os.getpid())
    settle()
    try:
        work = partial(serve, config, known, load, observer, AdminDoor(observer))
        with bridged_logging(log, observer.counters):
            code = trio.run(_recorded, work, arguments.record, known, log)
    except (*_LOCAL, BaseExceptionGroup) as error:
        return _failed(log, unwrapped(error))
    if code:
        log.say(Said.GATEWAY_FAILED, reason=_UNSTARTED)
    else:
        log.say(Said.GATEWAY_STOPPED)
    return code


async def _recorded(
    work: Callable[..., Awaitable[int]],
    path: str | None,
    known: Mapping[str, Adapter],
    log: Log,
) -> int:
    """Serve, and write down what crosses the links if there is a file for it."""
    if path is None:
        return await work()
    clock, versions = Clock(), {name: each.showing.version for name, each in known.items()}

    def failed(reason: str) -> None:
        log.say(Said.RECORDING_FAILED, reason=reason)

    async with open_recorder(path, clock, versions, failed) as recorder:
        return await work(wrap=Onlookers(known, clock, recorder.put).wrap)


def _failed(log: Log, error: BaseException) -> int:
    if not isinstance(error, _LOCAL):
        raise error
    log.say(Said.GATEWAY_FAILED, reason=str(error))
    return exits.FAILED


class AdminDoor:
    """Serves the admin socket of a gateway, once it is at work."""

    def __init__(self, observer: GatewayObserver) -> None:
        self._log = observer.log
        self._counters = observer.counters
        self._drained = False

    async def __call__(
        self, gateway: Gateway, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until cancelled; started once the socket is bound.

        Raises: `AddressError`, `ListenFailed`, before it has started.
        """
        status = partial(status_line, gateway, self._counters)
        api = Api(gateway.house.hub, status, self._drain, lambda: str(uuid.uuid4()))
        async with open_admin(gateway.config.gateway.admin) as server:
            self._log.say(Said.ADMIN_LISTENING, address=server.address)
            task_status.started()
            await server.serve(api.handle, self._fault)

    def _drain(self) -> None:
        """As an operator would from a shell, so that there is one way to drain. Only once: a
        second signal would end the process at once."""
        if not self._drained:
            self._drained = True
            os.kill(os.getpid(), signal.SIGTERM)

    def _fault(self, error: Exception) -> None:
        self._counters.count("admin_faults")
        self._log.say(Said.ADMIN_FAULT, error=kind_of(error), trace=trace_of(error))


def status_line(gateway: Gateway, counters: Counters) -> Line:
    """The gateway as a whole, for `GET /v1/status`."""
    pressure = gateway.house.hub.pressure()
    return {
        "name": gateway.config.gateway.name,
        "version": __version__,
        "pid": os.getpid(),
        "config": gateway.config.path,
        "uptime": round(trio.current_time() - gateway.started, 3),
        "draining": gateway.house.hub.draining,
        "journal": {
            "url": gateway.config.gateway.journal,
            "items": pressure.items,
            "bytes": pressure.size,
            "failing": pressure.failing,
            "damaged": pressure.damaged,
            "full": gateway.house.hub.retention.full,
        },
        "entries": [
            *(_entry_line(keeper) for keeper in gateway.house.keepers),
            *(_pool_line(pool) for pool in gateway.house.pools),
        ],
        "counters": counters.snapshot(),
    }


def _entry_line(keeper: Keeper) -> Line:
    entry = keeper.entry
    return {
        "entry": entry.name,
        "facing": entry.facing,
        "protocol": entry.protocol,
        "address": entry.address,
        "listens": entry.listens,
        "links": [_link_line(driver) for driver in keeper.drivers],
    }


def _pool_line(pool: LocalPool) -> Line:
    """A local pool, in the form of the entry that it stands for."""
    return {
        "entry": pool.name,
        "facing": "south",
        "protocol": "local",
        "address": pool.address,
        "listens": False,
        "links": [],
    }


def _link_line(driver: Driver) -> Line:
    """A link's peer and traffic. `silent` is the seconds since the last byte came, `quiet` since
    the last one went."""
    seen = driver.link.statistics()
    now = trio.current_time()
    return {
        "peer": driver.link.opening.peer,
        "worker": driver.worker,
        "frames_in": seen.frames_in,
        "frames_out": seen.frames_out,
        "bytes_in": seen.bytes_in,
        "bytes_out": seen.bytes_out,
        "silent": None if seen.last_in is None else round(now - seen.last_in, 3),
        "quiet": None if seen.last_out is None else round(now - seen.last_out, 3),
    }
