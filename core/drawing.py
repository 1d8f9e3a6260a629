"""How many examples a property of this room draws; `testing.py` says what they are made of."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

USUAL: Final = 100
"""What Hypothesis draws for a test that says nothing."""


def examples(many: int) -> int:
    """How many examples a test takes that wants `many` where others take the usual hundred: as
    many times more as the profile in force wants, but not more than that itself."""
    wanted = settings().max_examples
    return many if wanted <= USUAL else min(wanted, many * wanted // USUAL)
