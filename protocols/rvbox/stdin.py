"""A command's numbered input: as a server sends it, and as a client takes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, unique
from typing import Final

from fleetgate.core.commands import Order, SendInput
from fleetgate.core.json import Json
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w

LARGEST: Final = limits.FRAME - 1024
"""Bytes of one write: a frame, less its envelope."""


class WriteQueue:
    """A server's writes to one command that are not acknowledged, in order.

    They are sent as far as the window allows, and again from the last acknowledged one on a
    new link or after a reconcile. The orders are the hub's; here they are only referred to.
    """

    __slots__ = ("_acked", "_orders", "_sent", "_under_way", "_uuid")

    def __init__(self, issue_uuid: str, accepted: int) -> None:
        self._uuid = issue_uuid
        self._orders: dict[int, Order] = {}
        self._acked = accepted
        self._sent = accepted
        self._under_way = 0

    @property
    def waiting(self) -> bool:
        """Whether any write is not acknowledged."""
        return bool(self._orders)

    def add(self, order: Order) -> bool:
        """Put an input in line. False: it is too long for a frame, so an empty write keeps its
        number."""
        if order.input > self._acked:
            self._orders[order.input] = order
        return _size(order) <= LARGEST

    def acknowledge(self, through: int) -> None:
        """The client wrote every input up to this one."""
        for number in range(self._acked + 1, through + 1):
            order = self._orders.pop(number, None)
            if order is not None and number <= self._sent:
                self._under_way -= _weight(order)
        self._acked = max(self._acked, through)
        self._sent = max(self._sent, self._acked)

    def rewind(self) -> None:
        """What is not acknowledged is to be sent again."""
        self._sent = self._acked
        self._under_way = 0

    def next(self, window: int) -> Iterator[w.StdinWrite | w.CloseStdin]:
        """What may be sent now: at most `window` bytes on their way, but always one write."""
        while (order := self._orders.get(self._sent + 1)) is not None:
            weight = _weight(order)
            if self._under_way and self._under_way + weight > window:
                return
            self._under_way += weight
            self._sent += 1
            yield self._message(order)

    def _message(self, order: Order) -> w.StdinWrite | w.CloseStdin:
        command = order.command
        if not isinstance(command, SendInput):
            return w.CloseStdin(self._uuid, order.input)
        data = command.data if len(command.data) <= LARGEST else b""
        return w.StdinWrite(self._uuid, order.input, data, command.newline)


def _size(order: Order) -> int:
    return len(order.command.data) if isinstance(order.command, SendInput) else 0


def _weight(order: Order) -> int:
    return max(1, _size(order))


@unique
class Turn(Enum):
    """How a write stands to those before it."""

    NEXT = "next"
    REPEAT = "repeat"
    GAP = "gap"
    CLOSED = "closed"


MOST_ANSWERS: Final = 32
"""Approvals answered by input, per command: they are kept in the run's note of 4 KiB."""

_LONGEST_APPROVAL: Final = 64


class WriteLog:
    """A client's count of the writes of one command, out of its run's `inputs`.

    A write that answered an approval has a number on the wire and none in the core; `answers`
    tells which approval each of those answered. The first `own` inputs are the gateway's,
    where a route feeds the command something: those have a number in the core only.
    """

    __slots__ = ("_own", "answers", "closed", "taken")

    def __init__(self, inputs: int, closed: bool, answers: Mapping[str, int], own: int = 0) -> None:
        self.answers = dict(answers)
        self.taken = inputs - own + len(self.answers)
        self.closed = closed
        self._own = own

    @property
    def shifted(self) -> bool:
        """Whether the numbers on the wire are not those of the core."""
        return bool(self._own or self.answers)

    def judge(self, write_seq: int) -> Turn:
        """What to do with a write of this number."""
        if write_seq <= self.taken:
            return Turn.REPEAT
        if self.closed:
            return Turn.CLOSED
        return Turn.NEXT if write_seq == self.taken + 1 else Turn.GAP

    def take(self, *, closes: bool = False) -> None:
        """The next write is accepted."""
        self.taken += 1
        self.closed = self.closed or closes

    def can_answer(self, approval: str) -> bool:
        """Whether one more answer can be kept."""
        return len(self.answers) < MOST_ANSWERS and len(approval) <= _LONGEST_APPROVAL

    def answer(self, approval: str) -> None:
        """The next write answers an approval."""
        self.take()
        self.answers[approval] = self.taken

    def write_of(self, input: int) -> int:
        """The last number on the wire that the core's input `input` stands for; 0 for none."""
        number = max(0, input - self._own)
        if not number:
            return 0
        for answer in sorted(self.answers.values()):
            if answer <= number:
                number += 1
        return number


def answers_in(note: Mapping[str, Json]) -> dict[str, int]:
    """The answers that a run's note tells of."""
    kept = note.get("answers")
    if not isinstance(kept, Mapping):
        return {}
    return {approval: seq for approval, seq in kept.items() if isinstance(seq, int)}


def verdict_of(data: bytes) -> bool | None:
    """What a line says to an approval: yes, no, or nothing."""
    return {b"y": True, b"yes": True, b"n": False, b"no": False}.get(data.strip().lower())
