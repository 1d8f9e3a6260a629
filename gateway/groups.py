"""Errors that nurseries put into groups."""

from __future__ import annotations

from typing import cast


def unwrapped(error: BaseException) -> BaseException:
    """The one error in groups of one."""
    inner: BaseException | None = error
    while inner is not None:
        error, inner = inner, _only(inner)
    return error


def _only(error: BaseException) -> BaseException | None:
    if not isinstance(error, BaseExceptionGroup):
        return None
    inner = cast(BaseExceptionGroup[BaseException], error).exceptions
    return inner[0] if len(inner) == 1 else None
