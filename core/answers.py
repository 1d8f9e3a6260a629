"""What a question is answered with. A `Refusal` (`fleetgate.core.errors`) is the other answer."""

from __future__ import annotations

from typing import TypeAlias

from fleetgate.core.commands import Order
from fleetgate.core.errors import Refusal
from fleetgate.core.ids import Epoch
from fleetgate.core.run import Run
from fleetgate.core.values import value
from fleetgate.core.worker import AccountReport, ProviderReport, WorkerStatus


@value
class Accepted:
    """The command is durable (I2). `run` is the run as it stood before the command, or
    None for a new one and for commands that are not about a run; `after` as it stands."""

    run: Run | None = None
    after: Run | None = None


@value
class RunList:
    """Runs, ordered by id in byte order. `more`: the page is full and others follow; ask for
    those after the last one."""

    runs: tuple[Run, ...]
    more: bool = False


@value
class WorkerList:
    """Workers, ordered by id."""

    workers: tuple[WorkerStatus, ...]


@value
class ProviderList:
    """What the workers say of their providers."""

    providers: tuple[ProviderReport, ...]


@value
class AccountList:
    """What the workers say of their accounts."""

    accounts: tuple[AccountReport, ...]


@value
class Held:
    """An open run that is bound to a worker, with the orders that it has not confirmed,
    in order. The start itself is not among them: `run.accepted` tells about that.
    `run.spec` is what the worker is given (the routed spec, `Run.work`)."""

    run: Run
    orders: tuple[Order, ...]


@value
class Admission:
    """A worker's link is admitted under `epoch`, durably; every older link of it is fenced.
    `held` is all that the worker may still be working on, as journaled."""

    epoch: Epoch
    held: tuple[Held, ...]


Answer: TypeAlias = (
    Accepted | RunList | WorkerList | ProviderList | AccountList | Admission | Refusal
)
