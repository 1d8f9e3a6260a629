"""Nodes as one watcher hears of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from fleetgate.core.json import Json
from fleetgate.core.watchers import Happening, WorkerNotice
from fleetgate.core.worker import WorkerInfo
from fleetgate.protocols.iop import wire as w

_REASONS: Final = frozenset({"closed", "timeout", "replaced", "protocol_violation", "shutdown"})
_TYPES: Final[Mapping[Happening, str]] = {
    Happening.PRESENT: "node.connected",
    Happening.CONNECTED: "node.connected",
    Happening.DISCONNECTED: "node.disconnected",
    Happening.LOST: "node.lost",
}


class Watched:
    """Events with ids of their own, and the nodes that are here."""

    def __init__(self, entropy: bytes, include_current: bool) -> None:
        self._prefix = entropy.hex()
        self._count = 0
        self._include_current = include_current
        self._here: dict[str, WorkerInfo] = {}

    def notice(self, notice: WorkerNotice) -> Iterator[w.EdgeNodeEvent]:
        """What a notice is here."""
        worker = notice.worker
        if notice.happening is Happening.TOLD:
            yield from self._told(notice)
        elif worker is not None:
            if notice.happening in (Happening.PRESENT, Happening.CONNECTED):
                self._here[worker.id] = worker
            else:
                self._here.pop(worker.id, None)
            if notice.happening is not Happening.PRESENT or self._include_current:
                yield self._about(worker, _TYPES[notice.happening], _reason(notice), notice.time)

    def shut_down(self, now: int) -> Iterator[w.EdgeNodeEvent]:
        """The edge stops, and with it the links of all nodes that are here."""
        for worker in self._here.values():
            yield self._about(worker, "node.disconnected", "shutdown", now)
        self._here.clear()

    def _about(self, worker: WorkerInfo, type: str, reason: str, now: int) -> w.EdgeNodeEvent:
        node = worker.id.partition("/")[2]
        alias = _alias(worker) or node
        return w.EdgeNodeEvent(self._id(), type, "edge", node, alias, reason, {}, now)

    def _id(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    def _told(self, notice: WorkerNotice) -> Iterator[w.EdgeNodeEvent]:
        """In the words of whoever told it."""
        event = _read(notice.body)
        if event is not None:
            yield attrs.evolve(
                event,
                event_id=event.event_id or self._id(),
                timestamp=event.timestamp or notice.time,
            )


def _reason(notice: WorkerNotice) -> str:
    if notice.happening is not Happening.DISCONNECTED:
        return ""
    return notice.reason if notice.reason in _REASONS else "closed"


def _alias(worker: WorkerInfo) -> str:
    alias = worker.detail.get("alias") if isinstance(worker.detail, Mapping) else None
    return alias if isinstance(alias, str) else ""


def _read(body: Json) -> w.EdgeNodeEvent | None:
    if not isinstance(body, Mapping):
        return None
    members: dict[str, Any] = {}
    for member in attrs.fields(w.EdgeNodeEvent):
        value = body.get(member.name, member.default)
        fits = (
            _is_table(value) if member.name == "metadata" else type(value) is type(member.default)
        )
        if not fits:
            return None
        members[member.name] = value
    return w.EdgeNodeEvent(**members) if members["type"] else None


def _is_table(value: Json) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values())
