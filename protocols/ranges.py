"""What a setting may be: validators for the attrs classes of settings."""

from __future__ import annotations

from typing import Any, Final

import attrs

MOST: Final = 10**12
"""Seconds that a setting may be at most, or bytes or things: more than anybody waits for or has,
and a time that clocks can count. More is refused."""


def positive(_: Any, member: attrs.Attribute[Any], value: float) -> None:
    """Above 0: a time that must pass, a number of things of which there must be one."""
    if value <= 0:
        raise ValueError(f"{member.name} must be above 0")
    _not_endless(member, value)


def not_negative(_: Any, member: attrs.Attribute[Any], value: float) -> None:
    """0 or above: where 0 says none, or at once."""
    if value < 0:
        raise ValueError(f"{member.name} must be 0 or above")
    _not_endless(member, value)


def _not_endless(member: attrs.Attribute[Any], value: float) -> None:
    if value > MOST:
        raise ValueError(f"{member.name} must be at most {MOST}")
