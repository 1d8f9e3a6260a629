"""Regular expressions that come from afar: of a kind that no text makes slow.

Python's own engine may take for ever over one line, and holds up the whole process while it
does. RE2 takes a time that grows with the line alone. It is an extra, imported at the first use.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

MISSING: Final = (
    "needs RE2, which is not installed: pip install 'fleetgate[patterns]' where fleetgate is"
)


def searching(pattern: str) -> Callable[[str], bool]:
    """Whether the pattern is found anywhere in a text. No look-around, no back references.

    Raises: `ValueError`: it is no pattern of RE2's, or RE2 is not installed.
    """
    try:
        re2: Any = import_module("re2")
    except ImportError:
        raise ValueError(MISSING) from None
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"is no regular expression of RE2's: {_words(error)}") from None
    return lambda text: compiled.search(text) is not None


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
