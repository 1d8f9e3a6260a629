"""Orders as requests to a daemon, and its answers to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from fleetgate.core import commands as c
from fleetgate.core.commands import Order, Signal
from fleetgate.core.errors import InvalidArgument, Refusal, UnsupportedInput, WorkerFailed
from fleetgate.core.events import InputAccepted
from fleetgate.core.worker import Reports
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.refusals import to_refusal
from fleetgate.protocols.agency.state import knows
from fleetgate.protocols.agency.tracking import Tracked
from fleetgate.protocols.agency.translate import from_account, from_decision, from_provider
from fleetgate.protocols.api import Record, Settle, Steps

_UNABLE: Final[Mapping[type[c.RunCommand], str]] = {
    c.ResizeTerminal: "an agency daemon has no terminals",
    c.SupplyScript: "an agency daemon takes no scripts",
}


def from_command(order: Order, tracked: Tracked, minor: int) -> wire.ClientMessage | Refusal:
    """What to ask the daemon for; a refusal where a daemon of this minor can do nothing of the
    kind. Not for starts."""
    run, command = order.run, order.command
    match command:
        case c.SendInput(data=data, newline=whole):
            body = tracked.input.decode(data, final=whole)
            return wire.InjectMessage(run, body, f"{run}:inject:{order.number}")
        case c.CloseInput():
            return UnsupportedInput("an agency daemon's input has no end; cancel the run to end it")
        case c.CancelRun():
            return _cancel(order)
        case c.SignalRun(signal=signal):
            return _signal(order, signal, tracked, minor)
        case c.ResolveApproval(approval=approval, decision=chosen):
            decision = from_decision(chosen)
            if decision is None:
                return InvalidArgument("an agency daemon takes no value as a decision")
            return wire.DecideApproval(run, approval, decision, f"{run}:approval:{approval}")
        case c.ResizeTerminal() | c.SupplyScript():
            return InvalidArgument(_UNABLE[type(command)])
        case c.StartRun():
            raise TypeError("a start is no order about a run that is there")
        case _:
            assert_never(command)


def _cancel(order: Order) -> wire.CancelRun:
    return wire.CancelRun(order.run, f"{order.run}:cancel")


def _signal(
    order: Order, signal: Signal, tracked: Tracked, minor: int
) -> wire.ClientMessage | Refusal:
    """From minor 4 on a daemon can interrupt a turn and let the run live; before that an
    interrupt ends the run, as it ends most programs."""
    if signal is Signal.HANGUP:
        return InvalidArgument("an agency daemon cannot hang up on a run; terminate it")
    if signal is Signal.INTERRUPT and tracked.session is not None:
        asked, key = tracked.request, f"{order.run}:interrupt:{order.number}"
        message = wire.InterruptSession(asked.provider, tracked.session, key, binary=asked.binary)
        if knows(minor, message):
            return message
    return _cancel(order)


def refusal_in(message: wire.ClientMessage, response: wire.ServerResponse) -> Refusal | None:
    """Why the daemon did not do it; None where it did. That a run to be canceled was canceled
    before, or has ended, is as good as done."""
    match response:
        case wire.SessionInterrupted(interrupted=False):
            return WorkerFailed("the daemon found no turn to interrupt")
        case wire.Error(code=wire.ErrorCode.CONFLICT) if isinstance(message, wire.CancelRun):
            return None
        case wire.Error():
            return to_refusal(response)
        case _:
            return None


def reports_in(response: wire.ServerResponse) -> Reports | Refusal:
    """What the daemon reports of its providers or its accounts."""
    match response:
        case wire.Providers(providers=providers):
            return tuple(map(from_provider, providers))
        case wire.AccountUsage(providers=accounts):
            return tuple(map(from_account, accounts))
        case wire.Error():
            return to_refusal(response)
        case _:
            return WorkerFailed("the daemon has no answer")


def settled(order: Order, refusal: Refusal | None) -> Steps:
    """The daemon has taken the order, or has not; of an input it is an event that it has."""
    settled = Settle(order.run, order.number, refusal)
    if refusal is not None or not order.input:
        return (settled,)
    return (settled, Record(order.run, (InputAccepted(order.input),)))
