"""Spans of time: nanoseconds inside, seconds where people write them."""

from __future__ import annotations

from typing import Final

SECOND: Final = 1_000_000_000
"""Nanoseconds."""


def nanos(seconds: float) -> int:
    """Seconds as nanoseconds."""
    return round(seconds * SECOND)
