"""What a setting may be: validators for the attrs classes of settings."""

from __future__ import annotations

from typing import Any

import attrs


def positive(_: Any, member: attrs.Attribute[Any], value: float) -> None:
    """Above 0: a time that must pass, a number of things of which there must be one."""
    if value <= 0:
        raise ValueError(f"{member.name} must be above 0")


def not_negative(_: Any, member: attrs.Attribute[Any], value: float) -> None:
    """0 or above: where 0 says none, or at once."""
    if value < 0:
        raise ValueError(f"{member.name} must be 0 or above")
