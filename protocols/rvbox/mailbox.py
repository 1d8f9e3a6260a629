"""Messages about one command, in order: while the core is asked about it, the next ones wait."""

from __future__ import annotations

from collections import deque

from fleetgate.protocols.rvbox import wire as w


class Mailboxes:
    """What waits, by command. `items` and `size` bound all of it together: once either is
    reached nothing more is to be read."""

    def __init__(self, items: int, size: int) -> None:
        self._asked: set[str] = set()
        self._boxes: dict[str, deque[tuple[w.Payload, int]]] = {}
        self._most = items
        self._largest = size
        self._items = 0
        self._size = 0

    @property
    def full(self) -> bool:
        """Whether the link should not be read."""
        return self._items + len(self._asked) >= self._most or self._size >= self._largest

    def asked(self, uuid: str) -> bool:
        """Whether the core has yet to answer about this command."""
        return uuid in self._asked

    def ask(self, uuid: str) -> None:
        """The core is asked about it from now on."""
        self._asked.add(uuid)

    def answered(self, uuid: str) -> None:
        """The core has answered."""
        self._asked.discard(uuid)

    def put(self, uuid: str, payload: w.Payload, size: int) -> None:
        """A message waits for the answer. `size`: the bytes of its frame."""
        self._boxes.setdefault(uuid, deque()).append((payload, size))
        self._items += 1
        self._size += size

    def take(self, uuid: str) -> w.Payload | None:
        """The next message that waits, in order."""
        box = self._boxes.get(uuid)
        if box is None:
            return None
        payload, size = box.popleft()
        self._items -= 1
        self._size -= size
        if not box:
            del self._boxes[uuid]
        return payload
