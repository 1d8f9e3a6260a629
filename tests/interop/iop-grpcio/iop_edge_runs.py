"""The runs of an edge, by the protocol's page alone: who may have one, and what is told of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from iop import link_pb2, runtime_pb2

LONGEST_ID = 256
MOST_BYTES = 4 << 20
GRACE = 30.0
LATER = 5.0
"""Seconds that a node has beyond timeout_sec to end a run itself."""

MODES = (0, 1, 2)
REQUIRE = 2
CANCEL = (0, 1)
TERMINATE = 2
TERMINAL = ("complete", "error", "cancelled")


class Refused(Exception):
    """Its code is one of the protocol's."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code


class Run:
    """What was asked, where it is, and its events with numbers of this edge from 1."""

    def __init__(self, request: Any, node: str) -> None:
        self.request = request
        self.node = node
        self.events: list[Any] = []
        self._taken = 0
        self._more: asyncio.Future[None] | None = None

    @property
    def over(self) -> bool:
        return bool(self.events) and self.events[-1].type in TERMINAL

    async def more(self) -> None:
        """Wait until there are more events."""
        if self._more is None:
            self._more = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._more)

    def take(self, event: Any) -> None:
        """Add an event of the node: mended, where the node makes mistakes."""
        own = int(event.metadata.get("gateway.seq", "0"))
        if self.over or (own and own <= self._taken):
            return
        self._taken = max(own, self._taken)
        if event.type == "start" and self.events:
            return
        if event.type != "start" and not self.events:
            self._add(runtime_pb2.RunEvent(type="start"))
        self._add(event)

    def end(self, error: str) -> None:
        """The edge itself ends it."""
        if not self.over:
            self.take(runtime_pb2.RunEvent(type="error", error=error))

    def _add(self, event: Any) -> None:
        last = self.events[-1].timestamp if self.events else 0
        event.timestamp = max(event.timestamp or time.time_ns(), last)
        event.run_id = self.request.run_id
        event.node_id = event.node_id or self.node
        event.session_id = event.session_id or self.request.session_id
        event.metadata["gateway.seq"] = str(len(self.events) + 1)
        self.events.append(event)
        if self._more is not None:
            self._more.set_result(None)
            self._more = None


class Runs:
    """All of them."""

    def __init__(self) -> None:
        self.known: dict[str, Run] = {}
        self._sessions: dict[str, str] = {}
        self._lost: set[str] = set()
        self._graces: dict[str, asyncio.TimerHandle] = {}

    def get(self, request: Any, nodes: list[str]) -> tuple[Run, bool]:
        """The run that is asked for, and whether it is a new one. Raises: `Refused`."""
        check(request)
        if run := self.known.get(request.run_id):
            if run.request != request:
                raise Refused("conflict", "the run_id was used for another request")
            return run, False
        session = request.session_id
        if request.session_mode == REQUIRE and session not in self._sessions:
            raise Refused("session_not_found", f"there is no session {session!r}")
        wanted = request.metadata.get("gateway.node") or self._sessions.get(session)
        node = wanted or next(iter(nodes), "")
        if node not in nodes:
            raise Refused("unavailable", "there is no such node")
        run = self.known[request.run_id] = Run(request, node)
        if session:
            self._sessions[session] = node
        if request.timeout_sec:
            loop = asyncio.get_running_loop()
            loop.call_later(request.timeout_sec + LATER, run.end, "timeout: the node did not")
        return run, True

    def take(self, node: str, event: Any) -> bool:
        """An event of a node; whether it must be told to end that run."""
        run = self.known.get(event.run_id)
        if run is None or run.node != node:
            return False
        if event.run_id in self._lost:
            self._lost.remove(event.run_id)
            return True
        run.take(event)
        return False

    def nodes_to_cancel(self, request: Any) -> list[str]:
        """Who must hear of it. Raises: `Refused`."""
        if request.action == TERMINATE:
            if request.session_id not in self._sessions:
                raise Refused("session_not_found", "there is no such session")
            return [self._sessions.pop(request.session_id)]
        if request.action not in CANCEL:
            raise Refused("invalid_argument", f"there is no action {request.action}")
        if (run := self.known.get(request.run_id)) is None:
            raise Refused("not_found", "there is no such run")
        return [] if run.over else [run.node]

    def away(self, node: str) -> None:
        """Its link is gone."""
        loop = asyncio.get_running_loop()
        self._graces[node] = loop.call_later(GRACE, self._lose, node)

    def back(self, node: str) -> None:
        """It is there."""
        if grace := self._graces.pop(node, None):
            grace.cancel()

    def _lose(self, node: str) -> None:
        for run in self.known.values():
            if run.node == node and not run.over:
                self._lost.add(run.request.run_id)
                run.end("node lost")


def check(request: Any) -> None:
    """Raises: `Refused`."""
    ids = (request.run_id, request.session_id)
    if not request.run_id or any(len(id.encode()) > LONGEST_ID for id in ids):
        raise Refused("invalid_argument", f"an id has 1 to {LONGEST_ID} bytes")
    if request.session_mode not in MODES:
        raise Refused("invalid_argument", f"there is no session_mode {request.session_mode}")
    if request.timeout_sec < 0:
        raise Refused("invalid_argument", "timeout_sec is negative")
    if link_pb2.EdgeMessage(run=request).ByteSize() > MOST_BYTES:
        raise Refused("resource_exhausted", "a node could not be sent this")
