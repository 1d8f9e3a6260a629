"""What a tool's result says beside its text (W 11.3), checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet.stamps import is_time
from fleetgate.protocols.kodelet.structs import read
from fleetgate.protocols.kodelet.wire import Structured


def types() -> Mapping[str, type[Any]]:
    """Those of `metadata_types`, by name."""
    # Two dozen classes: imported for the first result of a tool, and not for every start.
    from fleetgate.protocols.kodelet.metadata_types import TYPES

    return TYPES


def check(structured: Structured) -> None:
    """What the types of a structured result's members do not say. Raises: `Malformed`."""
    if not is_time(structured.timestamp):
        raise Malformed("structured.timestamp: expected a time as RFC 3339 has it")
    if structured.metadata is None:
        return
    kind = types().get(structured.metadata_type)
    if kind is not None:
        try:
            read(kind, structured.metadata)
        except Malformed as error:
            raise Malformed(f"structured.metadata: {error}") from None
