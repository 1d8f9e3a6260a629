"""Orders as requests, and answers to them."""

from typing import Any, get_args

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core.commands import Order, Signal
from fleetgate.core.events import Decision, InputAccepted
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.orders import from_command, refusal_in, reports_in, settled
from fleetgate.protocols.agency.testing import REQUEST
from fleetgate.protocols.agency.tracking import Tracked
from fleetgate.protocols.api import Record, Settle

RUN = RunId("r")
CANCEL = wire.CancelRun("r", "r:cancel")


def message(command: c.RunCommand, minor: int = 3, **members: Any) -> Any:
    tracked = Tracked(RUN, attrs.evolve(REQUEST, binary="/b"), **members)
    return from_command(Order(RUN, OrderNumber(4), command), tracked, minor)


SAMPLES: dict[type, c.RunCommand] = {
    c.SupplyScript: c.SupplyScript(RUN, b""),
    c.SendInput: c.SendInput(RUN, b"x"),
    c.CloseInput: c.CloseInput(RUN),
    c.SignalRun: c.SignalRun(RUN, Signal.KILL),
    c.CancelRun: c.CancelRun(RUN),
    c.ResolveApproval: c.ResolveApproval(RUN, "a", Decision.DENY),
    c.ResizeTerminal: c.ResizeTerminal(RUN, 1, 2),
}


def test_every_command_but_a_start_has_its_place() -> None:
    assert {*SAMPLES, c.StartRun} == set(get_args(c.RunCommand))
    for command in SAMPLES.values():
        known = (*get_args(wire.ClientMessage), errors.Refusal)
        assert isinstance(message(command), known)
    start = c.StartRun(RUN, c.RunSpec(c.Prompt("p")), c.Origin("a", "b"))
    with pytest.raises(TypeError):
        message(start)


def test_what_becomes_of_each_signal() -> None:
    for signal in (Signal.TERMINATE, Signal.KILL, Signal.INTERRUPT):
        assert message(c.SignalRun(RUN, signal), session="s") == CANCEL
    assert isinstance(message(c.SignalRun(RUN, Signal.HANGUP)), errors.InvalidArgument)
    interrupt = c.SignalRun(RUN, Signal.INTERRUPT)
    assert message(interrupt, minor=4) == CANCEL
    assert message(interrupt, minor=4, session="s") == wire.InterruptSession(
        "claude", "s", "r:interrupt:4", binary="/b"
    )


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert message(c.SendInput(RUN, b"a\xff", newline=True)).body == "a\ufffd"


NOT_FOUND = wire.Error(wire.ErrorCode.NOT_FOUND, "run does not exist")
TAKEN = wire.Error(wire.ErrorCode.CONFLICT, "run already exists")


def test_answers() -> None:
    inject = wire.InjectMessage("r", "b", "k")
    assert refusal_in(CANCEL, wire.Accepted()) is None
    assert refusal_in(CANCEL, TAKEN) is None
    assert isinstance(refusal_in(inject, TAKEN), errors.Conflict)
    assert isinstance(refusal_in(CANCEL, NOT_FOUND), errors.RunNotFound)
    assert refusal_in(inject, wire.SessionInterrupted(True)) is None
    assert isinstance(refusal_in(inject, wire.SessionInterrupted(False)), errors.WorkerFailed)


def test_reports() -> None:
    assert reports_in(wire.Providers(())) == ()
    assert reports_in(wire.AccountUsage(())) == ()
    assert isinstance(reports_in(NOT_FOUND), errors.RunNotFound)
    assert isinstance(reports_in(wire.Accepted()), errors.WorkerFailed)


def test_a_settled_input_is_an_event_too() -> None:
    given = Order(RUN, OrderNumber(4), c.SendInput(RUN, b"x"), input=2)
    settle = Settle(RUN, OrderNumber(4))
    assert settled(given, None) == (settle, Record(RUN, (InputAccepted(2),)))
    assert settled(attrs.evolve(given, input=0), None) == (settle,)
    why = errors.WorkerFailed("no")
    assert settled(given, why) == (Settle(RUN, OrderNumber(4), why),)
