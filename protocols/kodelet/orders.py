"""What a control plane does for the core's orders."""

from __future__ import annotations

from fleetgate.core import commands as c
from fleetgate.core.commands import Order
from fleetgate.core.errors import UnsupportedInput
from fleetgate.protocols.api import NO_STEPS, Settle, Steps
from fleetgate.protocols.kodelet.errands import Errands
from fleetgate.protocols.kodelet.proxy import Proxy
from fleetgate.protocols.kodelet.wards import Wards


def performed(order: Order, now: int, wards: Wards, errands: Errands, proxy: Proxy) -> Steps:
    """Perform an order: start what it starts, or settle it."""
    command = order.command
    if isinstance(command, c.StartRun):
        errand = errands.start(order, command.spec)
        return wards.start(order, command.spec) if errand is None else errand
    steps = errands.perform(order)
    if steps is not None:
        return steps
    ward = wards.of(order.run)
    match command:
        case c.CancelRun() | c.SignalRun():
            steps = NO_STEPS if ward is None else wards.cancel(ward, now)
            return (Settle(order.run, order.number), *steps)
        case c.ResolveApproval():
            proxy.resolve(ward, command)
            return (Settle(order.run, order.number),)
        case _:
            what = type(command).__name__
            refusal = UnsupportedInput(f"a runner takes no {what}; start a new run instead")
            return (Settle(order.run, order.number, refusal),)
