"""Things that wait, first come, first served."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Queue(Generic[T]):
    """A `deque` that takes nothing while it is empty. An empty one of Python's has 760 bytes, and a
    link has half a dozen in which there is hardly ever anything."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        found = deque(items)
        self._items: deque[T] | None = found or None

    def __len__(self) -> int:
        return 0 if self._items is None else len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items or ())

    def append(self, item: T) -> None:
        """Put one at its end."""
        if self._items is None:
            self._items = deque()
        self._items.append(item)

    @property
    def first(self) -> T:
        """The one that has waited longest. Raises: `IndexError`."""
        return self._some()[0]

    def popleft(self) -> T:
        """Take the first. Raises: `IndexError`."""
        items = self._some()
        item = items.popleft()
        if not items:
            self._items = None
        return item

    def _some(self) -> deque[T]:
        if self._items is None:
            raise IndexError("the queue is empty")
        return self._items

    def clear(self) -> None:
        """Let all go."""
        self._items = None
