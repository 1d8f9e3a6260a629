"""What waits to be written to a program's standard input."""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs
import trio

from fleetgate.core.commands import CloseInput, Order, SendInput

BATCH_SIZE: Final = 1 << 20
"""Bytes that are joined for one write: sixteen times what a pipe holds, so that a write
costs little."""


@attrs.frozen(slots=True)
class Batch:
    """Bytes to write in one go, and the input orders that they come from (at least one).
    `closes`: the input ends behind them."""

    data: bytes
    orders: tuple[Order, ...]
    closes: bool

    @property
    def through(self) -> int:
        """The number of the last input in it."""
        return self.orders[-1].input


class InputQueue:
    """Input orders in line, joined on their way out.

    The hub holds the same orders until they are confirmed, so the bound is the hub's
    (`Limits.run_orders`).
    """

    def __init__(self) -> None:
        self._waiting: deque[Order] = deque()
        self._news = trio.Event()

    def put(self, order: Order) -> None:
        """A `SendInput` or `CloseInput`."""
        self._waiting.append(order)
        self._news.set()

    def rest(self) -> tuple[Order, ...]:
        """Take all that waits, unjoined."""
        rest = tuple(self._waiting)
        self._waiting.clear()
        return rest

    async def take(self, most: int | None = None) -> Batch:
        """All that waits, up to `BATCH_SIZE` (and `most` orders) but one order at least; waits
        for the first. Cancelled, nothing is taken."""
        await self._news.wait()
        size, closes = 0, False
        parts: list[bytes] = []
        orders: list[Order] = []
        while self._waiting and not closes and size < BATCH_SIZE and len(orders) != most:
            order = self._waiting.popleft()
            orders.append(order)
            match order.command:
                case SendInput(data=data, newline=newline):
                    parts.append(data + b"\n" if newline else data)
                    size += len(data)
                case CloseInput():
                    closes = True
                case _:
                    raise TypeError(f"not an input: {type(order.command).__name__}")
        if not self._waiting:
            self._news = trio.Event()
        return Batch(b"".join(parts), tuple(orders), closes)
