"""The reserved metadata of a run event."""

from typing import Final

SEQ: Final = "gateway.seq"
"""The event's number in its run."""
KIND: Final = "gateway.kind"
STREAM: Final = "gateway.stream"
BODY: Final = "gateway.body"
"""JSON of what does not fit."""

FLUSH: Final = "flush"
"""The kind of a delta that only shows half a character at the end of a stream; its bytes are in
an event before it."""

RESERVED: Final = frozenset({SEQ, KIND, STREAM, BODY})
