"""The daemon on a WebSocket: MCP calls as requests of the socket protocol (section 8).

Everything that a daemon does is in `northbound`; here its frames are read again and told in the
other words. A run that is read or subscribed to is attached to once, whoever asked first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.core.answers import Answer
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import Recorded
from fleetgate.core.json import Json
from fleetgate.protocols.agency import mcp, wire
from fleetgate.protocols.agency.encode import encode_client
from fleetgate.protocols.agency.northbound import AgencyNorthbound
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.agency.state import MAJOR
from fleetgate.protocols.api import (
    NO_STEPS,
    Close,
    Opening,
    RemoteProtocolError,
    Report,
    Send,
    Step,
    Steps,
)
from fleetgate.protocols.bulk import BulkConnection

MOST_READ: Final = 256 * 1024
"""Bytes of events that a run is read with at a time: of more, the first ones come, and a client
reads on from the last of them. A quarter of a frame, for they stand in an answer
twice, once as text."""

_Then: TypeAlias = Callable[[Any], Steps]


@attrs.define(slots=True)
class _Reader:
    """A call that waits for a run's events up to `until`."""

    id: mcp.Id
    run: Json
    until: int
    size: int = 0
    events: list[Json] = attrs.field(factory=list[Json])


@attrs.define(slots=True)
class _Watched:
    """A run that is attached to. Events above `told` go to whoever is subscribed."""

    subscribed: bool = False
    told: int = 0
    reader: _Reader | None = None


class WebConnection(BulkConnection):
    """One MCP client's connection."""

    def __init__(self, settings: AgencyNorthboundSettings) -> None:
        self._settings = settings
        self._daemon = AgencyNorthbound(settings)
        self._count = 0
        self._now = 0
        self._pending: dict[int, _Then] = {}
        self._watched: dict[str, _Watched] = {}

    def opened(self, opening: Opening, now: int) -> Steps:
        key = mcp.key_of(opening.headers.get("sec-websocket-protocol", ""))
        try:
            known = key is not None and opening.identify(key) is not None
        except Unavailable as unavailable:
            return (Close(None, unavailable.message),)
        if not known:
            return (Close(None, "no key among the subprotocols"),)
        self._daemon.opened(opening, now)
        version = wire.ProtocolVersion(MAJOR, self._settings.version_minor)
        hello = wire.ClientFrame(self._next(), wire.Hello("mcp", version))
        self._daemon.receive(encode_client(hello), now)  # its answer goes nowhere: MCP has none
        return NO_STEPS

    def receive(self, frame: bytes, now: int) -> Steps:
        self._now = now
        try:
            call = mcp.read_call(frame)
            return self._called(call, now)
        except mcp.Refused as refused:
            return (Send(mcp.failure(refused)),)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        return self._told(self._daemon.reply(reply_to, answer, now))

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        return self._told(self._daemon.deliver(batch, now))

    # --- calls

    def _called(self, call: mcp.Call, now: int) -> Steps:
        if not call.wanted:
            return NO_STEPS
        match call.method:
            case "initialize":
                name = self._settings.server_name
                return (Send(mcp.initialized(call.id, name, self._settings.server_version)),)
            case "ping":
                return (Send(mcp.answer(call.id, {})),)
            case "tools/list":
                listed: list[Json] = [tool.listed() for tool in mcp.TOOLS]
                return (Send(mcp.answer(call.id, {"tools": listed})),)
            case "tools/call":
                return self._call_tool(call, now)
            case _:
                text = f"Method not found: {call.method[:64]}"
                raise mcp.Refused(mcp.METHOD_NOT_FOUND, text, call.id)

    def _call_tool(self, call: mcp.Call, now: int) -> Steps:
        tool, asked = mcp.read_tool(call)
        run = str(asked.get("run_id"))
        then: _Then
        match tool.name:
            case "read_run" | "subscribe_run":
                subscribes = tool.name == "subscribe_run"
                after: Any = asked["after_sequence"]
                then = partial(self._attached, call.id, run, after, subscribes=subscribes)
            case "unsubscribe_run":
                then = partial(self._removed, call.id, run)
            case _:
                then = partial(self._done, call.id)
        number = self._next()
        self._pending[number] = then
        try:
            steps = self._daemon.receive(mcp.request_frame(number, tool, asked), now)
        except RemoteProtocolError as error:
            del self._pending[number]
            what = str(error).removeprefix("invalid JSON frame: ")
            text = f"Invalid params: {what}"
            raise mcp.Refused(mcp.INVALID_PARAMS, text, call.id) from None
        return self._told(steps)

    def _next(self) -> int:
        self._count += 1
        return self._count

    # --- what the daemon says

    def _told(self, steps: Steps) -> Steps:
        told: list[Step] = []
        for step in steps:
            if isinstance(step, Send):
                told += self._frame(json.loads(step.frame[1:]))
            else:
                told.append(step)
        return told

    def _frame(self, frame: Any) -> Steps:
        if frame["kind"] == "event":
            return self._event(frame)
        then = self._pending.pop(frame["request_id"], None)
        return NO_STEPS if then is None else then(frame)

    def _done(self, id: mcp.Id, frame: Any) -> Steps:
        """A tool that is one request is answered with what its response carries."""
        if frame["type"] == "error":
            return (Send(mcp.failed(id, frame["code"], frame["message"])),)
        if frame["type"] == "accepted":
            return (Send(mcp.succeeded(id, {"accepted": True})),)
        own = ("kind", "request_id", "type")
        return _answered(id, {k: v for k, v in frame.items() if k not in own})

    def _attached(self, id: mcp.Id, run: str, after: int, frame: Any, *, subscribes: bool) -> Steps:
        if frame["type"] == "error":
            return self._done(id, frame)
        watched = self._watched.setdefault(run, _Watched())
        given_up = watched.reader
        until = frame["run"]["latestSequence"]
        watched.reader = _Reader(id, frame["run"], until)
        if subscribes:
            watched.subscribed, watched.told = True, max(until, after)
        done = self._read(run, watched) if until <= after else NO_STEPS
        return done if given_up is None else (*_finished(given_up), *done)

    def _event(self, frame: Any) -> Steps:
        run, number, what = frame["run_id"], frame["sequence"], frame["event"]
        watched = self._watched.get(run)
        if watched is None:
            return NO_STEPS
        steps: list[Step] = []
        reader = watched.reader
        if reader is not None and number <= reader.until:
            reader.events.append({"event": what, "sequence": number})
            reader.size += len(json.dumps(what))
            if number == reader.until or reader.size >= MOST_READ:
                if watched.subscribed:
                    watched.told = number  # what it was not given comes as notifications
                steps += self._read(run, watched)
        if watched.subscribed and number > watched.told:
            watched.told = number
            steps += _said(mcp.event(run, number, what))
        return steps

    def _read(self, run: str, watched: _Watched) -> Steps:
        reader, watched.reader = watched.reader, None
        assert reader is not None
        steps = _finished(reader)
        return steps if watched.subscribed else (*steps, *self._let_go(run))

    def _let_go(self, run: str) -> Steps:
        """Nobody wants more of a run."""
        del self._watched[run]
        frame = mcp.request_frame(self._next(), mcp.BY_NAME["unsubscribe_run"], {"run_id": run})
        return self._told(self._daemon.receive(frame, self._now))

    def _removed(self, id: mcp.Id, run: str, frame: Any) -> Steps:
        watched = self._watched.pop(run, None)
        removed = watched is not None and watched.subscribed
        given_up = () if watched is None or watched.reader is None else _finished(watched.reader)
        return (*given_up, Send(mcp.succeeded(id, {"removed": removed})))


def _finished(reader: _Reader) -> Steps:
    result: Json = {"events": reader.events, "run": reader.run}
    return _answered(reader.id, result)


def _answered(id: mcp.Id, result: Json) -> Steps:
    frame = mcp.succeeded(id, result)
    if len(frame) <= wire.MAX_FRAME:
        return (Send(frame),)
    text = f"the answer would take {len(frame)} bytes, the limit is {wire.MAX_FRAME}"
    return (Send(mcp.failed(id, wire.ErrorCode.INTERNAL.value, text)),)


def _said(frame: bytes) -> Steps:
    """A notification. One that does not fit is left out: its number is missing."""
    if len(frame) <= wire.MAX_FRAME:
        return (Send(frame),)
    return (Report("event_left_out", f"{len(frame)} bytes"),)
