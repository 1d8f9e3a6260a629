"""What may differ from one update of a call to the next: the holes of a stencil. Pure.

Plain numbers: to look up a member of an enumeration costs as much as to read a hole.
"""

from __future__ import annotations

from typing import Final

SEQUENCE: Final = 0
COUNT: Final = 1
"""A number that nobody asks for here."""
STAMP: Final = 2
ASIDE: Final = 3
"""A text that nobody asks for here: it says the same as the one that is read."""
OUTPUT: Final = 4
DISPLAY: Final = 5
FACING: Final = 6
"""The text that an update is read for (`translate_events.text_of`) is one of these three."""

DIGITS: Final = 18
"""Digits that any 64-bit integer may have; a longer number is read as Go reads it."""

_ZERO: Final = ord("0")


def is_count(value: bytes) -> bool:
    """Whether it is a number from 0 on, as JSON has integers."""
    return value.isdigit() and len(value) <= DIGITS and (value[0] != _ZERO or value == b"0")
