"""The journal's interface: a closed union of writes, and errors that say what to do."""

import inspect
from typing import Any, get_args

import attrs
import pytest

from fleetgate.core.journal import api

WRITES: tuple[type[Any], ...] = get_args(api.Write)
WAITING = {"wait_room", "commit", "read", "get", "find", "open_runs", "knows", "notes"}
WAITING |= {"latest", "ended", "used", "unfreed"}
"""Calls that may wait for the storage; every other one returns at once."""


def test_the_union_holds_every_write_of_the_module() -> None:
    assert {kind.__name__ for kind in WRITES} == {
        name
        for name, value in vars(api).items()
        if isinstance(value, type)
        and attrs.has(value)
        and value.__module__ == api.__name__
        and name.startswith(("Put", "Append", "Mark", "Forget", "Free"))
    }


@pytest.mark.parametrize("kind", [*WRITES, api.OpenOrder, api.OpenRun, api.RunFilter, api.Pressure])
def test_what_goes_in_and_out_is_a_value(kind: type[Any]) -> None:
    assert kind.__doc__
    assert "__slots__" in vars(kind)
    assert kind.__setattr__ is not object.__setattr__, "it can be written to"


def test_only_what_may_wait_is_async() -> None:
    calls = inspect.getmembers(api.Journal, inspect.isfunction)
    assert {name for name, call in calls if inspect.iscoroutinefunction(call)} == WAITING
    assert {name for name, _ in calls if name not in WAITING} == {"enqueue", "pressure", "watch"}


def test_a_journal_without_its_calls_cannot_be_made() -> None:
    cls: Any = api.Journal
    with pytest.raises(TypeError, match="abstract"):
        cls()


def test_whoever_catches_a_journal_error_catches_them_all() -> None:
    errors = [
        value
        for value in vars(api).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert len(errors) >= 4
    assert all(issubclass(kind, api.JournalError) for kind in errors)
