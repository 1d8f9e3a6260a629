"""The one error in groups of one."""

from __future__ import annotations

from fleetgate.gateway.groups import unwrapped


def test_the_error_in_groups_of_one_is_itself() -> None:
    error = ZeroDivisionError()
    assert unwrapped(error) is error
    assert unwrapped(ExceptionGroup("", [ExceptionGroup("", [error])])) is error


def test_of_two_errors_none_is_the_one() -> None:
    two = ExceptionGroup("", [ZeroDivisionError(), ValueError()])
    assert unwrapped(two) is two
    assert unwrapped(ExceptionGroup("", [two])) is two
