"""A stencil for updates whose texts all say the same: where they stand is reckoned and not looked
for. Pure.

A runner shows a call's output twice, for the model and for people, word for word. Once what stands
before and behind the texts is known, their length follows from that of the frame, whatever is in
them, and one of them is read: the other is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import attrs

from fleetgate.protocols.json_text import load_text
from fleetgate.protocols.kodelet.holes import ASIDE, SEQUENCE, STAMP, is_count

Stamped: TypeAlias = Callable[[bytes], bool]
"""Whether a value is a time."""

_Behind: TypeAlias = tuple[int, bytes, bytes]
"""A hole behind the texts; the byte that its start is found by, looking back from its end (the one
before a number, the first one of a time); and what comes behind the hole."""


@attrs.frozen(slots=True, eq=False)
class Fold:
    """`head` is what comes before the sequence, `begin` from there to the texts. Then those, with
    `between` them, which has `apart` bytes in all, and `end` behind them. `back` are the holes that
    follow, the last one first."""

    head: bytes
    begin: bytes
    between: tuple[bytes, ...]
    apart: int
    end: bytes
    back: tuple[_Behind, ...]

    def read(self, frame: bytes, stamp: bytes | None, stamped: Stamped) -> tuple[int, str] | None:
        """The sequence and what all texts say, if it fits. `stamp` is a time."""
        first = len(self.head)
        at = frame.find(self.begin[:1], first)
        sequence = frame[first:at]
        if not (frame.startswith(self.head) and is_count(sequence)):
            return None
        if not frame.startswith(self.begin, at):
            return None
        at += len(self.begin)
        stop = self._stop(frame, at, stamp, stamped)
        size, odd = divmod(stop - at - self.apart, len(self.between) + 1)
        if size < 0 or odd or not frame.startswith(self.end, stop):
            return None
        said = frame[at : at + size]
        at += size
        for between in self.between:
            if not frame.startswith(between, at):
                return None
            at += len(between)
            if not frame.startswith(said, at):
                return None
            at += size
        text = load_text(b'"%b"' % said)
        return None if text is None else (int(sequence), text)

    def _stop(self, frame: bytes, at: int, stamp: bytes | None, stamped: Stamped) -> int:
        """Where the texts end if what is behind them fits; 0 if it does not."""
        stop = len(frame)
        for hole, edge, behind in self.back:
            end = stop - len(behind)
            if end <= at or not frame.startswith(behind, end):
                return 0
            if hole == STAMP:
                stop = frame.rfind(edge, at, end - 1)
                value = frame[stop:end]
                if value != stamp and not stamped(value):
                    return 0
            else:
                stop = frame.rfind(edge, at, end) + 1
                if not is_count(frame[stop:end]):
                    return 0
        return stop - len(self.end)


def folded(pieces: Sequence[bytes], holes: Sequence[int], values: Sequence[bytes]) -> Fold | None:
    """The fold of a stencil, from an update that fits it: `pieces` stand around its `holes`, and
    `values` in them. None: the texts differ, or what they share cannot be told from what stands
    around it; or the sequence and the texts are not where Go writes them, first and in a row."""
    texts = [at for at, hole in enumerate(holes) if hole >= ASIDE]
    last = texts[-1]
    if holes[0] != SEQUENCE or texts != list(range(1, last + 1)):
        return None
    (said,) = (values[at][1:-1] for at in texts if holes[at] > ASIDE)
    around = [_around(values[at], said) for at in texts]
    edges = [each for each in around if each is not None]
    if len(edges) < len(around):
        return None
    begins = [pieces[at] + before for at, (before, _) in zip(texts, edges, strict=True)]
    ends = [after for _, after in edges]
    between = tuple(end + begin for end, begin in zip(ends, begins[1:], strict=False))
    tail = (ends[-1] + pieces[last + 1], *pieces[last + 2 :])
    back = tuple(_behind(holes[last + 1 :], tail))[::-1]
    return Fold(pieces[0], begins[0], between, sum(map(len, between)), tail[0], back)


def _behind(holes: Sequence[int], pieces: Sequence[bytes]) -> Iterator[_Behind]:
    """Holes, of which each stands between two of the pieces."""
    for at, hole in enumerate(holes):
        yield hole, b'"' if hole == STAMP else pieces[at][-1:], pieces[at + 1]


def _around(value: bytes, said: bytes) -> tuple[bytes, bytes] | None:
    """What stands before and behind `said` in a text's value; None: it is there not once. Neither
    may cut an escape: what they enclose then is a text, whatever other text that is."""
    if not said or value.count(said) != 1:
        return None
    before, _, after = value.partition(said)
    if load_text(before + b'"') is None or load_text(b'"' + after) is None:
        return None
    return before, after
