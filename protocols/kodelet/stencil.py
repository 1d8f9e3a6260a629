"""What all updates of one call have in common, byte for byte, and where they differ. Pure.

A runner shows a call's output again and again, and little changes from one update to the next: a
number, a time, the output itself. Of an update that was read as Go reads it, a stencil keeps all
other bytes. A frame that has them too, and in place of each hole a value of the same kind, has the
same members, so only its holes have to be read. What a stencil does not fit may be an update all
the same, and is read whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from fleetgate.protocols.json_text import load_text
from fleetgate.protocols.kodelet.fold import Fold, folded
from fleetgate.protocols.kodelet.holes import (
    ASIDE,
    COUNT,
    DISPLAY,
    FACING,
    OUTPUT,
    SEQUENCE,
    STAMP,
    is_count,
)
from fleetgate.protocols.kodelet.stamps import is_time
from fleetgate.protocols.kodelet.translate_events import unwrapped
from fleetgate.protocols.kodelet.wire import ToolUpdate

LONGEST: Final = 16 * 1024
"""Bytes of an update that its stencil keeps while the run is open. A genuine tool says some hundred
beside its output; of an update with more than this none is made."""

_LOOKED_FOR = slice(16)
"""How much of what stands behind a hole is looked for; the rest is compared where that is found."""


FOLDS: Final = 8
"""Folds that are made of a stencil without one that fits the next update: one whose texts never say
the same is read without."""


@attrs.define(slots=True, eq=False)
class Stencil:
    """`head` is what comes before the first hole, `parts` each hole and what comes behind it: what
    is looked for (empty: it is the frame's end), and all of it. `faces`: its text is told to a
    model, and is read without what is put around that. `stamp` is the last time that was found to
    be one, where it is short enough to be kept. `fold` reads what it can in less time, and `folds`
    counts those made since one did."""

    head: bytes
    parts: tuple[tuple[int, bytes, bytes], ...]
    faces: bool
    stamp: bytes | None = None
    fold: Fold | None = None
    folds: int = 0

    def read(self, frame: bytes) -> tuple[int, str] | None:
        """The sequence and the text of an update, if it fits."""
        if self.fold is not None:
            read = self.fold.read(frame, self.stamp, self._stamped)
            if read is not None and read[1]:
                self.folds = 0
                return (read[0], unwrapped(read[1])) if self.faces else read
        values = self._values(frame)
        read = None if values is None else self._judged(values)
        if values is not None and read is not None and read[1] and self.folds < FOLDS:
            pieces = (self.head, *(behind for _, _, behind in self.parts))
            self.fold = folded(pieces, [hole for hole, _, _ in self.parts], values)
            self.folds += 1
        return read

    def _values(self, frame: bytes) -> list[bytes] | None:
        """What is in its holes, if all else is as it was."""
        if not frame.startswith(self.head):
            return None
        at, values = len(self.head), list[bytes]()
        for hole, sought, behind in self.parts:
            # Nearly always a text has no quotes in it, and ends at the first one.
            end = frame.find(b'"', at + 1) + 1 if hole > COUNT else 0
            if end < at or not frame.startswith(behind, end):
                end = frame.find(sought, at) if sought else len(frame) - len(behind)
                if end < at or not frame.startswith(behind, end):
                    return None
            values.append(frame[at:end])
            at = end + len(behind)
        return values if at == len(frame) else None

    def _judged(self, values: Sequence[bytes]) -> tuple[int, str] | None:
        """The sequence and the text among what is in the holes, if that may stand there."""
        sequence, shown = 0, ""
        for (hole, _, _), value in zip(self.parts, values, strict=True):
            if hole <= COUNT:
                if not is_count(value):
                    return None
                if hole == SEQUENCE:
                    sequence = int(value)
            elif hole == STAMP:
                if not self._stamped(value):
                    return None
            else:
                text = load_text(value)
                if text is None or (hole == DISPLAY and not text):
                    return None
                if hole > ASIDE:
                    shown = text
        return sequence, unwrapped(shown) if self.faces else shown

    def _stamped(self, value: bytes) -> bool:
        """Whether it is a time."""
        if value == self.stamp:
            return True
        text = load_text(value)
        if text is None or not is_time(text):
            return False
        self.stamp = value if len(value) <= LONGEST else None
        return True


# --- making one

_Path: TypeAlias = tuple[str, ...]
_RESULT: Final = ("params", "result")
_STRUCTURED: Final = (*_RESULT, "structured")
_METADATA: Final = (*_STRUCTURED, "metadata")
_FACING: Final = (*_RESULT, "assistantFacing")
_DISPLAY: Final = (*_RESULT, "displayOutput")
_OUTPUT: Final = (*_METADATA, "output")
_HOLES: Final[Mapping[_Path, int]] = {
    ("params", "sequence"): SEQUENCE,
    _FACING: ASIDE,
    _DISPLAY: ASIDE,
    (*_STRUCTURED, "timestamp"): STAMP,
    _OUTPUT: ASIDE,
    (*_METADATA, "executionTime"): COUNT,
}
_MOST: Final = 256
"""Members that are looked at in one object of an update; of one with more no stencil is made."""
_TRAIL: Final = frozenset({("params",), _RESULT, _STRUCTURED, _METADATA})
"""The objects in which they are."""
_NAMES: Final = frozenset(path[-1] for path in (*_HOLES, *_TRAIL))
_FOLDED: Final = frozenset(map(str.casefold, _NAMES))

_decoder: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\n\r]*")


def _blank(text: str, at: int) -> int:
    """Where the next thing stands."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


class _Ambiguous(Exception):
    """Which member Go takes for a field is not plain: two are alike, or one is spelt otherwise. Or
    there are more than is worth a look."""


def stencil_of(frame: bytes, update: ToolUpdate) -> Stencil | None:
    """What updates like this one are read with. `frame` has been read as this update. None: they
    are to be read whole."""
    try:
        text = frame.decode()
        spans = {path: (at, end) for path, at, end in _object(text, _blank(text, 0), ())}
    except (ValueError, RecursionError, _Ambiguous):
        return None
    shown = _shown(spans, update)
    if shown is None or ("params", "sequence") not in spans:
        return None
    holes = {**_HOLES, **shown}
    ends = [0, *(end for _, end in spans.values())]
    begins = [*(at for at, _ in spans.values()), len(text)]
    pieces = [text[end:at].encode() for end, at in zip(ends, begins, strict=True)]
    if sum(map(len, pieces)) > LONGEST:
        return None
    sought = [*(piece[_LOOKED_FOR] for piece in pieces[1:-1]), b""]
    parts = zip((holes[path] for path in spans), sought, pieces[1:], strict=True)
    return Stencil(pieces[0], tuple(parts), FACING in shown.values())


def _shown(spans: Mapping[_Path, object], update: ToolUpdate) -> Mapping[_Path, int] | None:
    """Which of the texts is the one that counts."""
    if _OUTPUT in spans and update.result.structured.metadata_type == "bash":
        return {_OUTPUT: OUTPUT}
    if _DISPLAY in spans:
        return {_DISPLAY: DISPLAY}
    return {_FACING: FACING} if _FACING in spans else None


def _object(text: str, at: int, path: _Path) -> Generator[tuple[_Path, int, int], None, int]:
    """The values at `_HOLES` in the object that begins there, as they come; where it ends. The text
    is JSON.

    Raises: `_Ambiguous`.
    """
    seen: set[str] = set()
    at = _blank(text, at + 1)
    while text[at] != "}":
        name, at = _decoder.raw_decode(text, _blank(text, at + (text[at] == ",")))
        folded = name.casefold()
        if folded in seen or (folded in _FOLDED and name not in _NAMES) or len(seen) == _MOST:
            raise _Ambiguous
        seen.add(folded)
        at = _blank(text, _blank(text, at) + 1)  # behind the colon
        inner = (*path, name)
        if inner in _TRAIL and text[at] == "{":
            at = yield from _object(text, at, inner)
        else:
            value, end = _decoder.raw_decode(text, at)
            if inner in _HOLES and _fits(_HOLES[inner], value, text[at:end]):
                yield inner, at, end
            at = end
        at = _blank(text, at)
    return at + 1


def _fits(hole: int, value: object, spelt: str) -> bool:
    """Whether the value is of the hole's kind. One that is not stays as it is."""
    if hole <= COUNT:
        return is_count(spelt.encode())
    return isinstance(value, str)
