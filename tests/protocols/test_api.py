"""The seam between driver and adapter: a closed union of steps, and an idle connection."""

import inspect
from typing import Any, get_args

import attrs
import pytest

from fleetgate.protocols import api

STEPS: tuple[type[Any], ...] = get_args(api.Step)
PARTS = (api.Opening, api.Side, api.Adapter)

CALLS = {
    name: call
    for name, call in inspect.getmembers(api.Connection, inspect.isfunction)
    if not name.startswith("_")
}


def test_the_union_holds_every_step_of_the_module() -> None:
    written = {
        value
        for value in vars(api).values()
        if isinstance(value, type) and attrs.has(value) and value.__module__ == api.__name__
    }
    assert written - set(PARTS) == set(STEPS)


@pytest.mark.parametrize("kind", [*STEPS, *PARTS], ids=lambda kind: kind.__name__)
def test_a_step_is_a_value(kind: type[Any]) -> None:
    assert kind.__doc__
    assert "__slots__" in vars(kind)
    assert kind.__setattr__ is not object.__setattr__, "it can be written to"


@pytest.mark.parametrize("name", CALLS)
def test_a_connection_that_overrides_nothing_wants_nothing(name: str) -> None:
    needed = len(inspect.signature(CALLS[name]).parameters) - 1
    assert getattr(api.Connection(), name)(*[None] * needed) is api.NO_STEPS


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_told_the_time_and_never_waits(name: str) -> None:
    assert list(inspect.signature(CALLS[name]).parameters)[-1] == "now"
    assert not inspect.iscoroutinefunction(CALLS[name])
    assert CALLS[name].__doc__


def test_a_protocol_error_says_whose_fault_it_was() -> None:
    with pytest.raises(TypeError, match="whose fault"):
        api.ProtocolError("somebody did something")
    answers = (api.Send(b"no"), api.Close(1002, "no"))
    for kind in (api.RemoteProtocolError, api.LocalProtocolError):
        assert kind("what", answers).steps == answers
        assert kind("what").steps == ()


def test_an_opening_keeps_credentials_and_entropy_out_of_a_repr() -> None:
    assert api.Opening("edge").identify("anything") is None
    opening = api.Opening(
        "edge", headers={"authorization": "Bearer 5ecret"}, entropy=b"5ecret", token="5ecret"
    )
    assert "5ecret" not in repr(opening)
