"""Times as Go reads and writes them in JSON: RFC 3339, oddities included. No clock."""

from __future__ import annotations

import re
from calendar import monthrange
from typing import Final

_STAMP: Final = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(\d\d)T([01]?\d|2[0-3]):([0-5]\d:[0-5]\d)(?:[.,](\d+))?"
    r"(?:Z|([+-])([01]\d|2[0-4]):([0-5]\d|60))",
    re.ASCII,
)
"""What Go's decoder takes: an hour of one digit, a comma, an hour of 24 in an offset."""
_NANOSECONDS: Final = 9


def is_time(text: str) -> bool:
    """Whether Go's decoder takes it (W 11.3)."""
    found = _STAMP.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups()[:3])
    return 1 <= day <= monthrange(year, month)[1]


def rewritten(text: str) -> str:
    """The same instant and offset as Go's encoder writes it; `text` is a time."""
    found = _STAMP.fullmatch(text)
    assert found is not None
    year, month, day, hour, rest, fraction, sign, hours, minutes = found.groups()
    kept = (fraction or "")[:_NANOSECONDS].rstrip("0")
    offset = int(hours or 0) * 60 + int(minutes or 0)
    zone = f"{sign}{offset // 60:02}:{offset % 60:02}" if offset else "Z"
    return f"{year}-{month}-{day}T{hour:0>2}:{rest}{'.' + kept if kept else ''}{zone}"
